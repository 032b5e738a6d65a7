/* SPDX-License-Identifier: MIT */

/*
 * From a claimed Trial to its launch: the launch as the ledger has it, planned against this host
 * as it is now, in the form its keeper takes. What the plan says is kept for the ledger.
 */
#include "queue/start.h"

#include "queue/kept_session.h"
#include "queue/launch_file.h"
#include "queue/login.h"
#include "queue/look.h"
#include "queue/prompt.h"

#include <stdio.h>
#include <string.h>

void start_done(struct trial_work *work)
{
	fault_done(&work->plan_fault);
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
static struct trial_harness harness_facts(const struct launch_request *launch,
					  const struct session_plan *session)
{
	const struct harness *harness = session->harness;
	const struct program *program = &session->program;

	return (struct trial_harness){
		.has = {.name = true, .of = launch->has.of},
		.name = harness->name,
		.product = harness->program.product,
		.model = launch->model,
		.effort = launch->effort,
		.resume = launch->resume,
		.of = launch->of,
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

/* What its toolchains are; the array is to be freed, all else is the plan's. */
static int toolchain_facts(const struct plan *plan, struct trial_toolchain **ret_toolchains)
{
	*ret_toolchains = calloc(plan->toolchain_count + 1, sizeof(**ret_toolchains));
	if (!*ret_toolchains)
		return -ENOMEM;
	for (size_t i = 0; i < plan->toolchain_count; i++) {
		const struct plan_toolchain *toolchain = &plan->toolchains[i];

		(*ret_toolchains)[i] = (struct trial_toolchain){
			.has = {.name = true, .read_only = true, .path = true, .programs = true},
			.name = toolchain->name,
			.read_only = toolchain->read_only,
			.path = toolchain->path,
			.programs = toolchain->programs,
			.file = toolchain->file,
		};
	}
	return 0;
}

static int facts_keep(struct trial_work *work, const struct trial_harness *harness)
{
	_cleanup_free_ struct trial_toolchain *toolchains = NULL;
	const struct plan *plan = work->plan;
	struct trial_facts facts = {
		.has = {.repository = plan->repository != NULL,
			.network = true,
			.notes = plan->notes.count > 0,
			.plan = true,
			.writable = work->writable.count > 0,
			.wall_seconds = plan->limits.has.wall_seconds,
			.harness = harness->name != NULL,
			.toolchains = plan->toolchain_count > 0,
			.hosts = plan->network == NETWORK_allowlist},
		.hosts = plan->hosts,
		.toolchains = {.count = plan->toolchain_count},
		.harness = *harness,
		.repository = plan->repository,
		.network = plan->network,
		.notes = plan->notes,
		.plan = work->arguments,
		.writable = work->writable,
		.wall_seconds = plan->limits.wall_seconds,
	};

	int r = toolchain_facts(plan, &toolchains);

	if (r < 0)
		return r;
	facts.toolchains.items = toolchains;
	msgpack_sbuffer_destroy(&work->facts);
	return view_encode(&work->facts, &trial_facts_type, &facts);
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
	};
}

/* -EINPROGRESS: its program is being looked at, and it is to be planned again. */
static int start_session(struct trial *trial, const struct launch_request *launch,
			 struct trial_harness *ret_harness, struct session_plan *session,
			 struct fault *ret_fault)
{
	_cleanup_(kept_prompt_done) struct kept_prompt kept = KEPT_PROMPT_INIT;
	_cleanup_close_ int kept_fd = -1;
	const struct plan_host *host = trial->queue->host;
	int r;

	r = login_bind(trial, NULL, &session->login_fd, ret_fault);
	if (r == FAULT)
		return session_plan_add_program(host, launch, ret_fault);
	if (r == 0)
		r = kept_prompt_open(&kept, trial->queue->trials_fd, trial->id);
	if (r == 0)
		r = session_plan_make(session, host, launch, &kept.prompt, ret_fault);
	if (r == -EINPROGRESS && session->harness) {
		r = look_begin(trial, session, ret_fault);
		return r == 0 ? -EINPROGRESS : r;
	}
	if (r == 0)
		r = login_bind(trial, &session->found, &session->login_fd, ret_fault);
	if (r == 0 && launch->has.of)
		r = kept_session_open(trial->queue, launch->of, &kept_fd, ret_fault);
	session->kept_fd = kept_fd;
	if (r == 0)
		*ret_harness = harness_facts(launch, session);
	return r == 0 ? plan_make_session(&trial->work->plan, host, launch, session, ret_fault) : r;
}

static int start_request(struct trial *trial, const struct launch_request *launch,
			 struct fault *ret_fault)
{
	_cleanup_(session_plan_done) struct session_plan session = SESSION_PLAN_INIT;
	const struct plan_host *host = trial->queue->host;
	struct trial_work *work = trial->work;
	struct trial_harness harness = {0};
	int r;

	if (launch->harness)
		r = start_session(trial, launch, &harness, &session, ret_fault);
	else
		r = plan_make(&work->plan, host, launch, ret_fault);
	if (r == 0)
		r = plan_bwrap_arguments(work->plan, host, &work->arguments);
	if (r == 0)
		r = plan_digest(work->plan, &work->arguments, work->plan_digest);
	if (r == 0)
		r = writable_keep(work);
	return r ? r : facts_keep(work, &harness);
}

static int start_plan(struct trial *trial, const struct blob *spec, struct fault *ret_fault)
{
	struct launch_request request;
	struct message *message;
	struct decode_error error;
	int r;

	r = message_parse(&message, spec->data, spec->size);
	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &launch_request_type,
			   UNKNOWN_KEYS_REFUSED, &request, &error);
	if (r == 0)
		r = start_request(trial, &request, ret_fault);
	message_free(message);
	return r;
}

void start_prepare(struct trial *trial, const struct blob *spec)
{
	struct trial_work *work = trial->work;

	work->planned = true;
	work->plan_result = start_plan(trial, spec, &work->plan_fault);
}

int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	struct launch_order order = {.id = row->id, .uuid = row->uuid, .unit = unit};
	bool fits;
	int r;

	if (!work->planned)
		start_prepare(trial, &row->spec);
	r = work->plan_result;
	if (r == FAULT)
		fault_move(ret_fault, &work->plan_fault);
	if (r)
		return r;
	fits = launch_file_fits(trial->queue->trials_fd, row->id);
	order.plan = start_keeper_plan(work->plan, &work->arguments,
				       trial->queue->host->config->require_limits);
	order.descriptors = work->plan->descriptors;
	order.no_prompt = work->plan->prompt_elsewhere;
	order.spare = steal(&work->spare);
	login_order(trial, &order);
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
