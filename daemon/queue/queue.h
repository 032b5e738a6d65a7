/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/trial.h"
#include "queue/view.h"

/* Shared by the files of queue/ only. */

RB_HEAD(trials_by_id, trial);
RB_HEAD(trials_by_turn, trial);
RB_HEAD(repositories, repository);

/* What a client asked for: pause.c. */
struct queue_pause {
	char *reason;	   /* in force; NULL: not paused */
	char *stored;	   /* as the ledger has it */
	uint64_t sequence; /* of the change that was asked for last */
};

struct Queue {
	uv_loop_t *loop;
	Ledger *ledger;
	Launcher *launcher;
	const struct plan_host *host;
	int trials_fd;
	char *trials_folder;
	char *boot_id;
	struct trials_by_id by_id;
	struct trials_by_turn by_turn;
	struct repositories repositories;
	size_t trials; /* that are not over */
	size_t slots_used;
	bool stopping;
	bool leaving;	  /* what runs is left to its keepers */
	uv_timer_t retry; /* of the claims */
	uv_timer_t space; /* the guard of free space */
	char space_reason[QUEUE_REASON_BYTES];
	bool space_looking;	/* for the largest writer, on a thread */
	int handles;		/* not yet closed */
	const char *paused_for; /* no claims until the retry */
	struct queue_pause pause;
	struct prune *prune; /* under way */
	void (*stopped)(void *context);
	void *context;
	TAILQ_HEAD(, queue_watch) watches;
};

RB_PROTOTYPE(trials_by_id, trial, by_id, trial_compare_id)
RB_PROTOTYPE(trials_by_turn, trial, by_turn, trial_compare_turn)

/* "trial-" uuid ".scope" */
#define TRIAL_UNIT_BYTES 64

/* What a Trial needs from its claim to its end. */
struct trial_work {
	struct trial *trial;
	Launch *launch;
	struct plan *plan;	    /* until it runs, as are the arguments */
	struct text_list arguments; /* bwrap's */
	uv_timer_t timer;	    /* of a recovery, or a retry of the last change */
	int folder_fd;		    /* of a recovery */
	bool released;		    /* over; freed when the timer is closed */
	double grace_seconds;	    /* of a cancel that came before the launch; < 0: its own */
	char *canceled_by;
	char *guarded;		   /* why the guard of free space ended it, or NULL */
	struct text_list writable; /* host paths that it may write to */
	char plan_digest[65];
	msgpack_sbuffer facts;	/* trial_facts, until they are in the ledger */
	msgpack_sbuffer record; /* outcome_record, likewise */
	int outcome;
	uint64_t started_at;
	uint64_t ended_at;
};

/* sched.c */
void sched_add(Queue *queue, struct trial *trial);
void sched_remove(Queue *queue, struct trial *trial);
void sched_kick(Queue *queue);
/* No claims for a while; reason is a constant: what is waited for. */
#define SCHED_STORAGE "the state folder to be writable again"
void sched_pause(Queue *queue, const char *reason);

/* pause.c */
void pause_done(struct queue_pause *pause);
int pause_load(Queue *queue);
/* Nothing holds a slot any more, or a pause was set or taken back: those who wait for it look. */
void queue_settled(Queue *queue);

/* submit.c: at start, sees to it that no id is given whose folder is there. */
void submit_reserve_ids(Queue *queue);

/* start.c: plans a Trial and launches it. 0, FAULT with fault filled, -errno. */
int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault);
/* start.c: lets go of what only a start needs. */
void start_done(struct trial_work *work);

/* trial.c */
struct trial *trial_new(Queue *queue, uint64_t id, sd_id128_t uuid, int64_t priority,
			enum state state);
void trial_start(struct trial *trial);
void trial_recover(struct trial *trial, const struct ledger_row *row);
void trial_cancel(struct trial *trial, double grace_seconds, const char *by);
void trial_leave(struct trial *trial);
/* call: of the change, just answered. */
void queue_notify(Queue *queue, const struct ledger_call *call, int before);
void queue_check_stopped(Queue *queue);
