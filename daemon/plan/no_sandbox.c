/* SPDX-License-Identifier: MIT */
#include "plan/no_sandbox.h"

#include <stdio.h>
#include <string.h>

#include "base/no_sandbox.h"
#include "plan/build.h"
#include "plan/grading.h"
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

/* What others rely on is not done without one unawares: what was frozen, or what a result counts by. */
static int check_said(const struct launch_request *launch, struct fault *fault)
{
	int r;

	if (launch->allow_no_sandbox)
		return 0;
	if (launch->bar)
		r = refuse(fault, "bar", "a launch under a Bar is made in a sandbox", "");
	else if (launch_judges(launch))
		r = refuse(fault, "role", "a Grader judges in a sandbox", "");
	else
		return launch->arm ? refuse_arm(fault, launch->arm) : 0;
	return r != FAULT ? r
			  : fault_hint(fault, NO_SANDBOX_ENDS
				       "; or, if this launch may do without all the same, add "
				       "--allow-no-sandbox to it");
}

static int check_repository(const struct launch_request *launch, struct fault *fault)
{
	bool read_only = launch->has.repository_mode ? launch->repository_mode == MODE_ro
						     : launch->role == ROLE_grader;
	/* What is judged is never let be written to. */
	bool judged = launch_judges(launch);

	if (!launch->repository || !read_only)
		return 0;
	return refuse(fault, "repository_mode", "only in a sandbox is it read-only",
		      judged ? "" : ", or let it be written to: --repository DIR:rw");
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

/* It becomes a part of texts of JSON, TOML and sh, and of PATH. */
static bool is_plain(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || strchr("\"'\\:$`%\177", *c))
			return false;
	return utf8_valid(path, strlen(path));
}

static int refuse_folder(struct fault *fault, const char *folder)
{
	_cleanup_free_ char *shown = display(folder);
	int r = fault_set(fault, ERROR_refused,
			  "harness: without a sandbox (" NO_SANDBOX_TOLD
			  ") its home is in the state "
			  "folder, and %s has a quote, a colon or the like in its name",
			  shown);

	return r != FAULT ? r : fault_hint(fault, NO_SANDBOX_ENDS ", or with another --state-dir");
}

int no_sandbox_check(const struct plan_host *host, const struct launch_request *launch,
		     struct fault *ret_fault)
{
	const char *needed = launch->keep_home	       ? "keep_home"
			     : launch->limits.has.tmp  ? "limits.tmp"
			     : launch->limits.has.home ? "limits.home"
						       : NULL;
	int r = 0;

	if (!host->no_sandbox)
		return 0;
	/* First, since no word of the launch's mends it. */
	if (launch_judges(launch))
		r = check_repository(launch, ret_fault);
	if (r == 0)
		r = check_said(launch, ret_fault);
	if (r != 0)
		return r;
	if (needed)
		return refuse(ret_fault, needed, "it takes a sandbox",
			      ", or launch it without that");
	if ((launch->harness || launch->arm) && !is_plain(host->state_folder))
		return refuse_folder(ret_fault, host->state_folder);
	r = check_repository(launch, ret_fault);
	if (r != 0)
		return r;
	if (launch->has.network && launch->network != NETWORK_host)
		return refuse(ret_fault, "network", "only a sandbox has one of its own",
			      ", or launch it without that");
	return check_binds(launch, ret_fault);
}
