/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* Arms: what is asked for, what was found, and what has changed. */

#define ARM_ID "5f2b1c0e9a8d7c6b5a49382716f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3"
#define OTHER_ID "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
#define SHA256 "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

int request_arm_prepare(msgpack_sbuffer *buffer)
{
	const char *command[] = {"./run.sh", "hard"}, *roles[] = {"trial", "grader"};
	const char *exclude[] = {".mine/"}, *variables[] = {"EFFORT"}, *toolchains[] = {"node"};
	const char *secret[] = {"/home/ada/arm/server.pem"};
	struct pair environment[] = {{"A", "1"}};
	struct arm_file files[] = {
		{.source = "/home/ada/arm/run.sh", .path = "run.sh"},
		{.has = {.mode = true},
		 .source = "/home/ada/arm/server.pem",
		 .path = "~/.server.pem",
		 .mode = 0600},
	};
	struct arm_harness harnesses[] = {{.name = "codex"},
					  {.name = "kimi", .model = "k2", .provider = "kimi"}};
	struct arm_provider providers[] = {{.name = "openrouter", .model = "meta/llama-4"}};
	struct arm_prepare_request prepare = {
		.has = {.spec = true},
		.spec = {.has = {.limits = true},
			 .name = "mine",
			 .command = LIST(command),
			 .files = LIST(files),
			 .roles = LIST(roles),
			 .git_exclude = LIST(exclude),
			 .harnesses = LIST(harnesses),
			 .providers = LIST(providers),
			 .limits = {.has = {.memory = true}, .memory = 1u << 30},
			 .environment = LIST(environment),
			 .variables = LIST(variables),
			 .toolchains = LIST(toolchains),
			 .skills = "/home/ada/skills",
			 .build = "/home/ada/build",
			 .secret_files = LIST(secret)},
	};

	return frame_write_request(buffer, 30, VERB_arm_prepare, &arm_prepare_request_type,
				   &prepare);
}

int request_arm_list(msgpack_sbuffer *buffer)
{
	struct arm_list_request list = {.has = {.limit = true}, .after = ARM_ID, .limit = 7};

	return frame_write_request(buffer, 31, VERB_arm_list, &arm_list_request_type, &list);
}

int request_arm_show(msgpack_sbuffer *buffer)
{
	struct arm_show_request show = {.id = "5f2b1c0e"};

	return frame_write_request(buffer, 32, VERB_arm_show, &arm_show_request_type, &show);
}

int request_arm_verify(msgpack_sbuffer *buffer)
{
	struct arm_verify_request verify = {.id = ARM_ID};

	return frame_write_request(buffer, 33, VERB_arm_verify, &arm_verify_request_type, &verify);
}

int request_arm_diff(msgpack_sbuffer *buffer)
{
	struct arm_diff_request diff = {.id = "5f2b1c0e", .other = OTHER_ID};

	return frame_write_request(buffer, 34, VERB_arm_diff, &arm_diff_request_type, &diff);
}

static struct arm_view view(const char *id, const char *name)
{
	return (struct arm_view){
		.has = {.prepared_at = true},
		.id = id,
		.name = name,
		.prepared_at = SUBMITTED,
	};
}

int reply_arm_prepare(msgpack_sbuffer *buffer)
{
	const char *roles[] = {"trial"}, *hosts[] = {"api.openai.com", "chatgpt.com"};
	const char *families[] = {"google", "openai"}, *missing[] = {"agy: there is no agy"};
	struct arm_file files[] = {{.has = {.mode = true, .size = true, .mode_found = true},
				    .source = "/home/ada/arm/run.sh",
				    .path = "run.sh",
				    .mode = 0755,
				    .size = 4,
				    .sha256 = SHA256,
				    .mode_found = true}};
	struct pair own_files[] = {{"~/.codex/AGENTS.md", SHA256}};
	struct arm_harness harnesses[] = {{.name = "agy", .family = "google"},
					  {.name = "codex",
					   .executable = "/usr/local/bin/codex",
					   .version = "0.101.0",
					   .sha256 = SHA256,
					   .hosts = LIST(hosts),
					   .family = "openai",
					   .definition = SHA256,
					   .own_files = LIST(own_files),
					   .interpreter = "/usr/bin/node",
					   .interpreter_sha256 = SHA256}};
	const char *command[] = {"./run.sh"};
	struct arm_view prepared = view(ARM_ID, "mine");

	prepared.has.existed = prepared.has.arm = true;
	prepared.missing = (struct text_list)LIST(missing);
	prepared.families = (struct text_list)LIST(families);
	prepared.arm = (struct arm){
		.has = {.form = true, .build = true},
		.form = 1,
		.name = "mine",
		.command = LIST(command),
		.files = LIST(files),
		.roles = LIST(roles),
		.harnesses = LIST(harnesses),
		.build = {.has = {.files = true, .bytes = true},
			  .path = "/home/ada/build",
			  .sha256 = SHA256,
			  .files = 2,
			  .bytes = 300},
		.families = LIST(families),
	};
	return frame_write_reply(buffer, 30, &arm_prepare_reply_type, &prepared);
}

int reply_arm_list(msgpack_sbuffer *buffer)
{
	struct arm_view views[] = {view(ARM_ID, "mine"), view(OTHER_ID, "other")};
	struct arm_list_reply list = {.arms = LIST(views), .cursor = OTHER_ID};

	return frame_write_reply(buffer, 31, &arm_list_reply_type, &list);
}

int reply_arm_show(msgpack_sbuffer *buffer)
{
	const char *arguments[] = {"--search"}, *exclude[] = {".mine/"}, *toolchains[] = {"node"};
	const char *roles[] = {"trial"}, *variables[] = {"EFFORT"}, *warnings[] = {"it is large"};
	const char *hosts[] = {"proxy.example:8443"};
	struct pair found[] = {{"node", SHA256},
			       {"node.Programs.node", SHA256 " /home/ada/node/bin/node"}};
	struct pair environment[] = {{"OPENAI_BASE_URL", "https://proxy.example:8443/v1"}};
	struct arm_harness harnesses[] = {
		{.name = "codex", .endpoint = "https://proxy.example:8443/v1", .family = "openai"}};
	struct arm_provider providers[] = {{.name = "openai",
					    .model = "gpt-5",
					    .variable = "OPENAI_API_KEY",
					    .endpoint_variable = "OPENAI_BASE_URL",
					    .endpoint = "https://proxy.example:8443/v1",
					    .hosts = LIST(hosts),
					    .family = "openai"}};
	struct arm_view shown = view(ARM_ID, "plain");

	shown.has.arm = true;
	shown.warnings = (struct text_list)LIST(warnings);
	shown.arm = (struct arm){
		.has = {.form = true, .skills = true, .limits = true},
		.form = 1,
		.name = "plain",
		.harness = "codex",
		.model = "gpt-5",
		.effort = "high",
		.arguments = LIST(arguments),
		.roles = LIST(roles),
		.git_exclude = LIST(exclude),
		.harnesses = LIST(harnesses),
		.providers = LIST(providers),
		.limits = {.has = {.memory = true}, .memory = 1u << 30},
		.environment = LIST(environment),
		.variables = LIST(variables),
		.toolchains = LIST(toolchains),
		.toolchains_found = LIST(found),
		.skills = {.path = "/home/ada/skills", .sha256 = SHA256},
	};
	return frame_write_reply(buffer, 32, &arm_show_reply_type, &shown);
}

int request_arm_prepare_harness(msgpack_sbuffer *buffer)
{
	const char *arguments[] = {"--search"};
	struct arm_prepare_request prepare = {
		.has = {.spec = true},
		.spec = {.name = "plain",
			 .harness = "codex",
			 .model = "gpt-5",
			 .effort = "high",
			 .executable = "/usr/local/bin/codex",
			 .arguments = LIST(arguments)},
	};

	return frame_write_request(buffer, 35, VERB_arm_prepare, &arm_prepare_request_type,
				   &prepare);
}

int reply_arm_verify(msgpack_sbuffer *buffer)
{
	struct arm_change changes[] = {
		{.what = "harnesses.codex.sha256", .was = SHA256, .is = OTHER_ID},
		{.what = "files.notes.sha256", .was = SHA256},
	};
	struct arm_view verified = view(ARM_ID, "mine");

	verified.has.verified = true;
	verified.changes = (struct arm_change_list)LIST(changes);
	return frame_write_reply(buffer, 33, &arm_verify_reply_type, &verified);
}

int reply_arm_diff(msgpack_sbuffer *buffer)
{
	struct arm_change changes[] = {{.what = "environment.A", .is = "1"}};
	struct arm_diff_reply diff = {.id = ARM_ID, .other = OTHER_ID, .changes = LIST(changes)};

	return frame_write_reply(buffer, 34, &arm_diff_reply_type, &diff);
}

int request_arm_remove(msgpack_sbuffer *buffer)
{
	struct arm_remove_request remove = {.id = "5f2b1c0e"};

	return frame_write_request(buffer, 38, VERB_arm_remove, &arm_remove_request_type, &remove);
}

int reply_arm_remove(msgpack_sbuffer *buffer)
{
	const char *warnings[] = {"another Arm is damaged"};
	struct arm_remove_reply removed = {
		.has = {.files = true, .bytes = true},
		.id = ARM_ID,
		.name = "mine",
		.files = 2,
		.bytes = 4096,
		.warnings = LIST(warnings),
	};

	return frame_write_reply(buffer, 38, &arm_remove_reply_type, &removed);
}

int request_launch_arm(msgpack_sbuffer *buffer)
{
	struct launch_request launch = {
		.has = {.allow_no_sandbox = true},
		.repository = "/home/ada/work",
		.arm = "5f2b1c0e",
		.allow_no_sandbox = true,
	};

	return frame_write_request(buffer, 36, VERB_launch, &launch_request_type, &launch);
}

int reply_launch_arm(msgpack_sbuffer *buffer)
{
	const char *command[] = {"./run.sh"};
	const char *providers[] = {"openai"};
	struct trial_harness harnesses[] = {{.name = "codex"}};
	struct trial_view trial = {
		.has = {.id = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.no_sandbox = true},
		.id = 9,
		.uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca428",
		.state = STATE_queued,
		.role = ROLE_trial,
		.command = LIST(command),
		.network = NETWORK_allowlist,
		.submitted_at = SUBMITTED,
		.arm = ARM_ID,
		.arm_name = "mine",
		.harnesses = LIST(harnesses),
		.providers = LIST(providers),
		.no_sandbox = true,
	};

	return frame_write_reply(buffer, 36, &trial_view_type, &trial);
}
