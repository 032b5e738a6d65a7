/* SPDX-License-Identifier: MIT */
#pragma once

#include "activity.h"
#include "base/fault.h"
#include "proto/message.h"

/*
 * From what a keeper saw to a Trial's outcome. Pure.
 *
 * What came first decides. An end that was ordered before the main process ended (cancel, wall
 * or stall limit, the keeper's own end) names the outcome whatever the process then did; its exit code or
 * signal stands beside it as a fact.
 */
enum end_order {
	END_NOT_ORDERED,
	END_CANCEL, /* by trialsd, for a client */
	END_WALL_LIMIT,
	END_STALL_LIMIT,
	END_OUTSIDE, /* the keeper itself was told to end: the user's session is ending */
};

struct outcome_facts {
	enum end_order order;
	struct inactivity inactivity; /* of END_STALL_LIMIT */
	const struct fault *fault; /* the Trial was void before its main process started; or NULL */
	bool started;
	bool not_started;
	uint32_t step; /* of not_started: enum control_step */
	uint32_t error;
	const char *command; /* of not_started, for the message */
	const char *cwd;
	bool exited;		/* init reported the main process's end */
	uint32_t status;	/* as wait(2) gives it */
	bool init_gone;		/* pid 1 went without that report */
	bool bwrap_gone;	/* bwrap went while pid 1 was there */
	int bwrap_signal;	/* what ended it, 0 for none */
	const char *no_verdict; /* of a Grader that gave none: what was found; else NULL */
	uint64_t oom_kills;	/* in the payload */
};

#define OUTCOME_MESSAGE_BYTES 4096

struct outcome_decision {
	enum outcome outcome;
	bool has_cause;
	enum cause cause;
	enum ender ended_by;
	int exit_code;			     /* -1: none */
	int exit_signal;		     /* -1: none */
	const char *hint;		     /* a constant, the fault's, or NULL */
	char message[OUTCOME_MESSAGE_BYTES]; /* empty: none */
};

void outcome_decide(const struct outcome_facts *facts, struct outcome_decision *ret);

/* Who an order is from; agent for none. */
enum ender outcome_ender(enum end_order order);
/* The reverse; END_NOT_ORDERED for who gives no orders. */
enum end_order outcome_order(enum ender ender);

/*
 * What trialsd knows of a Trial whose keeper is gone and left no record. What was ordered before
 * decides here too. Else it is lost, unless the payload's own counters say that it was at its
 * limits: then whatever killed the keeper is no excuse, and the Trial counts.
 */
struct unseen_facts {
	enum end_order order;
	bool silent;	    /* the keeper did not answer, and trialsd ended it for that */
	uint64_t oom_kills; /* in the payload, for its own limit */
	uint64_t task_limit_hits;
};

void outcome_decide_unseen(const struct unseen_facts *facts, struct outcome_decision *ret);

/* Fills the record's fields from the decision, which it points into. */
void outcome_fill(const struct outcome_decision *decision, struct outcome_record *record);
