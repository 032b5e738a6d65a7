/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The login lease, and what a Trial is given of a login.
 *
 * A Trial with a Harness takes, when its turn comes, the login that its session will use:
 *   env, none     nothing to take
 *   file, folder  the login's lock (keeper/login.h: LOGIN_LOCK_use): alone while it may refresh what
 *                 can be refreshed once only, else beside others
 *   home          the Trials home (home.h), alone
 * As with a repository, one that does not get it waits with its Harness's others, holding nothing,
 * and is called when it may; several daemons are kept apart by the locks alone. The lock is handed
 * on to keeper and pid 1, so that it lasts as long as anything of the Trial. What is in a login is
 * read by a task; the verdict holds for as long as the file is the same one.
 *
 * A login that is suspect (login_state.h) holds those who want it until it is mended. One that is
 * missing or damaged is no reason to wait: the Trial is void.
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

/*
 * Of a launch with a Harness; NULL for others, or without memory (*ret_error -ENOMEM). config: for what
 * it does not say.
 */
struct trial_login *login_get(Queue *queue, const struct config *config,
			      const struct launch_request *request, int *ret_error);
/* Drops it; whatever it holds is let go. NULL is fine, as below. */
void login_put(struct trial_login *login);
/* It is this Trial's from now on. */
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

/* It is claimed: its copy is being made from now on. */
void login_prepare(struct trial *trial);
/*
 * What its plan needs: 0; FAULT (void); -EINPROGRESS: not yet (then login_await); -EAGAIN: the
 * login has changed since it was taken, its turn comes again; -errno. found is what was found now.
 */
int login_bind(struct trial *trial, const struct session_login *found, int *ret_fd,
	       struct fault *ret_fault);
/* For the keeper; what it points to is the lease's. */
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
/* That call is still to come. */
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
