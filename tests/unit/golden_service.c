/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* The vectors of pause, resume, drain and prune; golden.c lists them. */

int request_prune(msgpack_sbuffer *buffer)
{
	struct pair labels[] = {{"experiment", "42"}};
	struct prune_request prune = {
		.has = {.older_seconds = true, .keep = true, .total_bytes = true, .dry_run = true},
		.older_seconds = 2592000,
		.keep = 100,
		.total_bytes = 20ull << 30,
		.labels = LIST(labels),
		.dry_run = true,
	};

	return frame_write_request(buffer, 17, VERB_prune, &prune_request_type, &prune);
}

int request_pause(msgpack_sbuffer *buffer)
{
	struct pause_request pause = {.reason = "new login"};

	return frame_write_request(buffer, 14, VERB_pause, &pause_request_type, &pause);
}

int request_resume(msgpack_sbuffer *buffer)
{
	return frame_write_request(buffer, 15, VERB_resume, NULL, NULL);
}

int request_drain(msgpack_sbuffer *buffer)
{
	struct drain_request drain = {.reason = "kernel upgrade"};

	return frame_write_request(buffer, 16, VERB_drain, &drain_request_type, &drain);
}

int reply_prune(msgpack_sbuffer *buffer)
{
	struct prune_reply prune = {
		.has = {.pruned = true, .bytes = true, .left = true},
		.pruned = 17,
		.bytes = 1234567890,
		.left = 1,
	};

	return frame_write_reply(buffer, 17, &prune_reply_type, &prune);
}

int reply_pause(msgpack_sbuffer *buffer)
{
	struct pause_reply pause = {.has = {true, true}, .running = 1, .queued = 5};

	return frame_write_reply(buffer, 14, &pause_reply_type, &pause);
}

int reply_resume(msgpack_sbuffer *buffer)
{
	struct resume_reply resume = {.has = {true, true}, .running = 1, .queued = 5};

	return frame_write_reply(buffer, 15, &resume_reply_type, &resume);
}

int reply_drain(msgpack_sbuffer *buffer)
{
	struct drain_reply drain = {.has = {true, true}, .running = 0, .queued = 5};

	return frame_write_reply(buffer, 16, &drain_reply_type, &drain);
}

int reply_status_paused(msgpack_sbuffer *buffer)
{
	struct status_reply status = {
		.has = {.pid = true,
			.started_at = true,
			.backend = true,
			.disk_bytes = true,
			.max_running = true,
			.queued = true,
			.running = true,
			.ended = true,
			.clients = true,
			.paused = true},
		.program = "trialsd 0.1",
		.pid = 4242,
		.started_at = SUBMITTED - 60 * SECOND,
		.socket = "/run/user/1000/trialsd/socket",
		.state_folder = "/home/ann/.local/state/trialsd",
		.runtime_folder = "/run/user/1000/trialsd",
		.logs_folder = "/home/ann/.local/state/trialsd/trials",
		.backend = BACKEND_systemd,
		.max_running = 2,
		.queued = 5,
		.ended = 6,
		.clients = 1,
		.paused = true,
		.paused_reason = "kernel upgrade",
	};

	return frame_write_reply(buffer, 11, &status_reply_type, &status);
}
