/* SPDX-License-Identifier: MIT */
#include "golden.h"

/* The vectors of Harnesses; golden.c lists them. */

int request_launch_harness(msgpack_sbuffer *buffer)
{
	const char *arguments[] = {"--add-dir", "/home/ann/docs"};
	struct launch_request launch = {
		.repository = "/home/ann/repo",
		.prompt_file = "/home/ann/task.txt",
		.harness = "codex",
		.model = "gpt-5",
		.effort = "high",
		.resume = "0199a213-81c0-7800-8aa1-bbab2a035a53",
		.executable = "/home/ann/bin/codex",
		.arguments = LIST(arguments),
		.has = {.of = true, .keep_home = true},
		.of = 6,
		.keep_home = true,
	};

	return frame_write_request(buffer, 18, VERB_launch, &launch_request_type, &launch);
}

int request_harness(msgpack_sbuffer *buffer)
{
	struct harness_request harness = {.name = "codex"};

	return frame_write_request(buffer, 19, VERB_harness, &harness_request_type, &harness);
}

int reply_harness(msgpack_sbuffer *buffer)
{
	const char *logins[] = {"folder", "env"}, *prompts[] = {"stdin"};
	const char *arguments[] = {"exec", "{resume}", "--json", "{extra}", "{prompt}"};
	const char *read_only[] = {"~/.codex/AGENTS.md"}, *hosts[] = {"api.openai.com"};
	struct harness_view views[] = {
		{
			.has = {.name = true, .file = true, .own = true},
			.name = "codex",
			.file = "/usr/local/lib/trialsd/harness.d/codex.harness",
			.product = "Codex CLI",
			.family = "openai",
			.executable = "/home/ann/codex/vendor/x86_64-unknown-linux-musl/bin/codex",
			.version = "0.169.0",
			.release = "/home/ann/codex/vendor/x86_64-unknown-linux-musl",
			.logins = LIST(logins),
			.prompts = LIST(prompts),
			.arguments = LIST(arguments),
			.read_only = LIST(read_only),
			.hosts = LIST(hosts),
		},
		{
			.has = {.name = true, .file = true, .own = true},
			.name = "kimi",
			.file = "/usr/local/lib/trialsd/harness.d/kimi.harness",
			.product = "Kimi Code",
			.interpreter = "/usr/bin/node",
			.missing =
				"kimi: there is no program \"kimi\"; looked for at /usr/bin/kimi",
			.hint = "npm install -g @moonshot-ai/kimi-code",
		},
		{
			.has = {.name = true, .file = true, .own = true},
			.name = "mine",
			.file = "/home/ann/.config/trialsd/harness.d/mine.harness",
			.own = true,
			.fault =
				"/home/ann/.config/trialsd/harness.d/mine.harness:3: Release: missing",
		},
	};
	struct harness_reply reply = {.harnesses = LIST(views)};

	return frame_write_reply(buffer, 19, &harness_reply_type, &reply);
}

int reply_show_harness(msgpack_sbuffer *buffer)
{
	struct trial_view trial = {
		.has = {.id = true,
			.uuid = true,
			.state = true,
			.role = true,
			.network = true,
			.priority = true,
			.submitted_at = true,
			.started_at = true,
			.harness = true},
		.id = 10,
		.uuid = "5b2f8c1e-3d4a-4f6b-9c7d-8e9f0a1b2c3d",
		.state = STATE_running,
		.role = ROLE_trial,
		.network = NETWORK_host,
		.submitted_at = SUBMITTED,
		.started_at = SUBMITTED + SECOND,
		.harness =
			{
				.has = {.name = true, .of = true},
				.of = 6,
				.name = "kimi",
				.product = "Kimi Code",
				.model = "k2",
				.effort = "high",
				.resume = "s-1",
				.executable = "/home/ann/kimi/dist/main.mjs",
				.version = "2.1.0",
				.sha256 =
					"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
				.release = "/home/ann/kimi",
				.interpreter = "/usr/bin/node",
				.login = "env",
				.prompt = "argument",
				.file = "/usr/local/lib/trialsd/harness.d/kimi.harness",
			},
	};

	return frame_write_reply(buffer, 5, &trial_view_type, &trial);
}

int request_logins(msgpack_sbuffer *buffer)
{
	struct logins_request logins = {.name = "codex"};

	return frame_write_request(buffer, 20, VERB_logins, &logins_request_type, &logins);
}

int request_login_restore(msgpack_sbuffer *buffer)
{
	struct login_restore_request restore = {
		.has = {.previous = true},
		.name = "codex",
		.previous = true,
	};

	return frame_write_request(buffer, 21, VERB_login_restore, &login_restore_request_type,
				   &restore);
}

#define LOGIN_HAS_ .kind = true, .used = true, .state = true, .present = true

int reply_logins(msgpack_sbuffer *buffer)
{
	const char *codex[] = {"codex", "login"};
	const char *grok[] = {"GROK_HOME=~/.thirdshift/trials/grok", "grok", "login"};
	struct status_trial waiters[] = {
		{.has = {.id = true, .state = true},
		 .id = 12,
		 .state = STATE_queued,
		 .waits_for = "its home: sleep (pid 4711) holds it"},
	};
	struct login_view views[] = {
		{
			.has = {LOGIN_HAS_, .ends_at = true, .changed_at = true,
				.refreshed_at = true, .refreshed_by = true, .restorable = true},
			.harness = "codex",
			.kind = LOGIN_KIND_folder,
			.used = true,
			.state = LOGIN_CONDITION_good,
			.present = true,
			.path = "/home/ann/.codex/auth.json",
			.sign_in = LIST(codex),
			.ends_at = SUBMITTED + 3600 * SECOND,
			.changed_at = SUBMITTED,
			.refreshed_at = SUBMITTED,
			.refreshed_by = 7,
			.restorable = true,
		},
		{
			.has = {LOGIN_HAS_},
			.harness = "codex",
			.kind = LOGIN_KIND_env,
			.state = LOGIN_CONDITION_absent,
			.path = "/home/ann/.thirdshift/credentials.toml",
			.credential = "providers.openai",
			.reason = "there is no providers.openai in it",
		},
		{
			.has = {LOGIN_HAS_, .changed_at = true, .waiting = true,
				.holder_pid = true},
			.harness = "grok",
			.kind = LOGIN_KIND_home,
			.used = true,
			.state = LOGIN_CONDITION_in_use,
			.present = true,
			.path = "/home/ann/.thirdshift/trials/grok/auth.json",
			.home = "/home/ann/.thirdshift/trials/grok",
			.sign_in = LIST(grok),
			.changed_at = SUBMITTED,
			.waiting = 1,
			.waiters = LIST(waiters),
			.holder_pid = 4711,
			.holder = "sleep",
		},
		{
			.has = {.used = true, .state = true, .present = true},
			.harness = "mine",
			.state = LOGIN_CONDITION_failed,
			.reason =
				"/home/ann/.config/trialsd/harness.d/mine.harness:3: Release: missing",
		},
	};
	struct logins_reply reply = {.logins = LIST(views)};

	return frame_write_reply(buffer, 20, &logins_reply_type, &reply);
}

int reply_login_restore(msgpack_sbuffer *buffer)
{
	struct status_trial users[] = {
		{.has = {.id = true, .state = true}, .id = 8, .state = STATE_running},
	};
	struct login_view views[] = {
		{
			.has = {LOGIN_HAS_, .changed_at = true, .suspect_at = true,
				.suspect_by = true, .restored_from = true},
			.harness = "codex",
			.kind = LOGIN_KIND_folder,
			.used = true,
			.state = LOGIN_CONDITION_suspect,
			.present = true,
			.path = "/home/ann/.codex/auth.json",
			.reason = "it is empty",
			.hint = "trialctl login restore codex",
			.changed_at = SUBMITTED,
			.suspect_at = SUBMITTED,
			.suspect_by = 8,
			.restored_from = SUBMITTED,
			.users = LIST(users),
		},
	};
	struct logins_reply reply = {.logins = LIST(views)};

	return frame_write_reply(buffer, 21, &login_restore_reply_type, &reply);
}
