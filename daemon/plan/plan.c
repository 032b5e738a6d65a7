/* SPDX-License-Identifier: MIT */
#include "plan/no_sandbox.h"
#include "build.h"
#include "plan/grading.h"
#include "repository_git.h"
#include "runner_plan.h"

#include <string.h>

/*
 * From a launch to a plan: the order of the steps is all that is here, build.h says which file
 * does what. The same steps refuse a launch before it is accepted (plan_check) and make its plan
 * when its turn has come (plan_make): what was true then need not be true now, so everything is
 * looked at again and the refusal becomes the cause of a void.
 */

/* A launch has a command, or a harness and then what only that has. */
static int harness_check_keys(const struct launch_request *launch, struct fault *fault)
{
	bool judges = launch_judges(launch);
	const struct {
		const char *name;
		bool given;
	} keys[] = {
		{"model", launch->has.model},	      {"effort", launch->has.effort},
		{"resume", launch->has.resume},	      {"executable", launch->has.executable},
		{"arguments", launch->has.arguments},
	};

	if (launch->harness && launch->has.command)
		return fault_set(fault, ERROR_invalid,
				 "command: a launch has a command or a harness, not both");
	for (size_t i = 0; !launch->harness && i < ARRAY_SIZE(keys); i++)
		if (keys[i].given)
			return fault_set(fault, ERROR_invalid,
					 "%s: only a launch with a harness has one", keys[i].name);
	if (launch->has.of && !judges && !launch->resume) {
		fault_set(fault, ERROR_invalid,
			  "of: only a grader has one, or a session that goes on with resume");
		return fault_hint(fault, "to judge the result of Trial %llu: --role grader",
				  (unsigned long long)launch->of);
	}
	return 0;
}

static int command_copy(struct plan *plan, const struct launch_request *launch,
			const struct runner_plan *runner, struct fault *fault)
{
	int r = 0;

	if (runner)
		return runner_command(plan, runner);
	if (launch->harness)
		return 0;
	if (launch->command.count == 0 || launch->command.items[0][0] == '\0')
		return fault_set(fault, ERROR_invalid,
				 "command: a program to run is required, as its first element");
	for (size_t i = 0; r == 0 && i < launch->command.count; i++)
		r = text_list_add(&plan->command, launch->command.items[i]);
	return r;
}

/* The links by which HOME is spelled: tools write that spelling into their files. */
static int home_links(struct plan *plan, const struct plan_host *host, struct fault *fault)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r;

	if (!host->home_given || !strcmp(host->home_given, host->home))
		return 0;
	r = place_open(&place, "HOME", host->home_given, NULL, fault);
	return r == 0 ? links_compose(&place, "HOME", plan, fault) : r;
}

static int cwd_settle(struct plan *plan, const struct plan_host *host,
		      const struct launch_request *launch, struct fault *fault)
{
	_cleanup_free_ char *canonical = NULL, *shown = NULL;
	int r;

	if (!launch->cwd) {
		plan->cwd = strdup(plan->repository ? plan->repository : host->home);
		return plan->cwd ? 0 : -ENOMEM;
	}
	r = inside_resolve(plan, launch->cwd, &canonical, fault);
	if (r != 0)
		return r;
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if ((operation->type == PLAN_BIND || !strcmp(operation->destination, host->home) ||
		     !strcmp(operation->destination, "/tmp")) &&
		    path_within(canonical, operation->destination)) {
			plan->cwd = steal(&canonical);
			return 0;
		}
	}
	shown = display(launch->cwd);
	return fault_set(
		fault, ERROR_invalid,
		"cwd: %s must be in the repository, in something that is bound, in HOME or in /tmp",
		shown);
}

/* Parents before what is below them: as strcmp, with `/` as the smallest of all characters. */
static int operation_compare(const void *a, const void *b)
{
	const unsigned char *x =
		(const unsigned char *)((const struct plan_operation *)a)->destination;
	const unsigned char *y =
		(const unsigned char *)((const struct plan_operation *)b)->destination;

	while (*x && *x == *y)
		x++, y++;
	if (*x == '/' && *y)
		return *y == '/' ? 0 : -1;
	if (*y == '/' && *x)
		return 1;
	return *x - *y;
}

static int remounts_add(struct plan *plan)
{
	/* Of a Grader /proc too: what it runs could write to its memory. */
	return (!plan->judges || plan_add(plan, PLAN_REMOUNT_RO, "/proc", NULL)) &&
			       plan_add(plan, PLAN_REMOUNT_RO, "/dev", NULL) &&
			       plan_add(plan, PLAN_REMOUNT_RO, "/", NULL)
		       ? 0
		       : -ENOMEM;
}

static int descriptors_check(const struct plan *plan, struct fault *fault)
{
	size_t count = plan->descriptor_count;

	for (size_t i = 0; i < plan->operation_count; i++)
		count += plan->operations[i].type == PLAN_FILE;
	if (count <= PLAN_DESCRIPTORS_MAX)
		return 0;
	return fault_set(
		fault, ERROR_invalid,
		"binds: the sandbox would need %zu descriptors of at most %d: bind fewer paths",
		count, PLAN_DESCRIPTORS_MAX);
}

static int files_open(struct plan *plan)
{
	int *descriptors = realloc(plan->descriptors, PLAN_DESCRIPTORS_MAX * sizeof(*descriptors));

	if (!descriptors)
		return -ENOMEM;
	plan->descriptors = descriptors;
	for (size_t i = 0; i < plan->operation_count; i++) {
		struct plan_operation *operation = &plan->operations[i];
		int r;

		if (operation->type != PLAN_FILE)
			continue;
		r = plan_file_open(operation->file, &descriptors[plan->descriptor_count]);
		if (r < 0)
			return r;
		operation->descriptor = (int)plan->descriptor_count++;
	}
	return 0;
}

/* What a launch says without naming a path. */
static int plan_settle(struct plan *plan, const struct plan_host *host,
		       const struct launch_request *launch, const struct runner_plan *runner,
		       struct tmpfs_sizes *ret_sizes, struct fault *fault)
{
	int r;

	plan->no_sandbox = host->no_sandbox;
	r = no_sandbox_check(host, launch, fault);
	if (r == 0)
		r = harness_check_keys(launch, fault);
	if (r == 0)
		r = grading_check(launch, fault);
	plan->judges = launch_judges(launch);
	if (r == 0)
		r = network_settle(plan, host, launch, fault);
	if (r == 0)
		r = command_copy(plan, launch, runner, fault);
	return r == 0 ? limits_settle(plan, host->config, launch, ret_sizes, fault) : r;
}

/* All of it but the descriptors of files. session: NULL, or of a launch with a harness; or a runner. */
static int plan_compose(struct plan *plan, const struct plan_host *host, struct system_facts *facts,
			const struct launch_request *launch, const struct session_plan *session,
			const struct runner_plan *runner, const struct grading *grading,
			struct fault *fault)
{
	_cleanup_(bound_list_done) struct bound_list bounds = {0};
	_cleanup_(repository_git_done) struct repository_git git = REPOSITORY_GIT_INIT;
	_cleanup_(toolchains_done) struct toolchains toolchains = {0};
	struct tmpfs_sizes sizes;
	int r;

	r = plan_settle(plan, host, launch, runner, &sizes, fault);
	if (r == 0)
		r = bound_list_open(&bounds, plan, launch, fault);
	if (r == 0)
		r = repository_git_open(&git, &bounds, plan, host,
					runner && runner->arm->git_exclude.count > 0, fault);
	if (r == 0 && session)
		r = session_command(plan, session);
	if (r == 0 && session)
		r = session_bounds(&bounds, session, fault);
	if (r == 0 && session)
		r = network_session(plan, session, fault);
	if (r == 0 && runner)
		r = runner_bounds(&bounds, plan, host, runner, fault);
	if (r == 0 && runner)
		r = network_runner(plan, runner, fault);
	if (r == 0)
		r = toolchains_open(&toolchains, host, launch, fault);
	if (r == 0)
		r = toolchains_bounds(&toolchains, &bounds, fault);
	if (r == 0)
		r = policy_check(host, &bounds, plan, fault);
	if (r == 0)
		r = root_compose(plan, host, facts, &sizes, &bounds);
	if (r == 0 && session)
		r = session_contents(plan, host, session, fault);
	if (r == 0 && runner)
		r = runner_contents(plan, host, runner, fault);
	if (r == 0 && session)
		r = grading_answers(plan, session, fault);
	if (r == 0 && grading)
		r = grading_compose(plan, grading);
	if (r == 0)
		r = repository_git_compose(&git, plan, fault);
	if (r == 0)
		r = destination_check(&bounds, plan, fault);
	if (r == 0)
		r = bound_list_compose(&bounds, plan, fault);
	if (r == 0)
		r = home_links(plan, host, fault);
	if (r == 0)
		r = keep_compose(plan, host, launch, session, runner, fault);
	if (r == 0)
		r = parents_add(plan, fault);
	if (r != 0)
		return r;
	qsort(plan->operations, plan->operation_count, sizeof(*plan->operations),
	      operation_compare);
	r = cwd_settle(plan, host, launch, fault);
	if (r == 0)
		r = toolchains_compose(&toolchains, plan, host, fault);
	if (r == 0)
		r = environment_compose(plan, host, launch, session, runner, &toolchains, fault);
	if (r == 0 && runner)
		r = runner_masks(plan, host, runner);
	if (r == 0 && grading)
		r = grading_environment(plan, grading);
	return r == 0 ? descriptors_check(plan, fault) : r;
}

static int build(struct plan **ret_plan, const struct plan_host *host, struct system_facts *facts,
		 const struct launch_request *launch, const struct session_plan *session,
		 const struct runner_plan *runner, const struct grading *grading,
		 struct fault *ret_fault)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int r;

	if (!plan)
		return -ENOMEM;
	r = plan_compose(plan, host, facts, launch, session, runner, grading, ret_fault);
	if (r == 0)
		r = files_open(plan);
	if (r == 0)
		r = remounts_add(plan);
	if (r == 0)
		*ret_plan = plan;
	else
		plan_free(plan);
	return r;
}

int plan_build(struct plan **ret_plan, const struct plan_host *host, struct system_facts *facts,
	       const struct launch_request *launch, struct fault *ret_fault)
{
	return build(ret_plan, host, facts, launch, NULL, NULL, NULL, ret_fault);
}

int plan_build_grader(struct plan **ret_plan, const struct plan_host *host,
		      struct system_facts *facts, const struct launch_request *launch,
		      const struct grading *grading, struct fault *ret_fault)
{
	return build(ret_plan, host, facts, launch, NULL, NULL, grading, ret_fault);
}

static bool names_a_path(const struct launch_request *launch)
{
	return launch->repository || launch->build || launch->skills || launch->cwd ||
	       launch->binds.count > 0 || launch->toolchains.count > 0;
}

/* With no path there is nothing of the host that could refuse it, and no need to look. */
static int plan_check_all(struct plan *plan, const struct plan_host *host,
			  const struct launch_request *launch, struct fault *fault)
{
	struct system_facts *facts;
	struct tmpfs_sizes sizes;
	int r;

	if (!names_a_path(launch)) {
		r = plan_settle(plan, host, launch, NULL, &sizes, fault);
		return r == 0 ? environment_compose(plan, host, launch, NULL, NULL, NULL, fault)
			      : r;
	}
	r = plan_cache_facts(host->cache, &facts);
	return r == 0 ? plan_compose(plan, host, facts, launch, NULL, NULL, NULL, fault) : r;
}

int plan_check(const struct plan_host *host, const struct launch_request *launch,
	       char **ret_repository, struct text_list *ret_warnings, struct fault *ret_fault)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int r;

	if (!plan)
		return -ENOMEM;
	r = plan_check_all(plan, host, launch, ret_fault);
	if (r == 0 && launch->harness)
		r = session_plan_check(host, launch, NULL, &plan->warnings, ret_fault);
	if (r == 0 && ret_repository)
		*ret_repository = steal(&plan->repository);
	if (r == 0 && ret_warnings) {
		*ret_warnings = plan->warnings;
		plan->warnings = (struct text_list){0};
	}
	plan_free(plan);
	return r;
}

static int make(struct plan **ret_plan, const struct plan_host *host,
		const struct launch_request *launch, const struct session_plan *session,
		const struct runner_plan *runner, const struct grading *grading,
		struct fault *fault)
{
	struct system_facts *facts;
	int r;

	r = plan_cache_facts(host->cache, &facts);
	if (r == 0)
		r = build(ret_plan, host, facts, launch, session, runner, grading, fault);
	if (r == FAULT) {
		fault->code = ERROR_unavailable;
		fault->cause = CAUSE_sandbox_unavailable;
	}
	return r;
}

int plan_make_session(struct plan **ret_plan, const struct plan_host *host,
		      const struct launch_request *launch, const struct session_plan *session,
		      const struct grading *grading, struct fault *ret_fault)
{
	return make(ret_plan, host, launch, session, NULL, grading, ret_fault);
}

int plan_make_runner(struct plan **ret_plan, const struct plan_host *host,
		     const struct launch_request *launch, const struct runner_plan *runner,
		     const struct grading *grading, struct fault *ret_fault)
{
	return make(ret_plan, host, launch, NULL, runner, grading, ret_fault);
}

int plan_build_runner(struct plan **ret_plan, const struct plan_host *host,
		      struct system_facts *facts, const struct launch_request *launch,
		      const struct runner_plan *runner, struct fault *ret_fault)
{
	return build(ret_plan, host, facts, launch, NULL, runner, NULL, ret_fault);
}

int plan_make(struct plan **ret_plan, const struct plan_host *host,
	      const struct launch_request *launch, struct fault *ret_fault)
{
	return plan_make_session(ret_plan, host, launch, NULL, NULL, ret_fault);
}

static void secrets_wipe(struct plan *plan)
{
	for (size_t i = 0; i < plan->secrets.count; i++) {
		char *value = (char *)pair_list_get(&plan->environment, plan->secrets.items[i]);

		if (value)
			explicit_bzero(value, strlen(value));
	}
	text_list_done(&plan->secrets);
}

struct plan *plan_free(struct plan *plan)
{
	if (!plan)
		return NULL;
	operations_free(plan->operations, plan->operation_count);
	for (size_t i = 0; i < plan->descriptor_count; i++)
		fd_close(plan->descriptors[i]);
	free(plan->descriptors);
	text_list_done(&plan->command);
	secrets_wipe(plan);
	pair_list_done(&plan->environment);
	free(plan->cwd);
	text_list_done(&plan->hosts);
	text_list_done(&plan->internal);
	free(plan->refusal);
	free(plan->git_excludes);
	free(plan->repository);
	free(plan->home);
	free(plan->bound_home);
	text_list_done(&plan->state);
	text_list_done(&plan->login_paths);
	text_list_done(&plan->bound);
	text_list_done(&plan->pinned);
	text_list_done(&plan->answers);
	text_list_done(&plan->asked);
	text_list_done(&plan->notes);
	text_list_done(&plan->warnings);
	for (size_t i = 0; i < plan->toolchain_count; i++) {
		free(plan->toolchains[i].name);
		free(plan->toolchains[i].file);
		text_list_done(&plan->toolchains[i].read_only);
		text_list_done(&plan->toolchains[i].path);
		text_list_done(&plan->toolchains[i].programs);
	}
	free(plan->toolchains);
	free(plan);
	return NULL;
}
