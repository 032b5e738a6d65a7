/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * A look at a program: its digest, and its version where only it can tell that, taken on a thread of
 * the pool, since a program may be of some hundred megabytes. A Trial whose program is not known waits
 * for it, in `starting`; one look serves all that wait for the same file. It is made once for each
 * version of a program.
 */

/* The Trial waits for a look at the session's program. 0, FAULT, -errno. */
int look_begin(struct trial *trial, const struct session_plan *session, struct fault *ret_fault);
/* Its start is durable: once the look is over, it goes on (trial_go_on). */
void look_await(struct trial *trial);
/* What it waited for is over: it goes on, with its row read again, since it may have ended. */
void trial_read_again(struct trial *trial);
/*
 * A look is over, at its program, Arm or what it judges: it is planned anew. What was found to stand in
 * the way (FAULT with fault, which is taken; -errno) is its end, also when it is planned once more for
 * another reason; the first one counts.
 */
void look_over(struct trial_work *work, int result, struct fault *fault);
/* It waits no longer. */
void look_leave(struct trial_work *work);
