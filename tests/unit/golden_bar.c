/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* Bars, and what they come to for an Arm. */

#define BAR_ID "3c9d1b0e9a8d7c6b5a49382716f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4c1"
#define ARM_ID "5f2b1c0e9a8d7c6b5a49382716f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3"

int request_bar_set(msgpack_sbuffer *buffer)
{
	struct bar_seat seats[] = {
		{.harness = "codex", .model = "gpt-5", .effort = "high"},
		{.name = "moon", .harness = "kimi", .model = "kimi-k2", .provider = "fireworks"},
		{.name = "mine", .arm = "5f2b1c0e"},
	};
	struct bar_seat stand_ins[] = {{.harness = "opencode", .model = "x/y", .family = "y"}};
	struct bar_set_request set = {
		.has = {.spec = true},
		.spec = {.has = {.votes = true, .breadth = true},
			 .name = "quality",
			 .standard = "It must build.\nIts tests must pass.\n",
			 .votes = 2,
			 .breadth = 2,
			 .seats = LIST(seats),
			 .stand_ins = LIST(stand_ins)},
	};

	return frame_write_request(buffer, 40, VERB_bar_set, &bar_set_request_type, &set);
}

int request_bar_list(msgpack_sbuffer *buffer)
{
	struct bar_list_request list = {.has = {.limit = true}, .after = "quality", .limit = 7};

	return frame_write_request(buffer, 41, VERB_bar_list, &bar_list_request_type, &list);
}

int request_bar_show(msgpack_sbuffer *buffer)
{
	struct bar_show_request show = {.name = "quality"};

	return frame_write_request(buffer, 42, VERB_bar_show, &bar_show_request_type, &show);
}

int request_panel_check(msgpack_sbuffer *buffer)
{
	const char *arms[] = {"5f2b1c0e", ARM_ID};
	struct panel_check_request check = {.bar = "quality", .arms = LIST(arms)};

	return frame_write_request(buffer, 43, VERB_panel_check, &panel_check_request_type, &check);
}

static const char *openai[] = {"openai"}, *moonshot[] = {"moonshot"};
static const char *both[] = {"meta", "moonshot"};

static struct bar_view old(struct bar_seat_list seats)
{
	return (struct bar_view){
		.has = {.created_at = true,
			.existed = true,
			.used = true,
			.used_at = true,
			.legacy = true,
			.votes = true,
			.breadth = true},
		.name = "old",
		.id = BAR_ID,
		.created_at = SUBMITTED,
		.used = true,
		.used_at = SUBMITTED + 1,
		.legacy = true,
		.votes = 1,
		.breadth = 1,
		.seats = seats,
		.stand_ins = seats,
		.standard = "It must build.\n",
	};
}

int reply_bar_set(msgpack_sbuffer *buffer)
{
	struct bar_seat seats[] = {
		{.name = "codex", .harness = "codex", .families = LIST(openai)},
		{.name = "mine", .arm = ARM_ID, .families = LIST(both), .arm_name = "reviewer"},
	};
	struct bar_seat stand_ins[] = {
		{.name = "moon", .harness = "kimi", .families = LIST(moonshot)}};
	const char *warnings[] = {"whose model kimi will use is not known"};
	struct bar_view set = {
		.has = {.created_at = true,
			.existed = true,
			.used = true,
			.used_at = true,
			.legacy = true,
			.votes = true,
			.breadth = true},
		.name = "quality",
		.id = BAR_ID,
		.created_at = SUBMITTED,
		.existed = true,
		.used = true,
		.used_at = SUBMITTED + 1,
		.votes = 2,
		.breadth = 1,
		.seats = LIST(seats),
		.stand_ins = LIST(stand_ins),
		.standard = "It must build.\n",
		.warnings = LIST(warnings),
	};

	return frame_write_reply(buffer, 40, &bar_set_reply_type, &set);
}

int reply_bar_list(msgpack_sbuffer *buffer)
{
	const char *damaged[] = {"what is kept of it is damaged"};
	struct bar_seat seats[] = {{.name = "codex", .harness = "codex", .families = LIST(openai)}};
	struct bar_view views[] = {
		old((struct bar_seat_list)LIST(seats)),
		{.name = "quality", .warnings = LIST(damaged)},
	};
	struct bar_list_reply list = {.bars = LIST(views), .cursor = "quality"};

	return frame_write_reply(buffer, 41, &bar_list_reply_type, &list);
}

int reply_bar_show(msgpack_sbuffer *buffer)
{
	const char *warnings[] = {"it is of an older form"};
	struct bar_seat seats[] = {{.name = "codex", .harness = "codex", .families = LIST(openai)}};
	struct bar_view shown = old((struct bar_seat_list)LIST(seats));

	shown.warnings = (struct text_list)LIST(warnings);
	return frame_write_reply(buffer, 42, &bar_show_reply_type, &shown);
}

int reply_panel_check(msgpack_sbuffer *buffer)
{
	struct panel_seat seats[] = {
		{.has = {.withheld = true},
		 .seat = "codex",
		 .harness = "codex",
		 .model = "gpt-5",
		 .families = LIST(openai)},
		{.has = {.withheld = true},
		 .seat = "mine",
		 .arm = ARM_ID,
		 .families = LIST(both),
		 .withheld = true,
		 .because = LIST(moonshot),
		 .stand_in = "glm",
		 .stand_in_families = LIST(openai),
		 .arm_name = "reviewer"},
	};
	const char *voters[] = {"codex", "glm"};
	const char *warnings[] = {"codex: cannot vote yet: it is not signed in"};
	struct panel_arm arms[] = {{
		.has = {.ok = true},
		.arm = ARM_ID,
		.name = "kimi",
		.families = LIST(moonshot),
		.reason = "they are of one family, and 2 are needed",
		.hint = "a stand-in of another family",
		.seats = LIST(seats),
		.voters = LIST(voters),
		.families_left = LIST(openai),
	}};
	struct panel_check_reply checked = {
		.has = {.ok = true},
		.bar = "quality",
		.arms = LIST(arms),
		.warnings = LIST(warnings),
	};

	return frame_write_reply(buffer, 43, &panel_check_reply_type, &checked);
}

int request_launch_bar(msgpack_sbuffer *buffer)
{
	struct launch_request launch = {
		.has = {.role = true, .of = true, .outputs = true},
		.role = ROLE_grader,
		.of = 9,
		.bar = "quality",
		.seat = "codex",
		.outputs = true,
	};

	return frame_write_request(buffer, 44, VERB_launch, &launch_request_type, &launch);
}

int reply_launch_bar(msgpack_sbuffer *buffer)
{
	const char *command[] = {"./run.sh"};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true},
		.id = 10,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca429",
		.state = STATE_queued,
		.role = ROLE_grader,
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.submitted_at = SUBMITTED,
		.bar = "quality",
		.seat = "codex",
		.families = LIST(both),
		.bar_id = BAR_ID,
	};

	return frame_write_reply(buffer, 44, &trial_view_type, &trial);
}
