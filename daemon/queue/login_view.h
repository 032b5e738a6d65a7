/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/harness.h"
#include "queue/login.h"

/*
 * The logins of all Harnesses, as they are now, for people: what the loop knows of each way of each
 * Harness, then what only a task may see, on a thread. Nothing of a Trial is touched, and its home is
 * not looked at while it has it.
 */
struct login_way {
	char *harness;
	int kind;	     /* enum harness_login_kind; -1: its .harness file is at fault */
	bool used;	     /* by the next launch */
	bool present;	     /* something is there */
	bool faulty;	     /* reason: what is there can be used by no launch */
	bool in_use;	     /* a home that somebody has */
	bool restorable;     /* a good one is kept beside what is there */
	char *path;	     /* its file */
	char *home;	     /* of a home: the folder */
	char *credential;    /* TABLE.KEY */
	char *reason;	     /* or NULL */
	char *hint;	     /* or NULL */
	uint64_t changed_at; /* 0: not known */
	struct text_list sign_in;

	bool ordered; /* a task can be run on it: of order */
	struct login_order order;
	struct home_folder folder; /* of a home, fd -1 for others */
	uint64_t trial;		   /* that has the home, or 0 */
	struct home_holder holder; /* likewise, when it is no Trial of ours */

	int result; /* of the task: 0 (told), or -errno */
	struct message *messages[3];
	struct login_result told;
	struct login_result mark;      /* at 0: there is none */
	struct login_result refreshed; /* likewise */
	uint64_t restored_from;	       /* it was put back, and is of this time; or 0 */
};

struct login_ways {
	size_t count;
	struct login_way *items;
	char *keeper;
	int locks_fd; /* borrowed, as is the state folder's */
};

/* name NULL: all. FAULT: there is no such Harness (not_found). */
int login_ways_find(Queue *queue, const char *name, struct login_ways *ret,
		    struct fault *ret_fault);
/* For a thread: fills in what a task says, and who has a home. */
void login_ways_look(struct login_ways *ways);
void login_ways_done(struct login_ways *ways);

/*
 * For a thread: puts the last good login of a Harness back. ways: its own. previous: even if the one
 * that is there is good. FAULT: it cannot be, with what to do instead.
 */
int login_ways_restore(struct login_ways *ways, bool previous, struct fault *ret_fault);

/* A Trial's place among those that want one of its logins; false: it has not so many. Points into the Trial. */
struct login_turn {
	const char *harness;
	enum harness_login_kind kind; /* of what it has */
	bool waits;
	bool has;
};
bool login_turn(const struct trial *trial, size_t index, struct login_turn *ret);
