/* SPDX-License-Identifier: MIT */
#include "golden.h"

/*
 * The vectors of status, doctor, pause, resume, drain and prune, of what holds the queue, and of a
 * prompt that is a descriptor; golden.c lists them.
 */

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

static struct status_reply paused(void)
{
	return (struct status_reply){
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
}

int reply_status_paused(msgpack_sbuffer *buffer)
{
	struct status_reply status = paused();
	const char *faults[] = {
		"/home/ada/.config/trialsd/providers.conf:4: Familly: there is no such key"};

	status.no_sandbox = status.has.no_sandbox = true;
	status.file_faults = (struct text_list)LIST(faults);
	status.file_faults_hint = "mend the file, then have it read: kill -HUP 4711";
	return frame_write_reply(buffer, 11, &status_reply_type, &status);
}

int reply_status_held(msgpack_sbuffer *buffer)
{
	struct status_reply status = paused();

	status.hold = HOLD_drain;
	status.held_reason = "kernel upgrade";
	status.held_by = "trialctl 0.1, pid 4712";
	status.held_at = SUBMITTED;
	status.held = 5;
	status.ledger =
		"the ledger was corrupt: it was set aside, and rebuilt from what is kept of each Trial";
	status.has.hold = status.has.held_at = status.has.held = true;
	return frame_write_reply(buffer, 20, &status_reply_type, &status);
}

int request_launch_descriptor(msgpack_sbuffer *buffer)
{
	const char *command[] = {"cat"};
	struct launch_request launch = {
		.has = {.prompt_descriptor = true},
		.command = LIST(command),
		.key = "once",
		.prompt_descriptor = true,
	};

	return frame_write_request(buffer, 18, VERB_launch, &launch_request_type, &launch);
}

int reply_show_held(msgpack_sbuffer *buffer)
{
	const char *command[] = {"true"};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.position = true,
			.hold = true,
			.held_at = true},
		.id = 13,
		.uuid = "0b51d5bd-3d3c-4a0f-8fbe-6c3f6a4e1f0d",
		.state = STATE_held,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_none,
		.submitted_at = SUBMITTED,
		.position = 3,
		.waits_for = "the queue is paused: new login",
		.hold = HOLD_pause,
		.held_reason = "new login",
		.held_by = "trialctl 0.1, pid 4711",
		.held_at = SUBMITTED - 5 * SECOND,
	};

	return frame_write_reply(buffer, 19, &trial_view_type, &trial);
}

int reply_watch_held(msgpack_sbuffer *buffer)
{
	struct watch_reply watch = {
		.has = {.number = true, .hold = true, .held_at = true},
		.number = 4711,
		.hold = HOLD_pause,
		.held_reason = "new login",
		.held_by = "trialctl 0.1, pid 4711",
		.held_at = SUBMITTED,
	};

	return frame_write_reply(buffer, 10, &watch_reply_type, &watch);
}

int event_queue_held(msgpack_sbuffer *buffer)
{
	struct queue_event event = {
		.has = {.at = true, .running = true, .queued = true, .hold = true, .held_at = true},
		.at = SUBMITTED + SECOND,
		.running = 1,
		.queued = 5,
		.hold = HOLD_pause,
		.held_reason = "new login",
		.held_by = "trialctl 0.1, pid 4711",
		.held_at = SUBMITTED + SECOND,
	};

	return frame_write_event(buffer, EVENT_queue, 10, &queue_event_type, &event);
}

int event_queue(msgpack_sbuffer *buffer)
{
	struct queue_event event = {
		.has = {.at = true, .running = true, .queued = true},
		.at = SUBMITTED + 2 * SECOND,
		.queued = 6,
	};

	return frame_write_event(buffer, EVENT_queue, 10, &queue_event_type, &event);
}

int reply_status(msgpack_sbuffer *buffer)
{
	struct status_trial trials[] = {
		{.has = {.id = true, .state = true}, .id = 7, .state = STATE_running},
		{.has = {.id = true, .state = true},
		 .id = 8,
		 .state = STATE_queued,
		 .waits_for = "a slot: 1 of 1 in use"},
	};
	struct status_reply status = {
		.has = {.pid = true,
			.started_at = true,
			.backend = true,
			.disk_bytes = true,
			.max_running = true,
			.queued = true,
			.running = true,
			.ended = true,
			.clients = true},
		.program = "trialsd 0.1",
		.pid = 4242,
		.started_at = SUBMITTED - 60 * SECOND,
		.socket = "/run/user/1000/trialsd/socket",
		.state_folder = "/home/ann/.local/state/trialsd",
		.runtime_folder = "/run/user/1000/trialsd",
		.logs_folder = "/home/ann/.local/state/trialsd/trials",
		.backend = BACKEND_none,
		.backend_reason = "there is no user manager: limits are not enforced",
		.unavailable = "bwrap is not installed",
		.disk_bytes = 123456789,
		.max_running = 1,
		.queued = 1,
		.running = 1,
		.ended = 6,
		.clients = 2,
		.trials = LIST(trials),
	};

	return frame_write_reply(buffer, 11, &status_reply_type, &status);
}

int reply_doctor(msgpack_sbuffer *buffer)
{
	struct doctor_check checks[] = {
		{.has = {.state = true},
		 .name = "clock",
		 .proves = "the clock can be trusted with times",
		 .state = CHECK_ok,
		 .message = "2025-01-01 00:00:00 UTC"},
		{.has = {.state = true},
		 .name = "linger",
		 .proves = "Trials outlive the session that launched them",
		 .state = CHECK_warning,
		 .message = "ann has no lingering",
		 .hint = "loginctl enable-linger ann"},
		{.has = {.state = true},
		 .name = "user_namespace",
		 .proves = "a user namespace can be made",
		 .state = CHECK_failed,
		 .message = "user namespaces are switched off: user.max_user_namespaces is 0",
		 .hint = "sudo sysctl -w user.max_user_namespaces=15000"},
		{.has = {.state = true},
		 .name = "pid_namespace",
		 .proves = "a pid namespace can be made",
		 .state = CHECK_not_applicable},
	};
	struct doctor_reply reply = {
		.has = {.launchable = true},
		.program = "trialsd 0.1",
		.launchable = false,
		.message = "user namespaces are switched off: user.max_user_namespaces is 0",
		.hint = "sudo sysctl -w user.max_user_namespaces=15000",
		.checks = LIST(checks),
	};

	return frame_write_reply(buffer, 13, &doctor_reply_type, &reply);
}
