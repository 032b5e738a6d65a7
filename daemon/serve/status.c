/* SPDX-License-Identifier: MIT */

/*
 * The status verb: what this daemon is, where it keeps things, what it does. What the state folder
 * takes on disk is counted on a thread of the pool, by descriptors, so that a large folder never
 * holds up the loop.
 */
#include "serve/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/disk.h"
#include "base/reload.h"

struct status {
	uv_work_t work;
	struct request *request;
	uint64_t disk_bytes;
	uint64_t ended;
};

static void status_work(uv_work_t *work)
{
	struct status *status = container_of(work, struct status, work);
	const struct plan_host *host = status->request->session->server->options.host;

	status->disk_bytes = disk_bytes(AT_FDCWD, host->state_folder);
}

static size_t status_trials(Queue *queue, struct status_trial *trials,
			    char (*reasons)[QUEUE_REASON_BYTES], size_t most)
{
	struct trial *trial;
	size_t count = 0;

	for (trial = queue_first(queue); trial && count < most; trial = queue_next(trial)) {
		struct status_trial *view = &trials[count];
		char *reason = reasons[count++];
		struct queue_hold hold;

		view->id = trial->id;
		view->state = queue_held(queue, trial, reason, &hold) ? STATE_held : trial->state;
		view->waits_for = queue_waits_for(queue, trial, reason);
		view->has.id = view->has.state = true;
		view->has.waits_for = view->waits_for != NULL;
	}
	return count;
}

static const char *mend_files(char *hint, size_t size)
{
	char command[RELOAD_COMMAND_BYTES];

	snprintf(hint, size, "mend the file, then have it read: %s",
		 reload_command(getpid(), command));
	return hint;
}

/* Why nothing is started, where it is not the launcher that says so: *space is filled in. */
static const char *unavailable_for(const struct server_options *options, struct fault *ledger,
				   char space[QUEUE_REASON_BYTES])
{
	const struct fault *unavailable = launcher_unavailable(options->launcher);

	if (ledger_fault(options->ledger, 0, ledger) == FAULT)
		return ledger->message;
	if (unavailable)
		return unavailable->message;
	return queue_is_short(options->queue, space) ? space : NULL;
}

static void status_reply(struct status *status)
{
	struct request *request = status->request;
	Server *server = request->session->server;
	const struct server_options *options = &server->options;
	const char *reason = launcher_backend_reason(options->launcher);
	static struct status_trial trials[LIST_PAGE_MAX];
	static char reasons[LIST_PAGE_MAX][QUEUE_REASON_BYTES];
	char space[QUEUE_REASON_BYTES], hint[RELOAD_COMMAND_BYTES + 64];
	struct status_reply reply = {
		.has = {.program = true,
			.pid = true,
			.started_at = true,
			.socket = true,
			.state_folder = true,
			.runtime_folder = true,
			.logs_folder = true,
			.backend = true,
			.backend_reason = reason != NULL,
			.disk_bytes = true,
			.max_running = true,
			.queued = true,
			.running = true,
			.ended = true,
			.clients = true,
			.trials = true,
			.paused = true,
			.held = true},
		.program = PROGRAM,
		.pid = (uint64_t)getpid(),
		.started_at = server->started_at,
		.socket = server->socket_path,
		.state_folder = options->host->state_folder,
		.runtime_folder = options->host->runtime_folder,
		.logs_folder = queue_trials_folder(options->queue),
		.backend = launcher_backend(options->launcher),
		.backend_reason = reason,
		.disk_bytes = status->disk_bytes,
		.max_running = options->host->config->max_running,
		.queued = queue_waiting(options->queue),
		.running = queue_slots_used(options->queue),
		.ended = status->ended,
		.clients = server->clients,
		.paused = queue_paused_reason(options->queue) != NULL,
		.paused_reason = queue_paused_reason(options->queue),
	};
	_cleanup_fault_ struct fault ledger = FAULT_INIT;
	struct queue_hold hold;

	reply.no_sandbox = reply.has.no_sandbox = options->host->no_sandbox;
	reply.file_faults = options->host->file_faults;
	if (reply.file_faults.count > 0)
		reply.file_faults_hint = mend_files(hint, sizeof(hint));
	reply.ledger = ledger_note(options->ledger, NULL);
	reply.unavailable = unavailable_for(options, &ledger, space);
	reply.has.unavailable = reply.unavailable != NULL;
	if (reply.paused_reason && !*reply.paused_reason)
		reply.paused_reason = NULL;
	if (queue_hold(options->queue, &hold)) {
		view_add_hold(&reply, &hold);
		reply.held = reply.queued;
	}
	memset(trials, 0, sizeof(trials));
	reply.trials.items = trials;
	reply.trials.count = status_trials(options->queue, trials, reasons, LIST_PAGE_MAX);
	session_reply(request->session, request->number, &status_reply_type, &reply);
}

static void on_status_counted(uv_work_t *work, int result)
{
	struct status *status = container_of(work, struct status, work);

	(void)result;
	status_reply(status);
	request_done(status->request);
	free(status);
}

static void on_ended_counted(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);
	struct status *status;

	if (request_ledger_failed(request))
		return;
	status = calloc(1, sizeof(*status));
	if (!status) {
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
		return;
	}
	status->request = request;
	status->ended = call->number;
	if (uv_queue_work(request->session->server->loop, &status->work, status_work,
			  on_status_counted) < 0) {
		free(status);
		request_refuse(request, ERROR_internal, "no thread to count on", NULL);
	}
}

void handle_status(struct request *request, const void *arguments)
{
	(void)arguments;
	request->call.done = on_ended_counted;
	ledger_count_ended(request->session->server->options.ledger, &request->call);
}
