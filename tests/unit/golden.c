/* SPDX-License-Identifier: MIT */
#include "golden.h"

/*
 * The contents of the golden vectors. Every key of every message stands in at least one of them,
 * with values that a daemon could have sent: test_vectors.c holds that against the tables. A
 * vector that a release had is never changed, as clients in other languages read it: add new ones.
 */

/* Requests. */

static int request_hello(msgpack_sbuffer *buffer)
{
	const char *features[] = {"descriptors"};
	struct hello_request hello = {
		.has = {.version = true},
		.version = PROTOCOL_VERSION,
		.program = "trialctl 0.1",
		.features = LIST(features),
	};

	return frame_write_request(buffer, 1, VERB_hello, &hello_request_type, &hello);
}

static int request_launch(msgpack_sbuffer *buffer)
{
	const char *command[] = {"sh", "-c", "make check && git commit -am \"Mended: \xc3\xa4\"",
				 "", "no UTF-8: \xff"};
	struct bind_spec binds[] = {
		{.source = "/srv/data"},
		{.has = {.mode = true, .optional = true},
		 .source = "/srv/\xfe odd\n",
		 .destination = "/data",
		 .mode = MODE_rw,
		 .optional = true},
	};
	const char *toolchains[] = {"rust", "python"};
	struct pair environment[] = {{"LANG", "C.UTF-8"}, {"EMPTY", ""}, {"RAW", "\x80\x81"}};
	struct pair labels[] = {{"experiment", "42"}, {"arm", "caf\xc3\xa9"}};
	struct launch_request launch = {
		.has = {.repository_mode = true,
			.share_repository = true,
			.role = true,
			.network = true,
			.limits = true,
			.priority = true,
			.grace_seconds = true},
		.command = LIST(command),
		.repository = "/home/ann/work/repo",
		.repository_mode = MODE_rw,
		.share_repository = false,
		.cwd = "/home/ann/work/repo/src",
		.role = ROLE_trial,
		.build = "/home/ann/builds/7",
		.skills = "/home/ann/skills",
		.binds = LIST(binds),
		.environment = LIST(environment),
		.network = NETWORK_none,
		.prompt = {(const uint8_t *)"Mend the test.\n\0\xff", 17},
		.limits = {.has = {true, true, true, true, true, true, true, true, true},
			   .wall_seconds = 5400.5,
			   .memory = 4ull << 30,
			   .swap = 0,
			   .tasks = 512,
			   .cpu = 150,
			   .tmp = 1ull << 30,
			   .home = 1ull << 30,
			   .output = 64ull << 20,
			   .stall_seconds = 600.5},
		.labels = LIST(labels),
		.toolchains = LIST(toolchains),
		.key = "experiment-42/arm-3/trial-1",
		.priority = -5,
		.grace_seconds = 2.5,
	};

	return frame_write_request(buffer, 2, VERB_launch, &launch_request_type, &launch);
}

static int request_launch_small(msgpack_sbuffer *buffer)
{
	const char *command[] = {"true"};
	struct launch_request launch = {
		.command = LIST(command),
		.prompt_file = "/home/ann/prompt.txt",
	};

	return frame_write_request(buffer, 3, VERB_launch, &launch_request_type, &launch);
}

static int request_list(msgpack_sbuffer *buffer)
{
	struct pair labels[] = {{"experiment", "42"}};
	struct list_request list = {
		.has = {.state = true,
			.outcome = true,
			.since = true,
			.before = true,
			.limit = true},
		.state = STATE_ended,
		.outcome = OUTCOME_delivered,
		.labels = LIST(labels),
		.since = SUBMITTED,
		.before = 900,
		.limit = 50,
	};

	return frame_write_request(buffer, 4, VERB_list, &list_request_type, &list);
}

static int request_show(msgpack_sbuffer *buffer)
{
	struct show_request show = {.has = {true, true}, .id = 7, .plan = true};

	return frame_write_request(buffer, 5, VERB_show, &show_request_type, &show);
}

static int request_wait(msgpack_sbuffer *buffer)
{
	struct wait_request wait = {.has = {true}, .id = 7};

	return frame_write_request(buffer, 6, VERB_wait, &wait_request_type, &wait);
}

static int request_cancel(msgpack_sbuffer *buffer)
{
	struct cancel_request cancel = {.has = {true, true}, .id = 7, .grace_seconds = 0};

	return frame_write_request(buffer, 7, VERB_cancel, &cancel_request_type, &cancel);
}

static int request_logs(msgpack_sbuffer *buffer)
{
	struct logs_request logs = {
		.has = {.id = true, .stream = true, .offset = true, .follow = true},
		.id = 7,
		.stream = STREAM_stderr,
		.offset = 5000000000,
		.follow = true,
	};

	return frame_write_request(buffer, 8, VERB_logs, &logs_request_type, &logs);
}

static int request_logs_tail(msgpack_sbuffer *buffer)
{
	struct logs_request logs = {.has = {.id = true, .tail = true}, .id = 7, .tail = 100};

	return frame_write_request(buffer, 9, VERB_logs, &logs_request_type, &logs);
}

static int request_watch(msgpack_sbuffer *buffer)
{
	struct watch_request watch = {.has = {.id = true}, .id = 7};

	return frame_write_request(buffer, 10, VERB_watch, &watch_request_type, &watch);
}

static int request_watch_after(msgpack_sbuffer *buffer)
{
	struct watch_request watch = {.has = {.after = true}, .after = 4711};

	return frame_write_request(buffer, 10, VERB_watch, &watch_request_type, &watch);
}

static int request_doctor(msgpack_sbuffer *buffer)
{
	return frame_write_request(buffer, 13, VERB_doctor, NULL, NULL);
}

static int request_list_sizes(msgpack_sbuffer *buffer)
{
	struct list_request list = {.has = {.sizes = true}, .sizes = true};

	return frame_write_request(buffer, 18, VERB_list, &list_request_type, &list);
}

static int request_status(msgpack_sbuffer *buffer)
{
	return frame_write_request(buffer, 11, VERB_status, NULL, NULL);
}

static int request_shutdown(msgpack_sbuffer *buffer)
{
	struct shutdown_request shutdown = {.has = {true}, .cancel = true};

	return frame_write_request(buffer, 12, VERB_shutdown, &shutdown_request_type, &shutdown);
}

/* Trials. */

static const char *trial_command[] = {"sh", "-c", "exec ./agent"};
static struct pair trial_labels[] = {{"experiment", "42"}};
static const char *trial_notes[] = {"the optional bind /srv/data is missing"};

static const struct trial_view queued_trial = {
	.has = {.id = true,
		.state = true,
		.role = true,
		.network = true,
		.priority = true,
		.submitted_at = true,
		.position = true},
	.id = 8,
	.uuid = "6f1d2c9e-58a4-4a3e-9f0b-0c5a6b7d8e9f",
	.state = STATE_queued,
	.role = ROLE_grader,
	.command = LIST(trial_command),
	.network = NETWORK_none,
	.priority = 0,
	.submitted_at = SUBMITTED + SECOND,
	.position = 1,
	.waits_for = "the repository /home/ann/work/repo, which Trial 7 writes to",
};

static struct limit_state trial_limits[] = {
	{.has = {.asked = true, .enforced = true},
	 .name = "memory",
	 .asked = 4294967296.0,
	 .enforced = true},
	{.has = {.asked = true, .by_default = true, .enforced = true},
	 .name = "wall_seconds",
	 .asked = 7200,
	 .by_default = true,
	 .enforced = false},
};

static struct log_state trial_logs[] = {
	{.has = {.stream = true, .bytes = true, .kept = true},
	 .stream = STREAM_stdout,
	 .bytes = 100000000,
	 .kept = 67108864,
	 .path = "/home/ann/.local/state/trialsd/trials/7/stdout"},
	{.has = {.stream = true, .bytes = true, .kept = true}, .stream = STREAM_stderr},
};

static struct git_change trial_git_changes[] = {
	{.has = {true, true}, .path = ".git/config", .change = "changed"},
	{.has = {true, true}, .path = ".git/hooks/post-checkout", .change = "added"},
};

static const char *rust_places[] = {"/home/ann/.rustup/toolchains/stable-x86_64-unknown-linux-gnu"};
static const char *rust_path[] = {
	"/home/ann/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin"};
static const char *rust_programs[] = {
	"/home/ann/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/cargo"};

static struct trial_toolchain trial_toolchains[] = {
	{.has = {true, true, true, true, true},
	 .name = "rust",
	 .read_only = LIST(rust_places),
	 .path = LIST(rust_path),
	 .programs = LIST(rust_programs),
	 .file = "/usr/lib/trialsd/toolchains.conf"},
	{.has = {.name = true}, .name = "python"},
};

static struct login_outcome trial_logins[] = {
	{.harness = "codex",
	 .state = "suspect",
	 .reason = "the copy is empty",
	 .has = {.refreshed_at = true, .ends_at = true},
	 .refreshed_at = SUBMITTED + 3 * SECOND,
	 .ends_at = SUBMITTED + 3600 * SECOND},
};

static const char *trial_kept_examples[] = {".codex/auth.json", "link"};
static struct kept trial_kept[] = {
	{.what = "session",
	 .state = "whole",
	 .has = {.bytes = true, .files = true, .left_out = true},
	 .bytes = 81920,
	 .files = 2},
	{.what = "home",
	 .state = "cut",
	 .has = {.bytes = true, .files = true, .left_out = true},
	 .bytes = 536870912,
	 .files = 1200,
	 .left_out = 2,
	 .examples = LIST(trial_kept_examples),
	 .reason = "what is too large, too deep or too much was left out"},
};

#define ENDED_HAS                                                                                  \
	.id = true, .state = true, .role = true, .repository_mode = true, .network = true,         \
	.backend = true, .priority = true, .submitted_at = true, .outcome = true,                  \
	.ended_by = true, .started_at = true, .ended_at = true, .wall_seconds = true,              \
	.boot_seconds = true, .cpu_seconds = true, .cpu_user_seconds = true,                       \
	.cpu_system_seconds = true, .memory_peak = true, .tasks_peak = true,                       \
	.io_read_bytes = true, .io_write_bytes = true, .oom_kills = true, .task_limit_hits = true, \
	.boundary = true

#define ENDED                                                                                      \
	.id = 7, .uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", .state = STATE_ended,             \
	.role = ROLE_trial, .command = LIST(trial_command), .repository = "/home/ann/work/repo",   \
	.repository_mode = MODE_rw, .cwd = "/home/ann/work/repo", .network = NETWORK_none,         \
	.backend = BACKEND_systemd, .labels = LIST(trial_labels),                                  \
	.key = "experiment-42/arm-3/trial-1", .priority = -5, .submitted_at = SUBMITTED,           \
	.unit = "trial-1b4e28ba-2fa1-41d2-883f-0016d3cca427.scope",                                \
	.folder = "/home/ann/.local/state/trialsd/trials/7", .notes = LIST(trial_notes),           \
	.plan_digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",         \
	.started_at = SUBMITTED + SECOND / 2, .ended_at = SUBMITTED + 90 * SECOND,                 \
	.wall_seconds = 89.5, .boot_seconds = 3689.5, .cpu_seconds = 12.25,                        \
	.cpu_user_seconds = 10, .cpu_system_seconds = 2.25, .memory_peak = 734003200,              \
	.tasks_peak = 23, .io_read_bytes = 4096, .io_write_bytes = 81920, .oom_kills = 0,          \
	.task_limit_hits = 2, .limits = LIST(trial_limits), .logs = LIST(trial_logs),              \
	.commit = "9fceb02d0ae598e95dc970b74767f19372d61af8",                                      \
	.git_changes = LIST(trial_git_changes), .logins = LIST(trial_logins),                      \
	.toolchains = LIST(trial_toolchains), .kept = LIST(trial_kept),                            \
	.boundary = {.has = {true, true, true, true, true, true, true, true, true, true, true},    \
		     .pid = 1,                                                                     \
		     .own_user = true,                                                             \
		     .own_mount = true,                                                            \
		     .own_pid = true,                                                              \
		     .own_ipc = true,                                                              \
		     .own_uts = true,                                                              \
		     .own_cgroup = true,                                                           \
		     .own_network = true,                                                          \
		     .no_new_privileges = true,                                                    \
		     .seccomp = true,                                                              \
		     .capabilities = 0}

static const struct trial_view delivered_trial = {
	.has = {ENDED_HAS, .exit_code = true},
	ENDED,
	.outcome = OUTCOME_delivered,
	.ended_by = ENDER_agent,
	.exit_code = 0,
};

static const struct trial_view canceled_trial = {
	.has = {ENDED_HAS, .exit_signal = true},
	ENDED,
	.outcome = OUTCOME_canceled,
	.ended_by = ENDER_client,
	.exit_signal = 15,
	.canceled_by = "trialctl 0.1 (pid 4711)",
	.message = "canceled by a client",
};

static const struct trial_view void_trial = {
	.has = {.id = true,
		.state = true,
		.role = true,
		.network = true,
		.priority = true,
		.submitted_at = true,
		.outcome = true,
		.cause = true,
		.ended_by = true,
		.ended_at = true},
	.id = 9,
	.uuid = "0e6f9a1c-7b3d-4c2e-8a5f-1d2c3b4a5e6f",
	.state = STATE_ended,
	.role = ROLE_trial,
	.network = NETWORK_host,
	.priority = 0,
	.submitted_at = SUBMITTED,
	.outcome = OUTCOME_void,
	.cause = CAUSE_sandbox_unavailable,
	.ended_by = ENDER_keeper,
	.ended_at = SUBMITTED + SECOND,
	.message = "user namespaces are not allowed here",
	.hint = "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
};

/* Replies. */

static int reply_hello(msgpack_sbuffer *buffer)
{
	const char *features[] = {"descriptors"};
	struct hello_reply hello = {
		.has = {.version = true},
		.version = PROTOCOL_VERSION,
		.program = "trialsd 0.1",
		.features = LIST(features),
	};

	return frame_write_reply(buffer, 1, &hello_reply_type, &hello);
}

static int reply_launch(msgpack_sbuffer *buffer)
{
	return frame_write_reply(buffer, 2, &trial_view_type, &queued_trial);
}

static int reply_list(msgpack_sbuffer *buffer)
{
	struct trial_view trials[] = {void_trial, delivered_trial};
	struct list_reply list = {.has = {.cursor = true}, .trials = LIST(trials), .cursor = 7};

	return frame_write_reply(buffer, 4, &list_reply_type, &list);
}

static int reply_list_empty(msgpack_sbuffer *buffer)
{
	struct list_reply list = {0};

	return frame_write_reply(buffer, 4, &list_reply_type, &list);
}

static int reply_show(msgpack_sbuffer *buffer)
{
	const char *plan[] = {"--unshare-all", "--bind", "/srv/\xfe odd", "/data"};
	struct trial_view trial = delivered_trial;

	trial.plan = (struct text_list)LIST(plan);
	return frame_write_reply(buffer, 5, &trial_view_type, &trial);
}

static int reply_wait(msgpack_sbuffer *buffer)
{
	return frame_write_reply(buffer, 6, &trial_view_type, &void_trial);
}

static int reply_cancel(msgpack_sbuffer *buffer)
{
	return frame_write_reply(buffer, 7, &trial_view_type, &canceled_trial);
}

static int reply_logs(msgpack_sbuffer *buffer)
{
	struct logs_reply logs = {.has = {true}, .offset = 5000000000};

	return frame_write_reply(buffer, 8, &logs_reply_type, &logs);
}

static int reply_watch(msgpack_sbuffer *buffer)
{
	return frame_write_reply(buffer, 10, NULL, NULL);
}

static int reply_watch_number(msgpack_sbuffer *buffer)
{
	struct watch_reply watch = {.has = {.number = true}, .number = 4713};

	return frame_write_reply(buffer, 10, &watch_reply_type, &watch);
}

static int reply_list_sizes(msgpack_sbuffer *buffer)
{
	struct trial_view trials[] = {void_trial};
	struct list_reply list = {.trials = LIST(trials)};

	trials[0].disk_bytes = 81920;
	trials[0].has.disk_bytes = true;
	return frame_write_reply(buffer, 18, &list_reply_type, &list);
}

static int reply_shutdown(msgpack_sbuffer *buffer)
{
	struct shutdown_reply shutdown = {.has = {.canceled = true}, .canceled = 2};

	return frame_write_reply(buffer, 12, &shutdown_reply_type, &shutdown);
}

/* Errors. */

static int error(msgpack_sbuffer *buffer)
{
	struct error_body body = {
		.code = "unavailable",
		.message = "no sandbox can be built: bwrap is not installed",
		.hint = "sudo apt install bubblewrap",
	};

	return frame_write_error(buffer, 2, &body);
}

static int error_without_hint(msgpack_sbuffer *buffer)
{
	struct error_body body = {
		.code = "invalid",
		.message = "binds[2].mode: must be one of ro, rw",
	};

	return frame_write_error(buffer, 2, &body);
}

static int error_without_number(msgpack_sbuffer *buffer)
{
	struct error_body body = {
		.code = "bad_request",
		.message = "frame: must have exactly one of verb, reply, event",
	};

	return frame_write_error(buffer, 0, &body);
}

/* Events. */

static int event_state(msgpack_sbuffer *buffer)
{
	struct state_event state = {.has = {.trial = true, .before = true},
				    .trial = canceled_trial,
				    .before = STATE_ending};

	return frame_write_event(buffer, EVENT_state, 10, &state_event_type, &state);
}

/* A change of the past: the Trial is further on. */
static int event_state_number(msgpack_sbuffer *buffer)
{
	struct state_event state = {
		.has = {.trial = true, .before = true, .number = true, .at = true, .state = true},
		.trial = delivered_trial,
		.before = STATE_starting,
		.number = 4712,
		.at = SUBMITTED + SECOND / 2,
		.state = STATE_running,
	};

	return frame_write_event(buffer, EVENT_state, 10, &state_event_type, &state);
}

static int event_caught_up(msgpack_sbuffer *buffer)
{
	struct caught_up_event event = {.has = {.number = true}, .number = 4713};

	return frame_write_event(buffer, EVENT_caught_up, 10, &caught_up_event_type, &event);
}

static int event_log(msgpack_sbuffer *buffer)
{
	struct log_event log = {
		.has = {true, true},
		.offset = 5000000000,
		.data = {(const uint8_t *)"\x1b[1mFAIL\x1b[0m \xff\0\n", 16},
	};

	return frame_write_event(buffer, EVENT_log, 8, &log_event_type, &log);
}

static int event_gap(msgpack_sbuffer *buffer)
{
	struct gap_event gap = {.has = {true, true}, .from = 33554432, .to = 66445568};

	return frame_write_event(buffer, EVENT_gap, 8, &gap_event_type, &gap);
}

static int event_log_end(msgpack_sbuffer *buffer)
{
	struct log_end_event end = {.has = {true}, .offset = 5000000016};

	return frame_write_event(buffer, EVENT_log_end, 8, &log_end_event_type, &end);
}

const struct golden goldens[] = {
	{"request-hello", &hello_request_type, request_hello},
	{"request-launch", &launch_request_type, request_launch},
	{"request-launch-small", &launch_request_type, request_launch_small},
	{"request-rerun", &rerun_request_type, request_rerun},
	{"reply-rerun", &trial_view_type, reply_rerun},
	{"reply-show-sandbox", &trial_view_type, reply_show_sandbox},
	{"request-list", &list_request_type, request_list},
	{"request-show", &show_request_type, request_show},
	{"request-wait", &wait_request_type, request_wait},
	{"request-cancel", &cancel_request_type, request_cancel},
	{"request-logs", &logs_request_type, request_logs},
	{"request-logs-tail", &logs_request_type, request_logs_tail},
	{"request-launch-hosts", &launch_request_type, request_launch_hosts},
	{"request-logs-network", &logs_request_type, request_logs_network},
	{"reply-show-network", &trial_view_type, reply_show_network},
	{"reply-show-given", &trial_view_type, reply_show_given},
	{"reply-shutdown-running", &shutdown_reply_type, reply_shutdown_running},
	{"request-watch", &watch_request_type, request_watch},
	{"request-watch-after", &watch_request_type, request_watch_after},
	{"request-doctor", &doctor_request_type, request_doctor},
	{"request-prune", &prune_request_type, request_prune},
	{"request-list-sizes", &list_request_type, request_list_sizes},
	{"request-pause", &pause_request_type, request_pause},
	{"request-resume", &resume_request_type, request_resume},
	{"request-drain", &drain_request_type, request_drain},
	{"request-launch-descriptor", &launch_request_type, request_launch_descriptor},
	{"request-launch-harness", &launch_request_type, request_launch_harness},
	{"request-harness", &harness_request_type, request_harness},
	{"request-logins", &logins_request_type, request_logins},
	{"request-login_restore", &login_restore_request_type, request_login_restore},
	{"request-launch-arm", &launch_request_type, request_launch_arm},
	{"reply-launch-arm", &trial_view_type, reply_launch_arm},
	{"request-arm_prepare", &arm_prepare_request_type, request_arm_prepare},
	{"request-arm_prepare-harness", &arm_prepare_request_type, request_arm_prepare_harness},
	{"request-arm_list", &arm_list_request_type, request_arm_list},
	{"request-arm_show", &arm_show_request_type, request_arm_show},
	{"request-arm_verify", &arm_verify_request_type, request_arm_verify},
	{"request-arm_diff", &arm_diff_request_type, request_arm_diff},
	{"reply-arm_prepare", &arm_prepare_reply_type, reply_arm_prepare},
	{"reply-arm_list", &arm_list_reply_type, reply_arm_list},
	{"reply-arm_show", &arm_show_reply_type, reply_arm_show},
	{"reply-arm_verify", &arm_verify_reply_type, reply_arm_verify},
	{"reply-arm_diff", &arm_diff_reply_type, reply_arm_diff},
	{"request-arm_remove", &arm_remove_request_type, request_arm_remove},
	{"reply-arm_remove", &arm_remove_reply_type, reply_arm_remove},
	{"request-launch-bar", &launch_request_type, request_launch_bar},
	{"reply-launch-bar", &trial_view_type, reply_launch_bar},
	{"reply-show-grader", &trial_view_type, reply_show_grader},
	{"request-bar_set", &bar_set_request_type, request_bar_set},
	{"request-bar_list", &bar_list_request_type, request_bar_list},
	{"request-bar_show", &bar_show_request_type, request_bar_show},
	{"request-panel_check", &panel_check_request_type, request_panel_check},
	{"reply-bar_set", &bar_set_reply_type, reply_bar_set},
	{"reply-bar_list", &bar_list_reply_type, reply_bar_list},
	{"reply-bar_show", &bar_show_reply_type, reply_bar_show},
	{"reply-panel_check", &panel_check_reply_type, reply_panel_check},
	{"request-status", &status_request_type, request_status},
	{"request-shutdown", &shutdown_request_type, request_shutdown},
	{"reply-hello", &hello_reply_type, reply_hello},
	{"reply-launch", &trial_view_type, reply_launch},
	{"reply-list", &list_reply_type, reply_list},
	{"reply-list-empty", &list_reply_type, reply_list_empty},
	{"reply-show", &trial_view_type, reply_show},
	{"reply-wait", &trial_view_type, reply_wait},
	{"reply-cancel", &trial_view_type, reply_cancel},
	{"reply-logs", &logs_reply_type, reply_logs},
	{"reply-watch", &watch_reply_type, reply_watch},
	{"reply-watch-number", &watch_reply_type, reply_watch_number},
	{"reply-status", &status_reply_type, reply_status},
	{"reply-doctor", &doctor_reply_type, reply_doctor},
	{"reply-prune", &prune_reply_type, reply_prune},
	{"reply-list-sizes", &list_reply_type, reply_list_sizes},
	{"reply-pause", &pause_reply_type, reply_pause},
	{"reply-resume", &resume_reply_type, reply_resume},
	{"reply-drain", &drain_reply_type, reply_drain},
	{"reply-harness", &harness_reply_type, reply_harness},
	{"reply-logins", &logins_reply_type, reply_logins},
	{"reply-login_restore", &login_restore_reply_type, reply_login_restore},
	{"reply-show-harness", &trial_view_type, reply_show_harness},
	{"reply-status-paused", &status_reply_type, reply_status_paused},
	{"reply-show-held", &trial_view_type, reply_show_held},
	{"reply-status-held", &status_reply_type, reply_status_held},
	{"reply-watch-held", &watch_reply_type, reply_watch_held},
	{"reply-shutdown", &shutdown_reply_type, reply_shutdown},
	{"error", NULL, error},
	{"error-without-hint", NULL, error_without_hint},
	{"error-without-number", NULL, error_without_number},
	{"event-state", &state_event_type, event_state},
	{"event-state-number", &state_event_type, event_state_number},
	{"event-caught_up", &caught_up_event_type, event_caught_up},
	{"event-queue", &queue_event_type, event_queue},
	{"event-queue-held", &queue_event_type, event_queue_held},
	{"event-log", &log_event_type, event_log},
	{"event-gap", &gap_event_type, event_gap},
	{"event-log_end", &log_end_event_type, event_log_end},
};
const size_t golden_count = sizeof(goldens) / sizeof(goldens[0]);
