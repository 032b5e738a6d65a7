/* SPDX-License-Identifier: MIT */

/*
 * From a claimed Trial to its launch: the launch as the ledger has it, planned against this host
 * as it is now, in the form its keeper takes. What the plan says is kept for the ledger.
 */
#include "queue/start.h"

#include "queue/queue.h"

#include <stdio.h>
#include <string.h>

void start_done(struct trial_work *work)
{
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

static int facts_keep(struct trial_work *work)
{
	const struct plan *plan = work->plan;
	struct trial_facts facts = {
		.has = {.repository = plan->repository != NULL,
			.network = true,
			.notes = plan->notes.count > 0,
			.plan = true,
			.writable = work->writable.count > 0},
		.repository = plan->repository,
		.network = plan->network,
		.notes = plan->notes,
		.plan = work->arguments,
		.writable = work->writable,
	};

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
			.unchecked = true},
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
	};
}

static int start_plan(struct trial *trial, const struct ledger_row *row, struct fault *ret_fault)
{
	const struct plan_host *host = trial->queue->host;
	struct trial_work *work = trial->work;
	struct launch_request request;
	struct message *message;
	struct decode_error error;
	int r;

	r = message_parse(&message, row->spec.data, row->spec.size);
	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &launch_request_type,
			   UNKNOWN_KEYS_REFUSED, &request, &error);
	if (r == 0)
		r = plan_make(&work->plan, host, &request, ret_fault);
	message_free(message);
	if (r == 0)
		r = plan_bwrap_arguments(work->plan, host, &work->arguments);
	if (r == 0)
		r = plan_digest(work->plan, &work->arguments, work->plan_digest);
	if (r == 0)
		r = writable_keep(work);
	return r ? r : facts_keep(work);
}

int start_launch(struct trial *trial, const struct ledger_row *row, const char *unit,
		 const struct launch_watch *watch, struct fault *ret_fault)
{
	struct trial_work *work = trial->work;
	struct launch_order order = {.id = row->id, .uuid = row->uuid, .unit = unit};
	int r = start_plan(trial, row, ret_fault);

	if (r)
		return r;
	order.plan = start_keeper_plan(work->plan, &work->arguments,
				       trial->queue->host->config->require_limits);
	order.descriptors = work->plan->descriptors;
	return launch_new(&work->launch, trial->queue->launcher, &order, watch, trial);
}
