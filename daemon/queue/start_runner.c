/* SPDX-License-Identifier: MIT */

/*
 * The start of a Custom runner: its Arm as it was accepted with, what that has on this host now, the
 * copies of its logins.
 */
#include "queue/start_runner.h"

#include <string.h>

#include "queue/arm_look.h"
#include "queue/grader.h"
#include "queue/login.h"
#include "queue/look.h"

static void harnesses_fill(struct start_harnesses *harnesses, const struct runner_plan *runner,
			   const struct launch_request *launch)
{
	const struct arm *arm = runner->arm;

	for (size_t i = 0; i < runner->session_count && i < ARM_HARNESSES_MAX; i++) {
		struct trial_harness *driven = &harnesses->driven[harnesses->driven_count++];

		*driven = start_harness_facts(launch, &runner->sessions[i]);
		driven->model = arm->harnesses.items[i].model;
		driven->effort = driven->resume = driven->prompt = NULL;
	}
	for (size_t i = 0; i < arm->providers.count && i < ARM_PROVIDERS_MAX; i++)
		harnesses->providers[harnesses->provider_count++] = arm->providers.items[i].name;
}

/* Adds what is wrong with one login to what is wrong with others. */
static int join_faults(struct fault *all, struct fault *one)
{
	int r;

	if (!all->message) {
		fault_move(all, one);
		return FAULT;
	}
	_cleanup_free_ char *message = strdup(all->message);

	r = message ? fault_void(all, CAUSE_session_unavailable, "%s; %s", message, one->message)
		    : -ENOMEM;
	fault_done(one);
	*one = FAULT_INIT;
	return r < 0 ? r : fault_hint(all, "trialctl logins");
}

/* All that is wrong with logins at once. */
static int bind_logins(struct trial *trial, struct runner_plan *runner, struct fault *fault)
{
	struct fault one = FAULT_INIT;
	int result = 0;

	for (size_t i = 0; i < runner->session_count; i++) {
		struct session_plan *session = &runner->sessions[i];
		int r;

		if (runner->arm->harnesses.items[i].provider)
			continue;
		r = login_bind(trial, session->harness->name, &session->found, &session->login_fd,
			       &one);
		if (r == 0 && session->login_fd < 0 && session->login->kind != HARNESS_LOGIN_env &&
		    session->login->kind != HARNESS_LOGIN_none)
			r = -EAGAIN;
		if (r == FAULT)
			r = join_faults(fault, &one);
		/* What stands in the way is told once: it wins over what is still waited for. */
		if (r == FAULT || (r != 0 && result == 0))
			result = r;
	}
	return result;
}

int start_runner(struct trial *trial, const struct launch_request *launch,
		 const struct plan_host *host, const struct trial_facts *accepted,
		 struct arm_known *known, struct runner_plan *runner, struct start_harnesses *ret,
		 struct fault *ret_fault)
{
	const struct session_plan *unknown;
	int r = arm_known_of_facts(accepted, known);

	if (r == 0)
		r = runner_plan_make(runner, host, &known->arm, launch, trial->queue->arms,
				     ret_fault);
	if (r == -EINPROGRESS) {
		unknown = runner_plan_unknown(runner);
		r = unknown ? look_begin(trial, unknown, ret_fault) : -EIO;
		return r == 0 ? -EINPROGRESS : r;
	}
	for (size_t i = 0; r == 0 && i < runner->session_count; i++)
		r = arm_look_program(accepted, runner->sessions[i].harness->name,
				     runner->sessions[i].digest, ret_fault);
	if (r == 0)
		r = bind_logins(trial, runner, ret_fault);
	if (r != 0)
		return r;
	harnesses_fill(ret, runner, launch);
	return plan_make_runner(&trial->work->plan, host, launch, runner, grader_grading(trial),
				ret_fault);
}
