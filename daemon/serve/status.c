/* SPDX-License-Identifier: MIT */

/*
 * The status verb: what this daemon is, where it keeps things, what it does. What the state folder
 * takes on disk is counted on a thread of the pool, by descriptors, so that a large folder never
 * holds up the loop.
 */
#include "serve/request.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 16 /* our own folders are three deep */

struct status {
	uv_work_t work;
	struct request *request;
	uint64_t disk_bytes;
	uint64_t ended;
};

static uint64_t disk_bytes(int parent, const char *name, unsigned int depth)
{
	struct stat st;
	struct dirent *entry;
	uint64_t total;
	DIR *folder;
	int fd;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	total = (uint64_t)st.st_blocks * 512u;
	if (!S_ISDIR(st.st_mode) || depth == 0)
		return total;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		fd_close(fd);
		return total;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			total += disk_bytes(dirfd(folder), entry->d_name, depth - 1);
	closedir(folder);
	return total;
}

static void status_work(uv_work_t *work)
{
	struct status *status = container_of(work, struct status, work);
	const struct plan_host *host = status->request->session->server->options.host;

	status->disk_bytes = disk_bytes(AT_FDCWD, host->state_folder, DEPTH_MAX);
}

static size_t status_trials(Queue *queue, struct status_trial *trials,
			    char (*reasons)[QUEUE_REASON_BYTES], size_t most)
{
	struct trial *trial;
	size_t count = 0;

	for (trial = queue_first(queue); trial && count < most; trial = queue_next(trial)) {
		struct status_trial *view = &trials[count];

		view->id = trial->id;
		view->state = trial->state;
		view->waits_for = queue_waits_for(queue, trial, reasons[count++]);
		view->has.id = view->has.state = true;
		view->has.waits_for = view->waits_for != NULL;
	}
	return count;
}

static void status_reply(struct status *status)
{
	struct request *request = status->request;
	Server *server = request->session->server;
	const struct server_options *options = &server->options;
	const struct fault *unavailable = launcher_unavailable(options->launcher);
	const char *reason = launcher_backend_reason(options->launcher);
	static struct status_trial trials[LIST_PAGE_MAX];
	static char reasons[LIST_PAGE_MAX][QUEUE_REASON_BYTES];
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
			.unavailable = unavailable != NULL,
			.disk_bytes = true,
			.max_running = true,
			.queued = true,
			.running = true,
			.ended = true,
			.clients = true,
			.trials = true},
		.program = PROGRAM,
		.pid = (uint64_t)getpid(),
		.started_at = server->started_at,
		.socket = server->socket_path,
		.state_folder = options->host->state_folder,
		.runtime_folder = options->host->runtime_folder,
		.logs_folder = queue_trials_folder(options->queue),
		.backend = launcher_backend(options->launcher),
		.backend_reason = reason,
		.unavailable = unavailable ? unavailable->message : NULL,
		.disk_bytes = status->disk_bytes,
		.max_running = options->host->config->max_running,
		.queued = queue_waiting(options->queue),
		.running = queue_slots_used(options->queue),
		.ended = status->ended,
		.clients = server->clients,
	};

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
