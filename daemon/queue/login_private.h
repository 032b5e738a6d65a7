/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/login.h"
#include "queue/login_memory.h"

/*
 * Shared by login.c (one login of a Trial), login_trial.c (all of a Trial's), login_home.c, login_work.c,
 * login_end.c and login_view.c only.
 */

struct login_line {
	RB_ENTRY(login_line) by_name;
	Queue *queue;
	char *harness;
	unsigned int references;
	struct trial_logins waiting;
	size_t waiting_count;
	struct trial_login *called;
	struct trial_login *at_home; /* the first of those that wait at the Harness's home */
	uv_timer_t timer;
	struct login_known known;
	bool checking;
	bool held; /* those who wait do so since it is suspect */
	uint64_t held_at;
};

enum login_copy { COPY_none, COPY_making, COPY_made, COPY_failed };

enum login_job_kind { JOB_check, JOB_prepare, JOB_finish };

/* What a thread does with a login's content. */
struct login_job {
	uv_work_t work;
	enum login_job_kind kind;
	Queue *queue;
	struct login_line *line;   /* of a check; referenced */
	struct trial_login *login; /* of the others; NULL: it was let go of meanwhile */
	bool stale;		   /* what it was for was given up: it is only waited for */
	struct login_order order;
	char *keeper;
	char *host_folder; /* of a prepare: for the note */
	uint64_t id;
	char *part; /* which of the Trial's logins; NULL: it has the one */
	int trial_fd;
	bool carry; /* of a finish: its keeper did not do it */
	bool done;  /* of a finish: it was dealt with before, as told says */
	bool clean; /* of a finish: what is left of it is to go */
	int result;
	struct message *message;
	struct login_result told;
};

/* From when its turn came first; one that waits for others of its Harness has none. */
struct login_lease {
	struct trial_login *login;
	enum harness_login_kind kind; /* of what it has */
	int denied;		      /* 0, or why there is nothing to have: FAULT or -errno */
	struct fault fault;
	char *key;  /* of what it has, for files and homes */
	int use_fd; /* its lock, or -1 */
	bool alone; /* that lock is exclusive */
	Home *home;
	struct home_waiter at_home;

	enum login_copy copy;
	bool copy_waits;	   /* of COPY_making: for what an earlier attempt left */
	int copy_error;		   /* of COPY_failed: FAULT with fault, -EAGAIN, -errno */
	struct login_order *order; /* of COPY_made */
	int lease_fd;		   /* borrowed: use_fd, or the home's lock */
	int bind_fd;
	bool awaited;
	bool given; /* to a keeper */
	struct login_job *job;
};

/* Of each Trial that is not over, so as small as can be. */
struct trial_login {
	RB_ENTRY(trial_login) by_turn;
	struct trial_login *next; /* of the same Trial, by name */
	struct login_line *line;
	struct trial *trial; /* NULL: not accepted yet */
	struct login_lease *lease;
	struct login_job *stale; /* of an earlier attempt, still at work in the Trial's folder */
	double wall_seconds;	 /* negative: without a limit */
	bool waiting;		 /* in the line */
	bool has;
	bool left;  /* something of an earlier attempt may be in the Trial's folder */
	bool ends;  /* the Trial's end waits for a job */
	bool noted; /* how it was dealt with is in its note, until the end is in the ledger */
};

/* Of a key, or nothing, a Trial has no copy. */
static inline bool login_is_copied(const struct login_lease *lease)
{
	return lease->kind != HARNESS_LOGIN_env && lease->kind != HARNESS_LOGIN_none;
}

#define LOGIN_EACH(each, of) for (struct trial_login *each = (of)->login; each; each = each->next)

RB_PROTOTYPE(login_lines, login_line, by_name, login_line_compare)
RB_PROTOTYPE(trial_logins, trial_login, by_turn, trial_login_compare)

/* login.c */
/* False without memory. */
bool login_lease_get(struct trial_login *login);
/* What its Harness's file and this host have now. */
int login_choose(const struct trial_login *login, struct session_login *ret_found,
		 const struct harness **ret_harness, struct fault *ret_fault);
/* NULL: none of its Trials is under way. */
struct login_line *login_line_find(Queue *queue, const char *harness);
/* Referenced; NULL without memory. */
struct login_line *login_line_get(Queue *queue, const char *harness);
void login_line_drop(struct login_line *line);
void login_wait(struct trial_login *login);
/* The first of those that wait has its turn again. */
void login_call(struct login_line *line);

/* Whatever it has, or waits for, it has and waits for no longer. */
void login_let_go(struct trial_login *login);
/* True when it has it, or never will (denied); else it waits in its line. */
bool login_take_one(struct trial_login *login);
/* The same, if that is there at once and nobody waits for it; else nothing is taken. */
bool login_take_one_at_once(struct trial_login *login);
/* The lock that it has or would have, the same for all that want that lock: "" for none. */
#define LOGIN_RANK_BYTES (LOGIN_KEY_BYTES + 1)
struct login_rank {
	char text[LOGIN_RANK_BYTES];
	bool suspect; /* as far as known */
};
void login_rank(struct trial_login *login, struct login_rank *ret_rank);
/* It is suspect: waits until it is mended. */
void login_wait_held(struct trial_login *login);
/* At the Harness's home, for its turn. */
bool login_at_home(const struct trial_login *login);
bool login_is_waiting(const struct trial_login *login);

enum login_taking { LOGIN_TAKEN, LOGIN_WAITS, LOGIN_DENIED };
/* Whether what is there is a good login, as far as known; waits: it is being looked at, or held. */
enum login_taking login_judge(struct trial_login *login, const struct harness *harness,
			      const struct session_login *found, int folder_fd, const char *name,
			      bool *ret_held, struct fault *ret_fault);

/* login_home.c */
enum login_taking login_take_home(struct trial_login *login, const struct harness *harness,
				  const struct session_login *found, bool *ret_held,
				  struct fault *ret_fault);
void login_drop_home(struct trial_login *login);
/* The home that a Harness's file names, opened as by a launch (home_guard.h). */
int login_home_folder(Queue *queue, const struct harness *harness, const struct harness_login *how,
		      struct home_folder *ret_folder, struct fault *ret_fault);
/* 0: it is on its way. */
int login_wipe_home(struct trial_login *login, struct fault *ret_fault);

/* login_trial.c */
/* What its files in the Trial's folder are called by; NULL: it is the only one. */
const char *login_part(const struct trial_login *login);
/* Where its own lock comes among the leases that a keeper is given; 0: it has none that others share. */
unsigned int login_lease_number(const struct trial_login *login);

/* login_work.c */
struct login_job *login_job_new(Queue *queue, enum login_job_kind kind, const char *part);
void login_job_free(struct login_job *job);
/* On a thread. */
void login_job_work(uv_work_t *work);
bool login_job_told(const struct login_job *job, enum login_state state);
/* A job of an earlier attempt is through with the Trial's folder. */
void login_stale_over(struct trial_login *login);
void login_make_stale(struct trial_login *login, struct login_job *job);
int login_check(struct login_line *line, const struct harness *harness,
		const struct session_login *found, int folder_fd);
/* The home is empty, or could not be emptied. */
void login_wiped(struct trial_login *login, int result, struct fault *fault);

/* login_end.c */
/* A job that the Trial's end waited for is done: the last one records it. */
void login_ended(struct trial_login *login);
/* Lets go of what its copy needs; one that no Trial was given is removed. */
void login_drop_copy(struct trial_login *login);
/* What an attempt that was given up left goes, by a job that the next one waits for. */
void login_clean(struct trial_login *login);
/* Whatever is still at work in the Trial's folder goes on without it. */
void login_forget_stale(struct trial_login *login);
