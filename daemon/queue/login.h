/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The login leases, and what a Trial is given of its logins.
 *
 * A Trial takes, when its turn comes, the login of each Harness that it wants one of: its session's, or
 * those of a Custom runner's. Each is:
 *   env, none     nothing to take
 *   file, folder  the login's lock (keeper/login.h: LOGIN_LOCK_use): alone while it may refresh what
 *                 can be refreshed once only, else beside others
 *   home          the Trials home (home.h), alone
 * As with a repository, one that does not get it waits with its Harness's others, and is called when
 * it may; several daemons are kept apart by the locks alone. The lock is handed on to keeper and
 * pid 1, so that it lasts as long as anything of the Trial. What is in a login is read by a task; the
 * verdict holds for as long as the file is the same one.
 *
 * One that wants several keeps those that it has while it waits for the next. No two can wait for each
 * other: all take them in the same order, that of the locks themselves (login_rank; device, inode and
 * name, files before homes). The Harnesses' names will not do for it, since two of them may be signed
 * in by one file. Whoever waits for a repository, or stands in a queue that is held, has none; and
 * whoever has a slot waits for nothing any more.
 *
 * A login that is suspect (login_state.h) holds those who want it until it is mended; of their other
 * logins they have none meanwhile. One that is missing or damaged is no reason to wait, nor to leave
 * the others: the Trial is void, and tells all that is missing at once.
 *
 * From its claim on its copy is made: by a task, while the claim is written. At its end what the
 * keeper did not do is done here, before the end is recorded: the refresh carried, the copy removed.
 */
struct trial_login;
struct login_line; /* the Trials of one Harness that are not over */

RB_HEAD(trial_logins, trial_login);

void logins_init(Queue *queue);
void logins_free(Queue *queue);
/* At start, once all Trials are loaded: finishes what an earlier life could not. */
void logins_load(Queue *queue);

struct trial_facts; /* view.h */

/*
 * The Harnesses whose logins a launch wants: by name, each once. 0 or -errno; the list is the caller's.
 * facts: that it is accepted with, where its Arm is.
 */
int login_wanted(const struct launch_request *request, const struct trial_facts *facts,
		 struct text_list *ret_names);

/*
 * Of a launch that wants any; NULL for others, or without memory (*ret_error -ENOMEM). config: for what
 * it does not say.
 */
struct trial_login *login_get(Queue *queue, const struct config *config,
			      const struct launch_request *request, const struct trial_facts *facts,
			      int *ret_error);
/* Drops them; whatever it holds is let go. NULL is fine, as below. */
void login_put(struct trial_login *login);
/* They are this Trial's from now on. */
void login_attach(struct trial *trial, struct trial_login *login);

/*
 * Takes what it needs, if that is there at once and nobody waits for it; else nothing is taken, and
 * it does not wait. Of a Trial that need not be accepted yet.
 */
bool login_take_at_once(struct trial *trial);
/* The Trial's turn has come: true when it has what it needs (or will be void); else it waits. */
bool login_take(struct trial *trial);
/* A Trial that runs already, found at start: it has it. */
void login_take_again(struct trial *trial);
/* It has what it took no longer, or waits no longer. */
void login_release(struct trial *trial);
/* Nothing will be started for a while: whoever has some of its logins, and no slot, gives them back. */
void logins_give_back(Queue *queue);

/* It is claimed: its copy is being made from now on. */
void login_prepare(struct trial *trial);
/*
 * What its plan needs of this Harness's: 0; FAULT (void; whoever wants several asks for all, to tell all
 * that is missing); -EINPROGRESS: not yet (then login_await); -EAGAIN: the login has changed since it was
 * taken, its turn comes again; -errno. found is what was found now, or NULL.
 */
int login_bind(struct trial *trial, const char *harness, const struct session_login *found,
	       int *ret_fd, struct fault *ret_fault);
/* For the keeper, all of them; what it points to is the leases'. */
void login_order(struct trial *trial, struct launch_order *order);
/* Its start is durable: once the copy is made, it goes on (trial_go_on). */
void login_await(struct trial *trial);
/* It runs, in this control group or NULL. */
void login_running(struct trial *trial, const char *cgroup);
/*
 * The Trial has ended, as its record says. True: something of its login is left to do, and
 * trial_end_recorded is called once it is done; false: nothing is.
 */
bool login_finish(struct trial *trial, const struct outcome_record *record);
/* The end is in the ledger, and with it what the notes of its logins were kept for. */
void login_end_kept(struct trial *trial);
/* The call of trial_end_recorded is still to come. */
bool login_is_finishing(const struct trial *trial);

/* Its place among those that wait for the same login, 1 is next; 0: it does not wait. */
size_t login_position(const struct trial *trial, size_t most);
/* What it waits for, into buffer; NULL when it does not. */
const char *login_waits_for(const struct trial *trial, char *buffer, size_t size);
bool login_waiting(const struct trial *trial);
/* Since when it waits for one that is suspect; 0: it does not. */
uint64_t login_held_since(const struct trial *trial);
/* Something about the login of this Harness was changed by hand: those who wait look again. */
void login_changed(Queue *queue, const char *harness);
/* How many of a Harness's Trials wait, and who has its home; for the logins verb. */
struct login_line_status {
	size_t waiting;
	struct home_status home; /* path NULL: no home is known */
};
void login_line_look(Queue *queue, const char *harness, struct login_line_status *ret_status);
