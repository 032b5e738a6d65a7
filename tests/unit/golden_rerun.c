/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* A Trial that is launched again, and what its sandbox was made of. */

int request_rerun(msgpack_sbuffer *buffer)
{
	struct pair labels[] = {{"again", "1"}};
	struct rerun_request rerun = {
		.has = {.id = true, .changed = true, .priority = true},
		.id = 7,
		.changed = true,
		.labels = LIST(labels),
		.priority = -1,
	};

	return frame_write_request(buffer, 22, VERB_rerun, &rerun_request_type, &rerun);
}

int reply_rerun(msgpack_sbuffer *buffer)
{
	const char *command[] = {"/usr/bin/true"};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.rerun_of = true},
		.id = 8,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
		.state = STATE_queued,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.priority = -1,
		.submitted_at = SUBMITTED,
		.rerun_of = 7,
	};

	return frame_write_reply(buffer, 22, &trial_view_type, &trial);
}

int reply_show_sandbox(msgpack_sbuffer *buffer)
{
	const char *command[] = {"/usr/bin/true"}, *masked[] = {"API_TOKEN"};
	const char *internal[] = {"build.example:8443"};
	struct pair environment[] = {{"HOME", "/home/ada"}, {"API_TOKEN", "(masked)"}};
	struct sandbox_mount mounts[] = {
		{.has = {.kind = true}, .destination = "/proc", .kind = MOUNT_KIND_proc},
		{.has = {.kind = true, .size = true},
		 .destination = "/tmp",
		 .kind = MOUNT_KIND_tmpfs,
		 .size = 1 << 20},
		{.has = {.kind = true, .mode = true},
		 .destination = "/home/ada/work",
		 .kind = MOUNT_KIND_bind,
		 .source = "/srv/work\xff",
		 .mode = MODE_rw},
		{.has = {.kind = true},
		 .destination = "/etc/passwd",
		 .kind = MOUNT_KIND_file,
		 .sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.rerun_of = true,
			.sandbox = true},
		.id = 8,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
		.state = STATE_running,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.submitted_at = SUBMITTED,
		.rerun_of = 7,
		.sandbox = {.has = {.limits = true, .grace_seconds = true, .idle_seconds = true},
			    .internal = LIST(internal),
			    .idle_seconds = 1800,
			    .mounts = LIST(mounts),
			    .command = LIST(command),
			    .cwd = "/home/ada/work",
			    .environment = LIST(environment),
			    .masked = LIST(masked),
			    .limits = {.has = {.memory = true}, .memory = 1ull << 32},
			    .grace_seconds = 10},
	};

	return frame_write_reply(buffer, 4, &trial_view_type, &trial);
}
