/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* What is wrong with a ledger's file. */
#define DAMAGE_BYTES 200

struct damage {
	bool empty;    /* there is nothing in it to read */
	bool missing;  /* there is no file, and nothing to set aside */
	bool outdated; /* what was committed last is missing from it: it shows an earlier time */
	char what[DAMAGE_BYTES]; /* how that was seen */
};
