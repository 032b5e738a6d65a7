/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <string.h>

/*
 * The environment, built from nothing: what a session needs to work at all, then what the launch
 * names. Nothing of trialsd's own is inherited.
 *
 * A launch may replace anything but HOME, USER and LOGNAME: they say what the sandbox is (the
 * fresh home, the one user of its passwd) and would be a lie with any other value.
 *
 * git refuses a repository that seems to be somebody else's, which it does where an owner's uid is
 * not mapped. So exactly the bound repository is trusted, never "*", by git's own variables,
 * unless the launch uses those itself.
 */

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

static int git_trust(struct plan *plan)
{
	struct pair_list *environment = &plan->environment;
	int r;

	if (!plan->repository || pair_list_get(environment, "GIT_CONFIG_COUNT"))
		return 0;
	r = pair_list_set(environment, "GIT_CONFIG_COUNT", "1");
	if (r == 0)
		r = pair_list_set(environment, "GIT_CONFIG_KEY_0", "safe.directory");
	if (r == 0)
		r = pair_list_set(environment, "GIT_CONFIG_VALUE_0", plan->repository);
	return r;
}

int environment_compose(struct plan *plan, const struct plan_host *host,
			const struct launch_request *launch, struct fault *ret_fault)
{
	int r = defaults_set(plan, host);

	for (size_t i = 0; r == 0 && i < launch->environment.count; i++) {
		const struct pair *pair = &launch->environment.items[i];

		r = name_check(pair->name, ret_fault);
		if (r == 0)
			r = pair_list_set(&plan->environment, pair->name, pair->value);
	}
	return r == 0 ? git_trust(plan) : r;
}
