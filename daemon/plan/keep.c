/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "plan/grading.h"
#include "runner_plan.h"

#include <fcntl.h>
#include <string.h>

/*
 * What of the home the keeper keeps when the Trial has ended, and what it puts there before it
 * starts (keeper/keep.h). Paths are below home: State= as the .harness file has it, and all that a
 * login of the Harness is in, of whichever kind it is this time, since a program may write another.
 */

/* "~/x" is x; NULL: not in the home. */
static const char *below_home(const char *path)
{
	return path && path[0] == '~' && path[1] == '/' ? path + 2 : NULL;
}

static int add_path(struct text_list *list, const char *path)
{
	const char *below = below_home(path);

	return below ? text_list_add(list, below) : 0;
}

/* Names in the folder of a path. */
static int add_beside(struct text_list *list, const char *path, const struct text_list *names)
{
	const char *below = below_home(path), *slash = below ? strrchr(below, '/') : NULL;
	int folder = slash ? (int)(slash - below) + 1 : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && below && i < names->count; i++)
		r = text_list_add_format(list, "%.*s%s", folder, below, names->items[i]);
	return r;
}

/* Names in a folder. */
static int add_in(struct text_list *list, const char *path, const struct text_list *names)
{
	const char *below = below_home(path);
	int r = 0;

	for (size_t i = 0; r == 0 && below && i < names->count; i++)
		r = text_list_add_format(list, "%s/%s", below, names->items[i]);
	return r;
}

static int add_login(struct text_list *list, const struct harness_login *login)
{
	const char *name = login->file ? strrchr(login->file, '/') : NULL;
	struct text_list names = {0};
	int r;

	if (!name)
		return 0;
	name++;
	names = (struct text_list){.count = 1, .items = &name};
	if (login->kind == HARNESS_LOGIN_home) {
		r = add_in(list, login->target, &names);
		if (r == 0)
			r = add_in(list, login->target, &login->keep);
		return r == 0 ? add_in(list, login->target, &login->locks) : r;
	}
	r = add_path(list, login->file);
	if (r == 0)
		r = add_beside(list, login->file, &login->locks);
	if (r == 0)
		r = add_path(list, login->shared_lock);
	/* Where its target is the folder that the file is in anyway, there may be more in it. */
	if (r == 0 && login->target &&
	    strncmp(login->file, login->target, strlen(login->target)) != 0)
		r = add_path(list, login->target);
	return r == 0 && login->target ? add_in(list, login->target, &login->locks) : r;
}

/* What stands where something is bound when that is gone. */
static int add_bound(struct plan *plan, const struct plan_host *host)
{
	size_t home = strlen(host->home);
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];
		const char *path = operation->destination;

		if (operation->type == PLAN_BIND && path_within(path, host->home) &&
		    path[home] == '/' &&
		    (!plan->bound_home || strcmp(path + home + 1, plan->bound_home) != 0))
			r = text_list_add(&plan->bound, path + home + 1);
	}
	return r;
}

int keep_logins(struct plan *plan, const struct session_plan *session)
{
	const struct harness *harness = session->harness;
	const char *target = session->login && session->login->kind == HARNESS_LOGIN_home
				     ? below_home(session->login->target)
				     : NULL;
	int r = 0;

	if (target && session->login_fd >= 0) {
		plan->bound_home = strdup(target);
		if (!plan->bound_home)
			return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < harness->login_count; i++)
		r = add_login(&plan->login_paths, &harness->logins[i]);
	return r;
}

static int add_session(struct plan *plan, const struct session_plan *session)
{
	const struct text_list *state =
		&harness_session_for(session->harness, session->program.version)->state;
	int r = keep_logins(plan, session);

	for (size_t i = 0; r == 0 && i < state->count; i++)
		r = add_path(&plan->state, state->items[i]);
	return r;
}

/* For the keeper alone: bwrap does not know of it, and pid 1 closes it. */
static int add_kept(struct plan *plan, int fd)
{
	int *descriptors = realloc(plan->descriptors,
				   (plan->descriptor_count + 1) * sizeof(*descriptors));
	int copy;

	if (!descriptors)
		return -ENOMEM;
	plan->descriptors = descriptors;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	descriptors[plan->descriptor_count++] = copy;
	plan->session_folder = plan->descriptor_count;
	return 0;
}

static int refuse(const struct harness *harness, const struct launch_request *launch,
		  struct fault *fault)
{
	return fault_set(fault, ERROR_invalid,
			 "of: trialsd keeps no sessions of %s: its .harness file has no State= "
			 "(without of, resume is passed on as it is)",
			 harness->name),
	       fault_hint(fault, "trialctl show %llu", (unsigned long long)launch->of);
}

int keep_compose(struct plan *plan, const struct plan_host *host,
		 const struct launch_request *launch, const struct session_plan *session,
		 const struct runner_plan *runner, struct fault *ret_fault)
{
	int r = 0;

	plan->keep_home = launch->keep_home;
	if (session)
		r = add_session(plan, session);
	/* Whose sessions they were, and which of them, is for a runner to know: none is kept. */
	for (size_t i = 0; r == 0 && runner && i < runner->session_count; i++)
		r = keep_logins(plan, &runner->sessions[i]);
	if (r == 0 && session && launch->has.of && !launch_judges(launch)) {
		if (plan->state.count == 0)
			return refuse(session->harness, launch, ret_fault);
		r = session->kept_fd >= 0 ? add_kept(plan, session->kept_fd) : -EBADF;
	}
	if (r < 0 || (plan->state.count == 0 && !plan->keep_home))
		return r;
	plan->home = strdup(host->home);
	return plan->home ? add_bound(plan, host) : -ENOMEM;
}

int keep_check(const struct harness *harness, const struct launch_request *launch,
	       struct fault *ret_fault)
{
	size_t count = 0;

	if (!launch->has.of || launch_judges(launch))
		return 0;
	for (size_t i = 0; i < harness->session_count; i++)
		count += harness->sessions[i].state.count;
	return count > 0 ? 0 : refuse(harness, launch, ret_fault);
}
