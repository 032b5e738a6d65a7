/* SPDX-License-Identifier: MIT */
#include "plan/grading.h"

#include <string.h>
#include <unistd.h>

#include "base/reload.h"
#include "build.h"
#include "session_plan.h"

static int refuse(struct fault *fault, const char *key, const char *why)
{
	return fault_set(fault, ERROR_refused, "%s: %s", key, why);
}

int grading_check(const struct launch_request *launch, struct fault *ret_fault)
{
	if (!launch_judges(launch)) {
		if (launch->has.outputs && launch->outputs)
			return fault_set(ret_fault, ERROR_invalid,
					 "outputs: only a grader of a Trial has them: give role "
					 "and of");
		return 0;
	}
	if (launch->has.repository_mode && launch->repository_mode == MODE_rw)
		return refuse(ret_fault, "repository_mode",
			      "a Grader has the repository that it judges read-only");
	if (launch->share_repository)
		return refuse(ret_fault, "share_repository",
			      "a Grader never judges while others write");
	if (launch->resume)
		return refuse(ret_fault, "resume",
			      "a Grader begins anew: of names the Trial that it judges");
	for (size_t i = 0; i < launch->binds.count; i++)
		if (launch->binds.items[i].mode == MODE_rw && launch->binds.items[i].has.mode)
			return refuse(ret_fault, "binds", "a Grader writes to nothing of the host");
	return 0;
}

int grading_answers_check(const struct harness *harness, const struct launch_request *launch,
			  struct fault *ret_fault)
{
	char command[RELOAD_COMMAND_BYTES];
	size_t count = 0;

	if (!launch_judges(launch))
		return 0;
	for (size_t i = 0; i < harness->session_count; i++)
		count += harness->sessions[i].answers.count;
	if (count > 0)
		return 0;
	fault_set(ret_fault, ERROR_invalid,
		  "harness: a session of %s cannot judge: its .harness file does not say where in "
		  "its output its answer is (Answer=)",
		  harness->name);
	return fault_hint(ret_fault,
			  "trialsd.harness(5) has what Answer= takes; a file that was changed is "
			  "read again by a reload: %s",
			  reload_command(getpid(), command));
}

int grading_answers(struct plan *plan, const struct session_plan *session, struct fault *ret_fault)
{
	const struct text_list *answers =
		&harness_session_for(session->harness, session->program.version)->answers;
	char command[RELOAD_COMMAND_BYTES];
	int r = 0;

	if (!plan->judges)
		return 0;
	/* With none the keeper would take the stream itself for what was answered. */
	if (answers->count == 0) {
		fault_set(
			ret_fault, ERROR_unavailable,
			"harness: the .harness file of %s does not say where in the output of its "
			"release %s its answer is (Answer=)",
			session->harness->name, session->program.version ?: "?");
		return fault_hint(ret_fault,
				  "a file that was changed is read again by a reload: %s",
				  reload_command(getpid(), command));
	}
	for (size_t i = 0; r == 0 && i < answers->count; i++)
		r = text_list_add(&plan->answers, answers->items[i]);
	return r;
}

static int add_bar(struct plan *plan, const struct grading *grading)
{
	struct plan_operation *operation = plan_add(plan, PLAN_FILE, GRADING_BAR, NULL);
	char *copy = operation ? malloc(grading->bar_size + 1) : NULL;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, grading->bar, grading->bar_size);
	copy[grading->bar_size] = '\0';
	operation->mode = 0400;
	operation->sealed = true;
	return plan_file_new(&operation->file, copy, grading->bar_size);
}

int grading_compose(struct plan *plan, const struct grading *grading)
{
	static const char *const places[] = {GRADING_STDOUT, GRADING_STDERR};
	int r = 0;

	if (grading->bar)
		r = add_bar(plan, grading);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++)
		if (grading->outputs[i] >= 0)
			r = session_bind(plan, places[i], "output", grading->outputs[i], false);
	return r;
}

int grading_environment(struct plan *plan, const struct grading *grading)
{
	struct pair_list *environment = &plan->environment;
	int r = 0;

	if (grading->bar)
		r = pair_list_set(environment, GRADING_BAR_VARIABLE, GRADING_BAR);
	if (r == 0 && grading->outputs[0] >= 0)
		r = pair_list_set(environment, GRADING_STDOUT_VARIABLE, GRADING_STDOUT);
	if (r == 0 && grading->outputs[1] >= 0)
		r = pair_list_set(environment, GRADING_STDERR_VARIABLE, GRADING_STDERR);
	return r;
}
