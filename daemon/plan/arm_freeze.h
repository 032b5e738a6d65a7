/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "plan/arm_store.h"
#include "plan/plan.h"

/*
 * From what an Arm asks for to what is found for that on this host. The one look there is: when an Arm
 * is prepared, when it is verified and before each of its launches, so that what has not changed can
 * never seem to have.
 *
 * In three steps, since programs and folders may be large: begun on the loop, worked on any thread,
 * finished on the loop. Nothing of the caller's is kept but host, store and before, which must outlive it.
 */
struct arm_freeze;

struct arm_freeze_options {
	const struct plan_host *host;
	int bwrap_fd; /* to ask a program for its version; -1: it is not asked */
	/* Where the content of mapped files is put; NULL: they are only looked at. */
	const struct arm_store *store;
	/*
	 * NULL: the Arm is new, and what is not as it must be is refused. Else it is looked at once more
	 * (spec is arm_spec_of(before)): what is gone is left out, so that the comparison tells it.
	 */
	const struct arm *before;
};

/* 0; FAULT: what the person has to mend; -errno. spec is copied. */
int arm_freeze_begin(struct arm_freeze **ret_freeze, const struct arm_freeze_options *options,
		     const struct arm_spec *spec, struct fault *ret_fault);
/* On any thread; never fails: finish tells. */
void arm_freeze_work(struct arm_freeze *freeze);
/* 0; FAULT: something cannot be read, or changes while it is read (before: a void's cause); -errno. */
int arm_freeze_finish(struct arm_freeze *freeze, struct fault *ret_fault);
struct arm_freeze *arm_freeze_free(struct arm_freeze *freeze);

/* Once finished; good until it is freed. */
const struct arm *arm_freeze_arm(const struct arm_freeze *freeze);
/* Harnesses whose program is absent, each with the reason: "codex: there is no …". */
const struct text_list *arm_freeze_missing(const struct arm_freeze *freeze);
/*
 * Harnesses that are not signed in, and providers without a key, likewise. That comes and goes without
 * a change of the Arm: a launch looks at this before it compares.
 */
const struct text_list *arm_freeze_signed_out(const struct arm_freeze *freeze);
/* What else its launches would be void for (arm_claims.h), which their plans find themselves. */
const struct text_list *arm_freeze_claimed(const struct arm_freeze *freeze);
/* What will hardly do what was meant; only of a new one. */
const struct text_list *arm_freeze_warnings(const struct arm_freeze *freeze);
