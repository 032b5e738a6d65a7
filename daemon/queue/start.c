/* SPDX-License-Identifier: MIT */

/*
 * From a claimed Trial to its launch: the launch as the ledger has it, planned against this host
 * as it is now, in the form its keeper takes. What the plan says is kept for the ledger.
 */
#include "queue/start.h"

#include "base/log.h"
#include "base/no_sandbox.h"
#include "plan/no_sandbox.h"
#include "plan/sandbox_facts.h"
#include "queue/arm_look.h"
#include "queue/bare_home.h"
#include "queue/folder_identity.h"
#include "queue/frozen.h"
#include "queue/grader.h"
#include "queue/kept_session.h"
#include "queue/launch_file.h"
#include "queue/login.h"
#include "queue/look.h"
#include "queue/prompt.h"
#include "queue/repository.h"
#include "queue/start_runner.h"

#include <stdio.h>
#include <string.h>

void start_done(struct trial_work *work)
{
	fault_done(&work->plan_fault);
	fault_done(&work->look_fault);
	work->plan = plan_free(work->plan);
	text_list_done(&work->arguments);
}

/* Where it may write on this host; for the guard of free space. */
static int writable_keep(struct trial_work *work)
{
	const struct plan *plan = work->plan;

	text_list_done(&work->writable);
	work->writable.items = calloc(plan->operation_count + 1, sizeof(*work->writable.items));
	if (!work->writable.items)
		return -ENOMEM;
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];
		char *path;

		if (operation->type != PLAN_BIND || !operation->writable || !operation->source)
			continue;
		path = strdup(operation->source);
		if (!path)
			return -ENOMEM;
		work->writable.items[work->writable.count++] = path;
	}
	return 0;
}

/* Whose session it is, as it was found. */
struct trial_harness start_harness_facts(const struct launch_request *launch,
					 const struct session_plan *session)
{
	const struct harness *harness = session->harness;
	const struct program *program = &session->program;

	return (struct trial_harness){
		.has = {.name = true, .of = launch->has.of && !launch_judges(launch)},
		.name = harness->name,
		.product = harness->program.product,
		.model = launch->model,
		.effort = launch->effort,
		.resume = launch->resume,
		.of = launch_judges(launch) ? 0 : launch->of,
		.executable = program->file.canonical,
		.version = program->version,
		.sha256 = session->digest,
		.release = program->release.canonical,
		.interpreter = program->interpreter.canonical,
		.login = harness_login_kind_name(session->login->kind),
		.prompt = session->session.has_prompt ? harness_prompt_name(session->session.prompt)
						      : NULL,
		.file = harness->path,
	};
}

/* What is kept of a plan. Points into all of them. */
static struct trial_facts facts_of(const struct plan *plan, const struct text_list *arguments,
				   const struct sandbox_facts *sandbox,
				   struct start_harnesses *harnesses,
				   const struct trial_facts *accepted)
{
	struct trial_facts facts = {
		.has = {.repository = plan->repository != NULL,
			.network = true,
			.notes = plan->notes.count > 0,
			.plan = true,
			.wall_seconds = plan->limits.has.wall_seconds,
			.harness = harnesses->own.name != NULL,
			.harnesses = harnesses->driven_count > 0,
			.providers = harnesses->provider_count > 0,
			.toolchains = plan->toolchain_count > 0,
			.hosts = plan->network == NETWORK_allowlist,
			.no_sandbox = plan->no_sandbox,
			.sandbox = true},
		.hosts = sandbox->hosts,
		.toolchains = sandbox->toolchains,
		.harness = harnesses->own,
		.harnesses = {.count = harnesses->driven_count, .items = harnesses->driven},
		.providers = {.count = harnesses->provider_count, .items = harnesses->providers},
		.repository = plan->repository,
		.network = plan->network,
		.notes = plan->notes,
		.plan = *arguments,
		.wall_seconds = plan->limits.wall_seconds,
		.sandbox = sandbox->view,
		.no_sandbox = plan->no_sandbox,
	};

	frozen_copy(&facts, accepted);
	return facts;
}

static int rerun_differs(struct plan *plan, const struct trial_facts *accepted,
			 const char *difference, struct fault *fault)
{
	unsigned long long of = accepted->rerun_of;

	if (accepted->rerun_changed)
		return text_list_add_format(&plan->notes, "rerun of Trial %llu: %s", of,
					    difference);
	return fault_void(fault, CAUSE_arm_changed, "rerun of Trial %llu: %s", of, difference),
	       fault_hint(fault, "to launch it all the same: trialctl rerun --changed %llu", of);
}

/* 0; FAULT: it is another one once more, and would not be the same. */
static int facts_make(Queue *queue, struct plan *plan, const struct text_list *arguments,
		      const struct sandbox_facts *sandbox, struct start_harnesses *harnesses,
		      const struct trial_facts *accepted, const char *plan_digest,
		      struct trial_facts *ret_facts, struct fault *ret_fault)
{
	_cleanup_free_ char *difference = NULL;
	int r = 0;

	*ret_facts = facts_of(plan, arguments, sandbox, harnesses, accepted);
	if (accepted->has.rerun_of)
		r = frozen_compare(queue, accepted, plan_digest, ret_facts, &difference);
	if (r == 0 && difference)
		r = rerun_differs(plan, accepted, difference, ret_fault);
	ret_facts->notes = plan->notes;
	ret_facts->has.notes = plan->notes.count > 0;
	return r;
}

static int facts_keep(struct trial_work *work, struct start_harnesses *harnesses,
		      const struct trial_facts *accepted, struct fault *ret_fault)
{
	_cleanup_(sandbox_facts_done) struct sandbox_facts sandbox = {0};
	char folder[FOLDER_IDENTITY_BYTES];
	struct trial_facts facts;
	int r = sandbox_facts_make(&sandbox, work->plan);

	if (r == 0)
		r = facts_make(work->trial->queue, work->plan, &work->arguments, &sandbox,
			       harnesses, accepted, work->plan_digest, &facts, ret_fault);
	if (r != 0)
		return r;
	if (work->plan->repository_folder > 0 &&
	    folder_identity(work->plan->descriptors[work->plan->repository_folder - 1], folder) ==
		    0)
		facts.folder = folder;
	facts.has.folder = facts.folder != NULL;
	facts.writable = work->writable;
	facts.has.writable = work->writable.count > 0;
	msgpack_sbuffer_destroy(&work->facts);
	return view_encode(&work->facts, &trial_facts_type, &facts);
}

int start_compare(Queue *queue, const struct launch_request *launch,
		  const struct trial_facts *accepted, struct fault *ret_fault)
{
	_cleanup_(sandbox_facts_done) struct sandbox_facts sandbox = {0};
	struct start_harnesses none = {0};
	struct text_list arguments = {0};
	struct frozen_host storage;
	struct trial_facts facts;
	struct plan *plan = NULL;
	char digest[65];
	int r;

	r = plan_make(&plan, frozen_host(&storage, queue->host, accepted), launch, ret_fault);
	if (r == 0)
		r = plan_bwrap_arguments(plan, queue->host, &arguments);
	if (r == 0)
		r = plan_digest(plan, &arguments, digest);
	if (r == 0)
		r = sandbox_facts_make(&sandbox, plan);
	if (r == 0)
		r = facts_make(queue, plan, &arguments, &sandbox, &none, accepted, digest, &facts,
			       ret_fault);
	text_list_done(&arguments);
	plan_free(plan);
	return r;
}

struct keeper_plan start_keeper_plan(const struct plan *plan, const struct text_list *arguments,
				     bool require_limits)
{
	return (struct keeper_plan){
		.has = {.sandbox = true,
			.descriptors = true,
			.command = true,
			.environment = true,
			.cwd = true,
			.network = true,
			.wall_seconds = plan->limits.has.wall_seconds,
			.grace_seconds = true,
			.output = true,
			.limits = true,
			.asked = plan->asked.count > 0,
			.unchecked = true,
			.stop_signal = plan->stop_signal != 0,
			.keep_home = plan->keep_home,
			.idle_seconds = plan->network == NETWORK_allowlist,
			.expects_network = plan->expects_network,
			.no_sandbox = plan->no_sandbox,
			.judges = plan->judges,
			.session = plan->session_folder > 0,
			.repository = plan->repository_folder > 0,
			.git_folder = plan->git_folder > 0},
		.sandbox = *arguments,
		.descriptors = plan->descriptor_count,
		.command = plan->command,
		.environment = plan->environment,
		.cwd = plan->cwd,
		.network = plan->network,
		.wall_seconds = plan->limits.wall_seconds,
		.grace_seconds = plan->grace_seconds,
		.output = plan->limits.output,
		.limits = plan->limits,
		.asked = plan->asked,
		.unchecked = !require_limits,
		.stop_signal = (uint64_t)plan->stop_signal,
		.repository = plan->repository_folder,
		.git_folder = plan->git_folder,
		.pinned = plan->pinned,
		.home = plan->home,
		.bound_home = plan->bound_home,
		.state = plan->state,
		.login_paths = plan->login_paths,
		.bound = plan->bound,
		.keep_home = plan->keep_home,
		.session = plan->session_folder,
		.hosts = plan->hosts,
		.internal = plan->internal,
		.refusal = plan->refusal,
		.idle_seconds = plan->idle_seconds,
		.expects_network = plan->expects_network,
		.no_sandbox = plan->no_sandbox,
		.judges = plan->judges,
		.answers = plan->answers,
	};
}

/* -EINPROGRESS: its program is being looked at, and it is to be planned again. */
static int start_session(struct trial *trial, const struct launch_request *launch,
			 const struct plan_host *host, const struct trial_facts *accepted,
			 struct trial_harness *ret_harness, struct session_plan *session,
			 struct fault *ret_fault)
{
	_cleanup_(kept_prompt_done) struct kept_prompt kept = KEPT_PROMPT_INIT;
	_cleanup_free_ char *interpreter = NULL;
	_cleanup_close_ int kept_fd = -1;
	int r;

	r = login_bind(trial, launch->harness, NULL, &session->login_fd, ret_fault);
	if (r == FAULT)
		return session_plan_add_program(host, launch, ret_fault);
	if (r == 0)
		r = kept_prompt_open(&kept, trial->queue->trials_fd, trial->id);
	if (r == 0)
		r = arm_look_interpreter(accepted, launch->harness, &interpreter);
	if (r == 0)
		r = session_plan_make(session, host, launch, &kept.prompt, interpreter, ret_fault);
	if (r == -EINPROGRESS && session->harness) {
		r = look_begin(trial, session, ret_fault);
		return r == 0 ? -EINPROGRESS : r;
	}
	if (r == 0)
		r = arm_look_program(accepted, launch->harness, session->digest, ret_fault);
	if (r == 0)
		r = arm_look_hosts(accepted, launch->harness, &session->session.hosts);
	if (r == 0)
		r = frozen_session_hosts(accepted, &session->session.hosts);
	if (r == 0)
		r = login_bind(trial, launch->harness, &session->found, &session->login_fd,
			       ret_fault);
	if (r == 0 && launch->has.of && !launch_judges(launch))
		r = kept_session_open(trial->queue, launch->of, &kept_fd, ret_fault);
	session->kept_fd = kept_fd;
	if (r == 0)
		*ret_harness = start_harness_facts(launch, session);
	return r == 0 ? plan_make_session(&trial->work->plan, host, launch, session,
					  grader_grading(trial), ret_fault)
		      : r;
}

/* Loud: one line in the journal for each. */
static int go_without(struct trial *trial, const struct plan_host *host, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	_cleanup_free_ char *folder = NULL;
	int r;

	if (asprintf(&folder, "%s/%llu", trial->queue->trials_folder,
		     (unsigned long long)trial->id) < 0) {
		folder = NULL;
		return -ENOMEM;
	}
	log_write(LOG_LEVEL_WARNING, LOG_ID_NO_SANDBOX, trial->id,
		  "started without a sandbox (" NO_SANDBOX_TOLD ")");
	text_list_done(&work->arguments);
	r = bare_home_note(trial->queue, trial->id);
	return r < 0 ? r : no_sandbox_apply(work->plan, host, folder, &work->arguments, ret_fault);
}

#define MOVES_MAX 5

/* The lease is of what is there now, also where that was not there when it was asked for. */
static int check_lease(struct trial *trial, const struct launch_request *launch,
		       struct fault *ret_fault)
{
	const struct plan *plan = trial->work->plan;
	int folder = plan->repository_folder > 0 ? plan->descriptors[plan->repository_folder - 1]
						 : -1;
	int r = repository_look_again(trial, launch, folder);

	if (r == -EAGAIN && ++trial->moves > MOVES_MAX)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable,
				  "its repository, or what it has bound, is another one each time "
				  "it is looked at");
	return r;
}

static int start_request(struct trial *trial, const struct launch_request *launch,
			 const struct trial_facts *accepted, struct fault *ret_fault)
{
	_cleanup_(session_plan_done) struct session_plan session = SESSION_PLAN_INIT;
	_cleanup_(arm_known_done) struct arm_known known = {0};
	_cleanup_(runner_plan_done) struct runner_plan runner = {0};
	struct frozen_host storage;
	const struct plan_host *host = frozen_host(&storage, trial->queue->host, accepted);
	struct trial_work *work = trial->work;
	struct start_harnesses harnesses = {0};
	int r = grader_look(trial, launch, accepted, ret_fault);

	if (r == 0)
		r = arm_look(trial, accepted, ret_fault);
	if (r != 0)
		return r;
	if (launch->harness)
		r = start_session(trial, launch, host, accepted, &harnesses.own, &session,
				  ret_fault);
	else if (accepted->arm_id)
		r = start_runner(trial, launch, host, accepted, &known, &runner, &harnesses,
				 ret_fault);
	else
		r = plan_make_session(&work->plan, host, launch, NULL, grader_grading(trial),
				      ret_fault);
	if (r == FAULT)
		r = judged_explain(host, launch, ret_fault);
	if (r == 0)
		r = check_lease(trial, launch, ret_fault);
	if (r == 0)
		r = grader_check_plan(trial, work->plan, ret_fault);
	if (r == 0 && work->arm_note)
		r = text_list_add_format(&work->plan->notes, "the Arm %s has changed: %s",
					 accepted->arm_name, work->arm_note);
	if (r == 0)
		r = plan_bwrap_arguments(work->plan, host, &work->arguments);
	if (r == 0)
		r = plan_digest(work->plan, &work->arguments, work->plan_digest);
	if (r == 0)
		r = writable_keep(work);
	if (r == 0 && host->no_sandbox)
		r = go_without(trial, host, ret_fault);
	return r ? r : facts_keep(work, &harnesses, accepted, ret_fault);
}

static int start_plan(struct trial *trial, const struct blob *spec, const struct blob *facts,
		      struct fault *ret_fault)
{
	struct message *message, *facts_message = NULL;
	struct trial_facts accepted = {0};
	struct launch_request request;
	struct decode_error error;
	int r;

	r = message_parse(&message, spec->data, spec->size);
	if (r < 0)
		return r;
	/* They are what it was accepted with, or of an earlier start, which has that too. */
	if (facts->size && !view_decode(facts, &facts_message, &trial_facts_type, &accepted))
		r = -EBADMSG;
	if (r == 0)
		r = message_decode(message, message_root(message), &launch_request_type,
				   UNKNOWN_KEYS_REFUSED, &request, &error);
	if (r == 0)
		r = start_request(trial, &request, &accepted, ret_fault);
	message_free(facts_message);
	message_free(message);
	return r;
}

void start_prepare(struct trial *trial, const struct blob *spec, const struct blob *facts)
{
	struct trial_work *work = trial->work;

	work->planned = true;
	work->plan_result = start_plan(trial, spec, facts, &work->plan_fault);
}

/* With several logins there is less room for the plan's. */
static int descriptors_check(const struct plan *plan, const struct launch_order *order,
			     struct fault *ret_fault)
{
	size_t most = LAUNCH_DESCRIPTORS(order->lease_count, order->plan.logins);

	if (plan->descriptor_count <= most)
		return 0;
	return fault_void(
		ret_fault, CAUSE_sandbox_unavailable,
		"the sandbox would need %zu descriptors of at most %zu beside %llu logins: "
		"bind fewer paths",
		plan->descriptor_count, most, (unsigned long long)order->plan.logins);
}

int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	struct launch_order order = {.id = row->id, .uuid = row->uuid, .unit = unit};
	bool fits;
	int r;

	if (!work->planned && !work->look_result)
		start_prepare(trial, &row->spec, &row->facts);
	r = work->look_result ?: work->plan_result;
	if (r == FAULT)
		fault_move(ret_fault, work->look_result ? &work->look_fault : &work->plan_fault);
	if (r)
		return r;
	fits = launch_file_fits(trial->queue->trials_fd, row->id);
	order.plan = start_keeper_plan(work->plan, &work->arguments,
				       trial->queue->host->config->require_limits);
	order.descriptors = work->plan->descriptors;
	order.no_prompt = work->plan->prompt_elsewhere;
	login_order(trial, &order);
	r = descriptors_check(work->plan, &order, ret_fault);
	if (r)
		return r;
	order.spare = steal(&work->spare);
	r = launch_new(&work->launch, trial->queue->launcher, &order, watch, trial);
	/*
	 * While its keeper is at work. Without this file the Trial runs all the same; it is only less
	 * well known without its ledger.
	 */
	if (r == 0 && fits)
		launch_file_write(trial->queue->trials_fd, row, work->plan_digest,
				  (struct blob){.data = (const uint8_t *)work->facts.data,
						.size = work->facts.size});
	return r;
}
