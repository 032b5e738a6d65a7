/* SPDX-License-Identifier: MIT */
#include "build.h"

#include "runner_plan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * The environment, built from nothing: what a session needs to work at all, then what the launch
 * names. Nothing of trialsd's own is inherited.
 *
 * What toolchains say comes before what a session needs, that before what leads to the proxy, and all
 * of it before what a launch names. A launch
 * may replace anything but HOME, USER and LOGNAME: they say what the sandbox is (the
 * fresh home, the one user of its passwd) and would be a lie with any other value.
 *
 * git refuses a repository that seems to be somebody else's, which it does where an owner's uid is
 * not mapped. So exactly the bound repository is trusted, never "*", by git's own variables,
 * unless the launch uses those itself; a runner's git_exclude comes behind what it says. A linked
 * worktree's git cannot clean up what it shares with others (repository_git.c), and is told not to try
 * by itself.
 */

#define GIT_COUNT_MAX 1000 /* settings of a launch's own */
#define GIT_NAME_BYTES 48  /* of a variable with a number */

static const char *const fixed[] = {"HOME", "USER", "LOGNAME"};

static int defaults_set(struct plan *plan, const struct plan_host *host)
{
	const struct pair defaults[] = {
		{"HOME", host->home},
		{"USER", host->user},
		{"LOGNAME", host->user},
		{"SHELL", "/bin/sh"},
		{"PATH", host->config->path ? host->config->path : "/usr/local/bin:/usr/bin:/bin"},
		{"LANG", "C.UTF-8"},
		{"TMPDIR", "/tmp"},
		{"TERM", "dumb"},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(defaults); i++)
		r = pair_list_set(&plan->environment, defaults[i].name, defaults[i].value);
	return r;
}

static int name_check(const char *name, struct fault *fault)
{
	_cleanup_free_ char *shown = display(name);

	if (name[0] == '\0' || strchr(name, '='))
		return fault_set(
			fault, ERROR_invalid,
			"environment: \"%s\" is no name of a variable: it must not be empty nor hold \"=\"",
			shown);
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (!strcmp(name, fixed[i]))
			return fault_set(
				fault, ERROR_refused,
				"environment.%s: this variable is the sandbox's own (HOME, USER and LOGNAME cannot be set)",
				name);
	return 0;
}

/* settings with these numbers and those behind them; of count there are so many afterwards. */
static int git_number(struct plan *plan, const struct pair *settings, size_t first, size_t count)
{
	struct pair_list *environment = &plan->environment;
	char name[GIT_NAME_BYTES];
	int r;

	snprintf(name, sizeof(name), "%zu", first + count);
	r = pair_list_set(environment, "GIT_CONFIG_COUNT", name);
	for (size_t i = 0; r == 0 && i < count; i++) {
		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%zu", first + i);
		r = pair_list_set(environment, name, settings[i].name);
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%zu", first + i);
		if (r == 0)
			r = pair_list_set(environment, name, settings[i].value);
	}
	return r;
}

/* As git reads it: "" is none. */
static bool git_count(const char *text, size_t *ret_count)
{
	*ret_count = 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		*ret_count = *ret_count * 10 + (size_t)(*text - '0');
		if (*ret_count > GIT_COUNT_MAX)
			return false;
	}
	return true;
}

/* Behind the settings of the launch's own, of which the last one of a name counts. */
static int git_add_excludes(struct plan *plan, const char *own)
{
	const struct pair excludes = {"core.excludesFile", RUNNER_EXCLUDE};
	char name[GIT_NAME_BYTES];
	size_t count;

	if (!git_count(own, &count))
		return plan_warn(plan,
				 "git_exclude: git is not told of it: the GIT_CONFIG_COUNT of its "
				 "own is no number up to %d",
				 GIT_COUNT_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *key;
		int r;

		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%zu", i);
		key = pair_list_get(&plan->environment, name);
		if (!key || strcasecmp(key, excludes.name) != 0)
			continue;
		r = plan_warn(plan,
			      "git_exclude: its patterns take the place of the %s that %s sets",
			      excludes.name, name);
		if (r < 0)
			return r;
	}
	return git_number(plan, &excludes, count, 1);
}

static int git_configure(struct plan *plan, bool excludes)
{
	const char *own = pair_list_get(&plan->environment, "GIT_CONFIG_COUNT");
	struct pair settings[4];
	size_t count = 0;

	if (own)
		return excludes ? git_add_excludes(plan, own) : 0;
	if (plan->repository)
		settings[count++] = (struct pair){"safe.directory", plan->repository};
	if (plan->repository && plan->git_shared) {
		settings[count++] = (struct pair){"gc.auto", "0"};
		settings[count++] = (struct pair){"maintenance.auto", "false"};
	}
	if (excludes)
		settings[count++] = (struct pair){"core.excludesFile", RUNNER_EXCLUDE};
	return count > 0 ? git_number(plan, settings, 0, count) : 0;
}

/* What the Harness needs: the launch may replace all but what it is signed in with. */
static int session_set(struct plan *plan, const struct session_plan *session)
{
	const struct pair_list *variables = &session->session.environment;
	int r = 0;

	for (size_t i = 0; r == 0 && i < variables->count; i++)
		r = pair_list_set(&plan->environment, variables->items[i].name,
				  variables->items[i].value);
	return r;
}

int environment_secret(struct plan *plan, const struct pair *secret, struct fault *ret_fault)
{
	if (!secret->name)
		return 0;
	if (pair_list_get(&plan->environment, secret->name))
		return fault_set(ret_fault, ERROR_refused, ENVIRONMENT_HAS_KEY, secret->name);
	/* First the name: from then on whatever is there is wiped. */
	return text_list_add(&plan->secrets, secret->name) < 0
		       ? -ENOMEM
		       : pair_list_set(&plan->environment, secret->name, secret->value);
}

int environment_compose(struct plan *plan, const struct plan_host *host,
			const struct launch_request *launch, const struct session_plan *session,
			const struct runner_plan *runner, const struct toolchains *toolchains,
			struct fault *ret_fault)
{
	int r = defaults_set(plan, host);

	if (r == 0 && toolchains)
		r = toolchains_environment(toolchains, plan, host);

	if (r == 0 && session)
		r = session_set(plan, session);
	if (r == 0 && runner)
		r = runner_environment(plan, runner);
	if (r == 0)
		r = network_environment(plan);
	for (size_t i = 0; r == 0 && i < launch->environment.count; i++) {
		const struct pair *pair = &launch->environment.items[i];

		r = name_check(pair->name, ret_fault);
		if (r == 0)
			r = pair_list_set(&plan->environment, pair->name, pair->value);
	}
	if (r == 0 && session)
		r = environment_secret(plan, &session->found.secret, ret_fault);
	if (r == 0 && runner)
		r = runner_secrets(plan, runner, ret_fault);
	return r == 0 ? git_configure(plan, runner && runner->arm->git_exclude.count > 0) : r;
}
