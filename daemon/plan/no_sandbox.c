/* SPDX-License-Identifier: MIT */
#include "plan/no_sandbox.h"

#include <stdio.h>
#include <string.h>

#include "base/no_sandbox.h"
#include "plan/build.h"
#include "plan/place.h"

/* instead: what the person can do who has to go without. */
static int refuse(struct fault *fault, const char *field, const char *why, const char *instead)
{
	int r = fault_set(fault, ERROR_refused,
			  "%s: %s, and this trialsd runs Trials without one (" NO_SANDBOX_TOLD ")",
			  field, why);

	return r != FAULT ? r : fault_hint(fault, NO_SANDBOX_ENDS "%s", instead);
}

static int refuse_arm(struct fault *fault, const char *id)
{
	_cleanup_free_ char *shown = display(id);
	int r = refuse(fault, "arm", "an Arm is launched in a sandbox", "");

	return r != FAULT ? r
			  : fault_hint(fault,
				       NO_SANDBOX_ENDS
				       "; or, if this Arm may do without all the same: "
				       "trialctl launch --arm %.12s --allow-no-sandbox",
				       shown);
}

static int check_binds(const struct launch_request *launch, struct fault *fault)
{
	for (size_t i = 0; i < launch->binds.count; i++) {
		const struct bind_spec *bind = &launch->binds.items[i];

		if (bind->destination && strcmp(bind->destination, bind->source) != 0)
			return refuse(fault, "binds",
				      "only in a sandbox can something be at another place",
				      ", or launch it without that");
		if (bind->mode != MODE_rw)
			return refuse(fault, "binds", "only in a sandbox is something read-only",
				      ", or let it be written to: --bind PATH:rw");
	}
	return 0;
}

int no_sandbox_check(const struct plan_host *host, const struct launch_request *launch,
		     struct fault *ret_fault)
{
	const char *needed = launch->harness		    ? "harness"
			     : launch->build		    ? "build"
			     : launch->skills		    ? "skills"
			     : launch->toolchains.count > 0 ? "toolchains"
			     : launch->keep_home	    ? "keep_home"
			     : launch->limits.has.tmp	    ? "limits.tmp"
			     : launch->limits.has.home	    ? "limits.home"
							    : NULL;
	bool read_only = launch->has.repository_mode ? launch->repository_mode == MODE_ro
						     : launch->role == ROLE_grader;

	if (!host->no_sandbox)
		return 0;
	if (launch->arm && !launch->allow_no_sandbox)
		return refuse_arm(ret_fault, launch->arm);
	if (needed)
		return refuse(ret_fault, needed, "it takes a sandbox",
			      launch->harness ? "" : ", or launch it without that");
	if (launch->repository && read_only)
		return refuse(ret_fault, "repository_mode", "only in a sandbox is it read-only",
			      ", or let it be written to: --repository DIR:rw");
	if (launch->has.network && launch->network != NETWORK_host)
		return refuse(ret_fault, "network", "only a sandbox has one of its own",
			      ", or launch it without that");
	return check_binds(launch, ret_fault);
}

/* Whether the fresh home would have it, and not the host. */
static bool is_of_home(const struct plan *plan, const struct plan_host *host, const char *path)
{
	if (!path_within(path, host->home))
		return false;
	for (size_t i = 0; i < plan->operation_count; i++)
		if (plan->operations[i].type == PLAN_BIND &&
		    path_within(path, plan->operations[i].destination))
			return false;
	return true;
}

static int move_cwd(struct plan *plan, const struct plan_host *host, const char *home)
{
	char *moved;

	if (!is_of_home(plan, host, plan->cwd))
		return 0;
	if (asprintf(&moved, "%s%s", home, plan->cwd + strlen(host->home)) < 0)
		return -ENOMEM;
	free(plan->cwd);
	plan->cwd = moved;
	return 0;
}

int no_sandbox_apply(struct plan *plan, const struct plan_host *host, const char *trial_folder)
{
	_cleanup_free_ char *home = NULL, *tmp = NULL;
	const char *tmp_before = pair_list_get(&plan->environment, "TMPDIR");
	int r;

	if (asprintf(&home, "%s/" NO_SANDBOX_HOME, trial_folder) < 0 ||
	    asprintf(&tmp, "%s/" NO_SANDBOX_TMP, trial_folder) < 0)
		return -ENOMEM;
	r = move_cwd(plan, host, home);
	if (r == 0 && (!tmp_before || strcmp(tmp_before, "/tmp") == 0))
		r = pair_list_set(&plan->environment, "TMPDIR", tmp);
	if (r == 0)
		r = pair_list_set(&plan->environment, "HOME", home);
	if (r == 0)
		r = plan_note(plan, "there was no sandbox: trialsd was told to do without "
				    "(" NO_SANDBOX_TOLD "); it could see and change all that the "
				    "person can, and reach the whole network");
	if (r < 0)
		return r;
	operations_free(plan->operations, plan->operation_count);
	plan->operations = NULL;
	plan->operation_count = 0;
	text_list_done(&plan->pinned);
	plan->no_sandbox = true;
	return 0;
}
