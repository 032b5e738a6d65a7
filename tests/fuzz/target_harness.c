/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/session.h"
#include "stage.h"

/*
 * A .harness file, and each session that one which was accepted can make. What is refused is told
 * in one line that can be shown and names the file. What is accepted has all that a launch relies
 * on: a program, a login, a way for the prompt; and a session has what was asked for, whole.
 */

#define PATH "/x/x.harness"
#define PROMPT "-the prompt\n"

static bool holds(const struct text_list *words, const char *part)
{
	for (size_t i = 0; i < words->count; i++)
		if (strstr(words->items[i], part))
			return true;
	return false;
}

static void check_text(const struct fault *fault)
{
	must(fault->message && stage_is_text(fault->message));
	must(!fault->hint || stage_is_text(fault->hint));
}

static void check_session(const struct session_request *request)
{
	struct fault fault = FAULT_INIT;
	struct session session = {0};
	int r = session_compose(&session, request, &fault);

	must(r == 0 || r == FAULT);
	if (r == FAULT) {
		check_text(&fault);
	} else {
		must(session.has_prompt);
		must(holds(&session.arguments, "extra-word"));
		must(session.prompt != HARNESS_PROMPT_argument ||
		     holds(&session.arguments, PROMPT));
		must(session.prompt != HARNESS_PROMPT_file ||
		     holds(&session.arguments, SESSION_PROMPT_FILE));
		must(!request->resume || holds(&session.arguments, request->resume));
		must(!request->effort || holds(&session.arguments, request->effort));
		must(!request->model || request->login->model_variable ||
		     holds(&session.arguments, request->model));
		must(!pair_list_get(&session.environment, "HOME"));
		for (size_t i = 0; i < session.file_count; i++)
			must(strncmp(session.files[i].path, "/home/x/", 8) == 0);
	}
	session_done(&session);
	fault_done(&fault);
}

static void check_sessions(const struct harness *harness)
{
	const char *const extra[] = {"extra-word"};
	struct session_request request = {
		.harness = harness,
		.has_prompt = true,
		.prompt = PROMPT,
		.prompt_size = strlen(PROMPT),
		.extra = {1, (const char **)(void *)extra},
		.uid = 1,
		.home = "/home/x",
		.repository = "/r/\"\\",
	};

	for (size_t i = 0; i < harness->session_count; i++)
		for (size_t j = 0; j < harness->login_count; j++)
			for (int asked = 0; asked < 16; asked++) {
				request.version = harness->sessions[i].from;
				request.login = &harness->logins[j];
				request.model = asked & 1 ? "provider/the-model" : NULL;
				request.effort = asked & 2 ? "the-effort" : NULL;
				request.resume = asked & 4 ? "the-session" : NULL;
				request.web = asked & 8;
				check_session(&request);
			}
}

static void check_harness(const struct harness *harness)
{
	must(strcmp(harness->name, "x") == 0 && strcmp(harness->path, PATH) == 0);
	must(harness->program.product && harness->program.executable);
	must(!strchr(harness->program.executable, '/'));
	must(harness->program.version_arguments.count > 0);
	must(harness->login_count > 0 && harness->session_count > 0);
	for (size_t i = 0; i < harness->login_count; i++) {
		const struct harness_login *login = &harness->logins[i];

		must(harness_login_kind_name(login->kind));
		must(login->kind == HARNESS_LOGIN_env || login->kind == HARNESS_LOGIN_none ||
		     (login->file && login->file[0] == '~'));
		must(login->kind != HARNESS_LOGIN_file || login->saves != HARNESS_SAVES_rename);
		must(login->kind != HARNESS_LOGIN_home || (login->home && login->target));
	}
	for (size_t i = 0; i < harness->session_count; i++)
		must(harness->sessions[i].prompt_count > 0);
	check_sessions(harness);
}

int fuzz_harness(const uint8_t *data, size_t size)
{
	int fd = open(stage_file(data, size), O_PATH | O_CLOEXEC), before = stage_descriptors();
	struct harness *harness = NULL;
	struct fault fault = FAULT_INIT;
	int r;

	must(fd >= 0);
	r = harness_read_at(&harness, "x", PATH, fd, &fault);
	must(r == 0 || r == FAULT);
	if (r == 0) {
		check_harness(harness);
		harness_free(harness);
	} else {
		must(!harness);
		check_text(&fault);
		must(strncmp(fault.message, PATH ":", strlen(PATH) + 1) == 0);
	}
	must(stage_descriptors() == before);
	fd_close(fd);
	fault_done(&fault);
	return 0;
}
