/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/bar_store.h"
#include "queue/arm_launch.h"

/*
 * What a Bar means for launches. One that names a Bar is refused, before anything is recorded, where the
 * Bar's Panel does not hold for it; a Grader that names a seat is launched as the Bar says, and refused
 * where that seat has no vote on the Trial that it is to judge. The families that it was decided by are
 * kept in the Trial's facts, from then on and through every start.
 */

/* FAULT: there is none of that name, or it is damaged. bar_kept_done. */
int bar_known_find(Queue *queue, const char *name, struct bar_kept *ret_kept,
		   struct fault *ret_fault);

/*
 * The Bar that is asked for (checked: bar_spec_check), with the families that its seats have now and
 * whole ids of Arms. FAULT: one of its seats can never vote (bar_seats.h).
 */
int bar_freeze(Queue *queue, const struct bar_spec *spec, struct bar_held *ret_held,
	       struct fault *ret_fault);

/* A launch as it is accepted; bar_accepted_done. */
struct bar_accepted {
	struct bar_kept kept;
	bool named; /* kept is of the launch's Bar */
	const struct bar_seat *seat;
	char family[FAMILY_BYTES_MAX + 1]; /* of a Harness without an Arm */
	const char *families[1];
	struct trial_facts facts;
};

/* What its seat says, written into launch, which then names an Arm or a Harness. FAULT. */
int bar_accept(Queue *queue, struct launch_request *launch, struct bar_accepted *ret_accepted,
	       struct fault *ret_fault);
/*
 * Now that launch says all that it will. arm: that it names, or NULL. *facts, maybe NULL, become those of
 * accepted where there is something to add. FAULT: the Panel does not hold.
 */
int bar_settle(Queue *queue, const struct launch_request *launch, const struct arm *arm,
	       struct bar_accepted *accepted, const struct trial_facts **facts,
	       struct fault *ret_fault);
void bar_accepted_done(struct bar_accepted *accepted);

/*
 * Marks a Bar as used, on a thread; done is told once, on the loop, unless this is not 0. FAULT: it is not
 * this one any more, or cannot be marked; the fault is then its to take.
 */
typedef void (*bar_marked)(void *context, int result, struct fault *fault);
int bar_mark(Queue *queue, const char *name, const char *id, bar_marked done, void *context);

/* Of a Grader's launch: whether its seat votes on this Trial's result. FAULT: its vote is withheld. */
int bar_seat_check(Queue *queue, const struct launch_request *launch,
		   const struct ledger_row *judged, struct fault *ret_fault);
