/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/place.h"
#include "plan/plan.h"

/*
 * Whether a file of the host's looks like one that holds a login or a key: by where it is (guarded.c's
 * places of logins and keys, the logins of all Harnesses), by a name that such files have, its own or a
 * link's on the way, and by a second name (hard link), which may be either. Where it is is answered by
 * its descriptor, so no spelling and no link matters.
 *
 * 0: no. 1: *ret_reason, to be freed, says why. -errno.
 */
int secret_file(const struct plan_host *host, const struct place *place, const char *given,
		char **ret_reason);

/* The kind of key or login that files of this name hold, or NULL. Pure. */
const char *secret_file_name(const char *name);
