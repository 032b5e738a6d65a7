/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* Vectors of what a Trial may reach, and what it did. */

int request_launch_hosts(msgpack_sbuffer *buffer)
{
	const char *command[] = {"curl", "https://registry.example/"};
	const char *hosts[] = {"registry.example", "*.cdn.example:8443", "[2001:db8::1]:443"};
	struct launch_request launch = {
		.has = {.network = true},
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.hosts = LIST(hosts),
	};

	return frame_write_request(buffer, 45, VERB_launch, &launch_request_type, &launch);
}

int request_logs_network(msgpack_sbuffer *buffer)
{
	struct logs_request logs = {
		.has = {.id = true, .stream = true, .follow = true},
		.id = 7,
		.stream = STREAM_network,
		.follow = true,
	};

	return frame_write_request(buffer, 46, VERB_logs, &logs_request_type, &logs);
}

int reply_show_network(msgpack_sbuffer *buffer)
{
	const char *command[] = {"curl", "https://registry.example/"};
	const char *hosts[] = {"registry.example"};
	const char *addresses[] = {"203.0.113.7", "2001:db8::7"};
	struct trial_connection connections[] = {
		{.has = {true, true, true, true, true, true, true, true},
		 .host = "registry.example",
		 .port = 443,
		 .verdict = VERDICT_allowed,
		 .count = 3,
		 .first_at = SUBMITTED + 2 * SECOND,
		 .sent_bytes = 1200,
		 .received_bytes = 5000000000,
		 .addresses = LIST(addresses)},
		{.has = {.host = true,
			 .port = true,
			 .verdict = true,
			 .first_at = true,
			 .count = true},
		 .host = "telemetry.example",
		 .port = 443,
		 .verdict = VERDICT_not_allowed,
		 .count = 1,
		 .first_at = SUBMITTED + 3 * SECOND},
	};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.outcome = true,
			.connections_more = true,
			.no_network_used = true},
		.id = 7,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
		.state = STATE_ended,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.submitted_at = SUBMITTED,
		.outcome = OUTCOME_delivered,
		.hosts = LIST(hosts),
		.connections = LIST(connections),
		.connections_more = {.has = {true, true, true},
				     .count = 70,
				     .sent_bytes = 7000,
				     .received_bytes = 0},
		.no_network_used = false,
	};

	return frame_write_reply(buffer, 4, &trial_view_type, &trial);
}

/* What of the host a Trial was given: as it was asked for. */
int reply_show_given(msgpack_sbuffer *buffer)
{
	const char *command[] = {"true"};
	const char *names[] = {"LANG", "API_KEY"};
	struct bind_spec binds[] = {
		{.source = "/srv/data"},
		{.has = {.mode = true, .optional = true},
		 .source = "/srv/results",
		 .destination = "/results",
		 .mode = MODE_rw,
		 .optional = true},
	};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true},
		.id = 7,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
		.state = STATE_queued,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_none,
		.submitted_at = SUBMITTED,
		.build = "/srv/build",
		.skills = "/srv/skills",
		.binds = LIST(binds),
		.environment_names = LIST(names),
	};

	return frame_write_reply(buffer, 4, &trial_view_type, &trial);
}

int reply_shutdown_running(msgpack_sbuffer *buffer)
{
	struct shutdown_reply shutdown = {
		.has = {.canceled = true, .running = true, .pid = true},
		.running = 3,
		.pid = 4711,
	};

	return frame_write_reply(buffer, 12, &shutdown_reply_type, &shutdown);
}
