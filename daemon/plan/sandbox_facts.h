/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

/*
 * What of a plan is kept as a Trial's facts, for people and for a rerun: what is at each place of its
 * sandbox and where that is from, and what else decides what runs in it.
 *
 * No secret is among it. The value of a variable that holds one, or may (plan/secret_name.h), stands
 * as SANDBOX_MASKED, and its name in `masked`; so does a word of the command in which such a value
 * stands. Long words and values are only described, since each Trial's facts are kept as long as the
 * Trial is.
 */
#define SANDBOX_MASKED "(masked)"
#define SANDBOX_WORD_BYTES_MAX 1024

struct sandbox_facts {
	struct sandbox_view view; /* points into the plan and to what is below */
	struct trial_toolchain_list toolchains;
	struct text_list hosts;
	char (*digests)[65];
	struct text_list made; /* texts, owned */
};

/* 0 or -ENOMEM. To be done with in either case. */
int sandbox_facts_make(struct sandbox_facts *ret, const struct plan *plan);
void sandbox_facts_done(struct sandbox_facts *facts);
