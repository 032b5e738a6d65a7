/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/arm_launch.h"

/*
 * Before it is planned, a Trial of an Arm has it frozen anew (plan/arm_freeze.h), on a thread, since
 * programs and folders are read as a whole: it waits for that in `starting`, as for a look at a program.
 * What differs from the Arm makes it void (arm_changed); what was absent when it was prepared, and still
 * is, and what it would be signed in with, session_unavailable.
 *
 * Each Trial has a look of its own: what another one saw before it may have changed by now.
 */

/*
 * 0: its Arm is as it was; -EINPROGRESS: it waits for the look, and is planned again then; FAULT,
 * -errno.
 */
int arm_look(struct trial *trial, const struct trial_facts *accepted, struct fault *ret_fault);
/* Its start is durable: once the look is over, it goes on. */
void arm_look_await(struct trial *trial);
/* It waits no longer. */
void arm_look_leave(struct trial_work *work);

/*
 * That a session's program, which is bound by its descriptor, is the Arm's: it is what the look saw,
 * unless it was replaced since. 0 or FAULT.
 */
int arm_look_program(const struct trial_facts *accepted, const char *harness, const char *digest,
		     struct fault *ret_fault);

/* What a session of an Arm has its script run by, as it was frozen; to be freed. NULL: it was not. */
int arm_look_interpreter(const struct trial_facts *accepted, const char *harness,
			 char **ret_interpreter);

/*
 * The hosts of a session of an Arm are those that were frozen, whatever its launch says of variables that
 * the Arm leaves to it. A Trial of no Arm, or of one that may have changed, keeps what was found.
 */
int arm_look_hosts(const struct trial_facts *accepted, const char *harness,
		   struct text_list *hosts);
