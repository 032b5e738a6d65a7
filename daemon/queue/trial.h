/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <systemd/sd-id128.h>
#include <uv.h>
#include <uv/tree.h>

#include "launch/launch.h"
#include "ledger/ledger.h"
#include "plan/plan.h"

/*
 * The Trials that are not over, in memory: as little of each as deciding needs. Everything else
 * is in the ledger. A Trial's state changes in trial_set_state and nowhere else.
 */
typedef struct Queue Queue;
struct bar_store;

struct trial {
	RB_ENTRY(trial) by_id;
	RB_ENTRY(trial) by_turn; /* while it is queued, or waits for its repository */
	Queue *queue;
	struct repository *repository; /* what it writes to or judges, or NULL */
	struct ground *ground;	   /* of it, where it waits, or from where it was called; or NULL */
	struct trial_login *login; /* the first that it wants, or NULL */
	sd_id128_t uuid;
	uint64_t id;
	int64_t priority;
	enum state state;
	enum state recorded;   /* the state that the ledger has */
	bool listed;	       /* it was accepted: it is in the by_id tree */
	bool refused;	       /* it was not: it goes once its claim is answered */
	bool in_turn;	       /* it is in the by_turn tree */
	bool in_repository;    /* it waits for its repository */
	bool writing;	       /* it has its repository */
	bool shares;	       /* it does not wait for others that write to it */
	uint64_t of;	       /* of a Grader: the Trial that it judges; else 0 */
	struct trial *awaited; /* that one, while it waits for its end; or NULL */
	LIST_ENTRY(trial) grader_link;
	LIST_HEAD(, trial) graders; /* that wait for it */
	bool slot;		    /* it holds a slot */
	bool fresh;		    /* its next attempt has a keeper of its own, no spare */
	bool cancel;		    /* a cancel was accepted: it must not start */
	bool stuck;		    /* its end is overdue, and its keeper at work on it */
	unsigned char moves;	    /* how often its repository was another one at its start */
	unsigned int changes;	    /* state changes on their way to the ledger */
	struct trial_work *work;    /* from its claim on; NULL while it only waits */
};

/* A state change, durable; row is the Trial as it then was. Number and time are the ledger's. */
struct queue_change {
	const struct ledger_row *row;
	int before; /* enum state, -1: the Trial is new */
	uint64_t number;
	uint64_t at;
};

/* Told of each, in the ledger's order. The change is good for the call. */
struct queue_watch {
	TAILQ_ENTRY(queue_watch) link;
	void (*changed)(struct queue_watch *watch, const struct queue_change *change);
	/* Nothing holds a slot any more, or a pause began or ended. NULL: not of interest. */
	void (*settled)(struct queue_watch *watch);
	/* What holds the queue has changed. NULL: not of interest. */
	void (*held)(struct queue_watch *watch);
};

struct queue_options {
	uv_loop_t *loop;
	Ledger *ledger;
	Launcher *launcher;
	const struct plan_host *host;
	const struct arm_store *arms; /* NULL: no launch names one */
	struct bar_store *bars;	      /* NULL: no launch names one */
	int trials_fd;
	const char *trials_folder; /* its path, for people */
};

int queue_new(Queue **ret_queue, const struct queue_options *options);
/* Once nothing runs (queue_stop): frees. */
Queue *queue_free(Queue *queue);

/* At start: takes up what the ledger has unended. */
int queue_load(Queue *queue);

/*
 * No more launches. With leave, what runs is left to its keepers, for the next trialsd to take up;
 * without, it is waited for. `stopped` is called when nothing holds a slot any more. Queued Trials
 * stay queued. May be called again, to leave after all.
 */
void queue_stop(Queue *queue, bool leave, void (*stopped)(void *context), void *context);

/* Accepting. */
struct submit;
struct submit_result {
	int result; /* 0, or FAULT with fault */
	const struct fault *fault;
	const struct ledger_row *row; /* the Trial; with existed: the earlier one of that key */
	bool existed;
	const struct text_list *warnings; /* what whoever launches should know of it; or NULL */
};
typedef void (*submit_done)(void *context, const struct submit_result *result);

/*
 * Checks, keeps the prompt, commits, then calls done: once, on the loop, maybe from within. The
 * request is used during the call only. prompt_fd is taken: the prompt's file when the request says
 * prompt_descriptor, else -1.
 */
void queue_submit(Queue *queue, const struct launch_request *request, int prompt_fd,
		  submit_done done, void *context);

/*
 * Accepts a Trial that is an earlier one once more (rerun.c): then as queue_submit. A refusal names
 * what cannot be had again, or is not what it was.
 */
void queue_rerun(Queue *queue, const struct rerun_request *request, submit_done done,
		 void *context);

/*
 * Accepts a cancel: 0 (it is on its way; also when it had been canceled before), -ESRCH when no
 * Trial of that id is unended. by names the client. grace < 0: the launch's own.
 */
int queue_cancel(Queue *queue, uint64_t id, double grace_seconds, const char *by);

/* What holds the queue: no Trial is started until that is mended, or taken back. */
struct queue_hold {
	enum hold kind;
	const char *reason; /* for people; "" for none */
	const char *by;	    /* the client that asked for it, or NULL */
	uint64_t at;	    /* since when, or asked for last; microseconds UTC, 0: not known */
};

/* Whether anything does. *ret_hold (may be NULL) points into the queue until it changes. */
bool queue_hold(const Queue *queue, struct queue_hold *ret_hold);

/*
 * Nothing is started, also by the next trialsd, until it is taken back (hold NULL). done is told
 * once that is durable: 0 or -errno as of ledger.h. Several under way: the last one counts. The
 * time is filled in here.
 */
typedef void (*queue_paused)(void *context, int result);
int queue_pause(Queue *queue, const struct queue_hold *hold, queue_paused done, void *context);
/* Why it is paused, maybe "", or NULL when it is not. */
const char *queue_paused_reason(const Queue *queue);

void queue_watch_add(Queue *queue, struct queue_watch *watch);
void queue_watch_remove(Queue *queue, struct queue_watch *watch);

/* For status, show and list. */
struct trial *queue_find(Queue *queue, uint64_t id);
size_t queue_waiting(const Queue *queue);
size_t queue_slots_used(const Queue *queue);
/* Place in the queue, 1 is next; 0: not queued. Walks the queue up to `most` places. */
size_t queue_position(Queue *queue, const struct trial *trial, size_t most);
#define QUEUE_REASON_BYTES 256
/* Whether this Trial is held, by that or by its login, which is suspect; a reason may be in buffer. */
bool queue_held(const Queue *queue, const struct trial *trial, char buffer[QUEUE_REASON_BYTES],
		struct queue_hold *ret_hold);
/* What it waits for, or NULL; in buffer, or a constant. */
const char *queue_waits_for(const Queue *queue, const struct trial *trial,
			    char buffer[QUEUE_REASON_BYTES]);
/* Whether too little is free for any launch; then reason says so, as a refusal does. */
bool queue_is_short(const Queue *queue, char reason[QUEUE_REASON_BYTES]);
/* Unended ones, oldest first. NULL ends it. */
struct trial *queue_first(Queue *queue);
struct trial *queue_next(struct trial *trial);
/* Launches may have become possible: whose turn it is, is looked at again. */
void queue_kick(Queue *queue);
/* Cancels everything that holds a slot; how many. */
size_t queue_cancel_running(Queue *queue, const char *by);
const char *queue_trials_folder(const Queue *queue);
