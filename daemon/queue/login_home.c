/* SPDX-License-Identifier: MIT */
#include "queue/login_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/*
 * The Trials home as a login: leased, looked at, wiped. The home is looked at only by the Trial that
 * has it, since nobody else may see what an agent is just making of it.
 */

/* What home_guard.h wants to know, with what has to be freed of it. */
struct where {
	struct home_where where;
	char *path;
	char *production;
	char *command;
};

static void where_done(struct where *where)
{
	free(where->path);
	free(where->production);
	free(where->command);
}

static int where_make(struct where *ret, const struct plan_host *host,
		      const struct harness *harness, const struct harness_login *how)
{
	int r = session_login_command(how, &ret->command);

	ret->path = session_login_path(host, how->home);
	ret->production = session_login_path(host, how->target);
	if (r < 0 || !ret->path || !ret->production)
		return -ENOMEM;
	ret->where = (struct home_where){
		.product = harness->program.product,
		.name = harness->name,
		.sign_in = ret->command,
		.path = ret->path,
		.production = ret->production,
		.home = host->home,
		.state_folder = host->state_folder,
		.runtime_folder = host->runtime_folder,
		.config_folder = host->config_folder,
		.login = login_copy_name(how),
		.keep = (const char *const *)how->keep.items,
		.keep_count = how->keep.count,
	};
	return 0;
}

static void on_called(struct home_waiter *waiter)
{
	struct trial_login *login = container_of(waiter, struct login_lease, at_home)->login;

	sched_add(login->line->queue, login->trial);
	sched_kick(login->line->queue);
}

static void on_wiped(struct home_waiter *waiter, int result, struct fault *fault)
{
	login_wiped(container_of(waiter, struct login_lease, at_home)->login, result, fault);
}

void login_drop_home(struct trial_login *login)
{
	Home *home = steal(&login->lease->home);

	if (login->lease->at_home.home)
		home_release(&login->lease->at_home);
	home_put(home);
}

int login_home_folder(Queue *queue, const struct harness *harness, const struct harness_login *how,
		      struct home_folder *ret_folder, struct fault *ret_fault)
{
	_cleanup_(where_done) struct where where = {0};
	int r = where_make(&where, queue->host, harness, how);

	return r == 0 ? home_folder_open(ret_folder, &where.where, ret_fault) : r;
}

/* The home as it is now; another one than before is let go of. */
static int find_home(struct trial_login *login, const struct where *where, struct fault *fault)
{
	struct logins_shared *shared = &login->line->queue->logins;
	Home *home = NULL;
	int r = 0;

	if (!shared->homes)
		r = homes_new(&shared->homes, login->line->queue->loop, shared->folders.locks);
	if (r == 0)
		r = home_get(&home, shared->homes, &where->where, fault);
	if (r != 0)
		return r;
	if (login->lease->home && login->lease->home != home)
		login_drop_home(login);
	if (login->lease->home) {
		home_put(home);
		return 0;
	}
	login->lease->home = home;
	login->lease->at_home = (struct home_waiter){
		.id = login->trial->id,
		.priority = login->trial->priority,
		.called = on_called,
		.wiped = on_wiped,
	};
	return 0;
}

/* Nobody can have a home twice. */
static int refuse_shared(const struct trial_login *login, struct fault *fault)
{
	LOGIN_EACH(other, login->trial)
	if (other != login && other->lease && other->lease->home == login->lease->home)
		return fault_void(
			fault, CAUSE_session_unavailable,
			"%s and %s are signed in by one home, which one of them alone can have",
			other->line->harness, login->line->harness);
	return 0;
}

enum login_taking login_take_home(struct trial_login *login, const struct harness *harness,
				  const struct session_login *found, bool *ret_held,
				  struct fault *ret_fault)
{
	_cleanup_(where_done) struct where where = {0};
	enum login_taking taking;
	int r = where_make(&where, login->line->queue->host, harness, found->login);

	if (r == 0)
		r = find_home(login, &where, ret_fault);
	if (r == 0)
		r = refuse_shared(login, ret_fault);
	if (r != 0) {
		login_drop_home(login);
		login->lease->denied = r;
		return LOGIN_DENIED;
	}
	if (!login->lease->at_home.has && !home_take(login->lease->home, &login->lease->at_home))
		return LOGIN_WAITS;
	taking = login_judge(login, harness, found, home_fd(login->lease->home), where.where.login,
			     ret_held, ret_fault);
	/* Whoever mends it needs it. */
	if (*ret_held || taking == LOGIN_DENIED)
		login_drop_home(login);
	else if (taking == LOGIN_TAKEN)
		login->lease->lease_fd = home_lock(&login->lease->at_home);
	return taking;
}

int login_wipe_home(struct trial_login *login, struct fault *ret_fault)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	_cleanup_(where_done) struct where where = {0};
	const struct harness *harness;
	int r = login_choose(login, &found, &harness, ret_fault);

	if (r == 0 && found.login->kind != HARNESS_LOGIN_home)
		r = -EAGAIN;
	if (r == 0)
		r = where_make(&where, login->line->queue->host, harness, found.login);
	return r == 0 ? home_wipe(&login->lease->at_home, &where.where) : r;
}

static void take_again(struct trial_login *login)
{
	_cleanup_(session_login_done) struct session_login found = SESSION_LOGIN_INIT;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_(where_done) struct where where = {0};
	Queue *queue = login->line->queue;
	const struct harness *harness;

	if (!login_lease_get(login))
		return;
	/* Whatever is found now: there may be a note of what it had. */
	login->has = login->left = login->lease->given = true;
	/* The locks of files are its keeper's; of a home it is good to know whose it is. */
	if (login_choose(login, &found, &harness, &ignored) != 0)
		return;
	login->lease->kind = found.login->kind;
	if (login->lease->kind == HARNESS_LOGIN_home &&
	    login_folders_open(&queue->logins.folders, queue->host, &ignored) == 0 &&
	    where_make(&where, queue->host, harness, found.login) == 0 &&
	    find_home(login, &where, &ignored) == 0)
		home_take_again(login->lease->home, &login->lease->at_home);
}

void login_take_again(struct trial *trial)
{
	LOGIN_EACH(login, trial)
	take_again(login);
}
