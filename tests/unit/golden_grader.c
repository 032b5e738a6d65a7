/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* Graders: one that has said what it made of a result. */

int reply_show_grader(msgpack_sbuffer *buffer)
{
	const char *command[] = {"./judge"};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.outcome = true,
			.ended_by = true,
			.verdict = true,
			.of = true},
		.id = 10,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca429",
		.state = STATE_ended,
		.role = ROLE_grader,
		.command = LIST(command),
		.network = NETWORK_none,
		.submitted_at = SUBMITTED,
		.outcome = OUTCOME_delivered,
		.ended_by = ENDER_agent,
		.verdict = {.has = {.vote = true, .score = true},
			    .vote = VOTE_fail,
			    .score = 0.25,
			    .reason = "its tests do not pass",
			    .family = "openai"},
		.of = 9,
	};

	return frame_write_reply(buffer, 45, &trial_view_type, &trial);
}
