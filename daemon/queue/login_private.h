/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/login.h"
#include "queue/login_memory.h"

/* Shared by login.c, login_home.c, login_work.c and login_view.c only. */

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

struct login_job;

/* From when its turn came first; one that waits for others of its Harness has none. */
struct login_lease {
	struct trial_login *login;
	enum harness_login_kind kind; /* of what it has */
	int denied;		      /* 0, or why there is nothing to have: FAULT or -errno */
	struct fault fault;
	char *key;  /* of what it has, for files and homes */
	int use_fd; /* its lock, or -1 */
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
	struct login_line *line;
	struct trial *trial; /* NULL: not accepted yet */
	struct login_lease *lease;
	struct login_job *stale; /* of an earlier attempt, still at work in the Trial's folder */
	double wall_seconds;	 /* negative: without a limit */
	bool waiting;		 /* in the line */
	bool has;
	bool left; /* something of an earlier attempt may be in the Trial's folder */
	bool ends; /* the Trial's end waits for a job */
};

RB_PROTOTYPE(login_lines, login_line, by_name, login_line_compare)
RB_PROTOTYPE(trial_logins, trial_login, by_turn, trial_login_compare)

/* login.c */
/* False without memory. */
bool login_lease_get(struct trial_login *login);
/* What its Harness's file and this host have now. */
int login_choose(const struct trial_login *login, struct session_login *ret_found,
		 const struct harness **ret_harness, struct fault *ret_fault);
void login_line_drop(struct login_line *line);
void login_wait(struct trial_login *login);
/* The first of those that wait has its turn again. */
void login_call(struct login_line *line);

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

/* login_work.c */
int login_check(struct login_line *line, const struct harness *harness,
		const struct session_login *found, int folder_fd);
/* The home is empty, or could not be emptied. */
void login_wiped(struct trial_login *login, int result, struct fault *fault);
/* Lets go of what its copy needs; one that no Trial was given is removed. */
void login_drop_copy(struct trial_login *login);
/* What an attempt that was given up left goes, by a job that the next one waits for. */
void login_clean(struct trial_login *login);
/* Whatever is still at work in the Trial's folder goes on without it. */
void login_forget_stale(struct trial_login *login);
