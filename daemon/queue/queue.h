/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/home.h"
#include "queue/login_order.h"
#include "queue/trial.h"
#include "queue/view.h"

/* Shared by the files of queue/ only. */

RB_HEAD(trials_by_id, trial);
RB_HEAD(trials_by_turn, trial);
RB_HEAD(grounds, ground);
RB_HEAD(repositories, repository);
TAILQ_HEAD(grader_submits, grader_submit);
RB_HEAD(login_lines, login_line);

/* What the login leases of a queue share: login.h. */
struct logins_shared {
	struct login_lines lines;
	struct login_folders folders;
	struct login_memory *memory; /* once there was something to remember */
	Homes *homes;		     /* once one was needed */
};

/* What a client asked for: pause.c. */
struct queue_pause {
	char *text;		/* in force, in the pieces of hold; NULL: not paused */
	struct queue_hold hold; /* points into text */
	char *stored;		/* as the ledger has it */
	uint64_t sequence;	/* of the change that was asked for last */
	unsigned int under_way; /* not yet durable */
	unsigned int changes;	/* of what is in force */
};

/* What those who watch were told last: hold.c. */
struct queue_told {
	int told; /* enum hold, -1: nothing holds it */
	unsigned int told_changes;
	uint64_t since;
};

struct Queue {
	uv_loop_t *loop;
	Ledger *ledger;
	Launcher *launcher;
	const struct plan_host *host;
	const struct arm_store *arms;
	struct bar_store *bars;
	int trials_fd;
	char *trials_folder;
	char *boot_id;
	struct trials_by_id by_id;
	struct trials_by_turn by_turn;
	struct grounds grounds;
	struct repositories repositories;
	struct grader_submits seats_at_vote; /* Graders whose seats are looked at, in turn */
	struct logins_shared logins;
	size_t trials; /* that are not over */
	size_t slots_used;
	size_t accepting;	  /* on their way into the ledger, to wait for their turn */
	unsigned int descriptors; /* that this process may have */
	size_t under_way; /* calls of the ledger that will be answered here, and launches on their way */
	bool stopping;
	bool leaving;	  /* what runs is left to its keepers */
	uv_timer_t retry; /* of the claims */
	uv_timer_t space; /* the guard of free space */
	char space_reason[QUEUE_REASON_BYTES];
	bool space_looking;	/* for the largest writer, on a thread */
	int handles;		/* not yet closed */
	const char *paused_for; /* no claims until the retry */
	struct queue_pause pause;
	struct queue_told hold;
	struct prune *prune;	 /* under way */
	LIST_HEAD(, look) looks; /* under way: look.h */
	LIST_HEAD(, arm_use) arm_uses;
	char arm_leaving[ARM_ID_BYTES + 1]; /* which is being removed; or "" */
	void (*stopped)(void *context);
	void *context;
	TAILQ_HEAD(, queue_watch) watches;
};

RB_PROTOTYPE(trials_by_id, trial, by_id, trial_compare_id)
RB_PROTOTYPE(trials_by_turn, trial, by_turn, trial_compare_turn)

#define TRIAL_UNIT_BYTES LAUNCH_UNIT_BYTES

#define LOOKS_MAX (3 * LOGINS_MAX) /* of one Trial: some of each Harness of a runner */

/* What a Trial needs from its claim to its end. */
struct trial_work {
	struct trial *trial;
	Launch *launch;
	Launch *spare;		    /* taken for its launch, until then */
	struct plan *plan;	    /* until it runs, as are the arguments */
	struct text_list arguments; /* bwrap's */
	bool planned;		    /* before its start was durable, with this result: */
	int plan_result;
	struct fault plan_fault;
	int look_result; /* of looks (look_over): what stands in the way, however it is planned */
	struct fault look_fault;
	struct look *look; /* that it waits for, before it can be planned, or NULL */
	LIST_ENTRY(trial_work) look_link;
	bool look_awaited;		 /* its start is durable */
	struct arm_look *arm_look;	 /* that it waits for, likewise */
	bool arm_looked;		 /* that one is over; look_result tells */
	struct grader_look *grader_look; /* of a Grader: what it judges, once it is looked at */
	char *arm_note;			 /* what has changed of it all the same, or NULL */
	unsigned int looks;		 /* so far */
	uv_timer_t timer;		 /* of a recovery, or a retry of the last change */
	int folder_fd;			 /* of a recovery */
	bool recovering;		 /* its keeper is looked for */
	bool other_boot;		 /* it was started in another boot of the machine */
	double grace_seconds;		 /* of a cancel that came before its keeper; < 0: its own */
	char *canceled_by;
	char *guarded;		   /* why the guard of free space ended it, or NULL */
	struct text_list writable; /* host paths that it may write to */
	char plan_digest[65];
	double wall_seconds;	/* of a recovery: its wall limit, negative for none */
	msgpack_sbuffer facts;	/* trial_facts, until they are in the ledger */
	msgpack_sbuffer record; /* outcome_record, likewise */
	int outcome;
	uint64_t started_at;
	uint64_t ended_at;
};

/*
 * submit.c: as queue_submit, of one that is another once more: facts are those that it is accepted with,
 * used during the call only; NULL: it is none.
 */
void queue_submit_frozen(Queue *queue, const struct launch_request *request, int prompt_fd,
			 const struct trial_facts *facts, submit_done done, void *context);

/*
 * submit.c: the same of any launch. refusal (NULL: none): it is not accepted, for that, which is taken;
 * if it has a key, and there is a Trial of it, that is the answer all the same. notes (or NULL) are told
 * with its warnings.
 */
void submit_begin(Queue *queue, const struct launch_request *request, int prompt_fd,
		  const struct trial_facts *facts, struct fault *refusal,
		  const struct text_list *notes, submit_done done, void *context);

/* sched.c */
void sched_add(Queue *queue, struct trial *trial);
void sched_remove(Queue *queue, struct trial *trial);
void sched_kick(Queue *queue);
/*
 * Whether a slot is free and nobody's turn comes before that of a Trial that is about to be
 * accepted. Then, if its repository is free and it has its login, it can be claimed before it is
 * listed. -ENOMEM: it is not, and has its turn once it is listed.
 */
bool sched_is_free(Queue *queue);
int sched_claim_new(struct trial *trial);
/* No claims for a while; reason is a constant: what is waited for. */
#define SCHED_STORAGE "the state folder to be writable again"
void sched_pause(Queue *queue, const char *reason);

/* pause.c */
void pause_done(struct queue_pause *pause);
int pause_load(Queue *queue);
/* Nothing holds a slot any more, or a pause was set or taken back: those who wait for it look. */
void queue_settled(Queue *queue);

/* hold.c: tells those who watch when what holds the queue has changed. */
void hold_look(Queue *queue);

/* start.c: plans a Trial and launches it. 0, FAULT with fault filled, -errno. */
/* Plans it now, for start_launch, which tells what came of it. */
void start_prepare(struct trial *trial, const struct blob *spec, const struct blob *facts);
int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault);
/*
 * start.c: of a launch with a command that is another one once more (queue/frozen.h): whether it would
 * be planned as that was. FAULT: no, and why.
 */
int start_compare(Queue *queue, const struct launch_request *launch,
		  const struct trial_facts *accepted, struct fault *ret_fault);
/* start.c: lets go of what only a start needs. */
void start_done(struct trial_work *work);

/* entry.c */
struct trial *trial_new(Queue *queue, uint64_t id, sd_id128_t uuid, int64_t priority,
			enum state state);
/* The same in two steps; until it is listed, nobody can find it. */
struct trial *trial_make(Queue *queue, uint64_t id, sd_id128_t uuid, int64_t priority,
			 enum state state);
void trial_list(struct trial *trial);
int trial_work_new(struct trial *trial);
void trial_work_free(struct trial *trial);
void trial_release_slot(struct trial *trial);
/* It is over, or the queue is: frees. */
void trial_forget(struct trial *trial);

/* trial.c */
/* Its look is over: row is the Trial as it is now. Or it could not be read: -errno. */
void trial_go_on(struct trial *trial, const struct ledger_row *row);
void trial_give_up(struct trial *trial, int error);
/* What its login needed is done: its end goes into the ledger. */
void trial_end_recorded(struct trial *trial);
/* One that was never listed, and will not be. It may have been claimed. */
void trial_refuse(struct trial *trial);
/* It holds a slot. -ENOMEM: it no longer does, and is back in its turn. */
int trial_start(struct trial *trial);
void trial_recover(struct trial *trial, const struct ledger_row *row);

/* For recover.c. What a keeper says; its end, or one that is made up; back to its place in the queue. */
extern const struct launch_watch trial_launch_watch;
void trial_ended(void *context, const struct outcome_record *record);
void trial_end_with(struct trial *trial, enum outcome outcome, enum ender by, const char *message);
void trial_requeue(struct trial *trial);
char *trial_unit(const struct trial *trial, char unit[TRIAL_UNIT_BYTES]);
void trial_cancel(struct trial *trial, double grace_seconds, const char *by);
void trial_leave(struct trial *trial);
/* Of under_way: one more; one less, the last act of who calls it. */
void queue_call_begun(Queue *queue);
void queue_call_ended(Queue *queue);
/* call: of the change, just answered. */
void queue_notify(Queue *queue, const struct ledger_call *call, int before);
void queue_check_stopped(Queue *queue);
