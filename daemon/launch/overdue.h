/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "keeper/outcome.h"

/*
 * Ends that do not come. The keeper has the clocks and does the ending; but a keeper can be stopped
 * (SIGSTOP, a debugger, a freezer) or hang, and then a cancel and the wall limit would wait for
 * ever. trialsd therefore knows when it should have heard: one timer for each launch, armed only
 * while something is due, and for a running Trial not before its wall limit.
 *
 * Overdue, the keeper is told to continue and asked (ping). One that answers is left to its work:
 * its sandbox has a process that the kernel does not let go of, which is told once and waited for.
 * One that does not is killed, by its pidfd; trials-init ends the sandbox then. The outcome is what
 * had been ordered, or was due.
 */
#define OVERDUE_ANSWER_SECONDS 10.0

typedef struct Launch Launch;

struct overdue {
	uv_timer_t timer;
	bool asked;	      /* the timer is for the answer */
	bool running;	      /* the keeper has said so */
	bool ending;	      /* likewise */
	bool silent;	      /* it did not answer, and was killed for that */
	bool told;	      /* that it is stuck */
	uint64_t wall_at;     /* uv_now of the wall limit; 0: none is known */
	enum end_order order; /* what came first */
};

void overdue_init(Launch *launch);
/* The gate is open: the sandbox has to be up, or given up, in time. */
void overdue_begun(Launch *launch);
/* It runs, and has so many seconds left; negative: without a limit. */
void overdue_running(Launch *launch, double wall_seconds);
/* A keeper that was found and has said nothing yet: seconds until its wall limit, or negative. */
void overdue_adopted(Launch *launch, double wall_seconds);
/* A cancel was sent. */
void overdue_canceled(Launch *launch, double grace_seconds);
/* The keeper said that the end has begun, by whose order, and after what grace. */
void overdue_ending(Launch *launch, enum end_order order, double grace_seconds);
/* It said anything at all. */
void overdue_heard(Launch *launch);
/* What it left does not go either. Told once. */
void overdue_tell(Launch *launch);
/* Nothing more is due: the end is known, or the keeper is gone. */
void overdue_stop(Launch *launch);
