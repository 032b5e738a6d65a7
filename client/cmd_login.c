/* SPDX-License-Identifier: MIT */

/*
 * Signing in. The daemon says where a Harness's login is and which command makes one; that runs here,
 * on the person's terminal, and the daemon is asked again what came of it. And the way back to the
 * last good login, which is the daemon's alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "login_print.h"
#include "login_run.h"

static const struct option options[] = {
	{"kind", 0, "KIND", "file folder home env ", COMPLETE_NOTHING, false,
	 "which of its ways (default: what a launch uses, else the preferred one)"},
	{"previous", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "of restore: go back from a good login, too, to the one before it"},
	{0},
};

static bool is(const json_t *object, const char *key, const char *word)
{
	const char *text = json_text(object, key);

	return text && strcmp(text, word) == 0;
}

/* --- What came of it ------------------------------------------------------------------------------ */

static int tell(struct context *context, json_t *login)
{
	if (context->json)
		context_print(context, login);
	else
		login_print_state(login);
	return is(login, "state", "good") ? 0 : EXIT_FAILURE;
}

/* before: as it was before the command. */
static int check_result(struct context *context, const char *name, const json_t *before,
			int sign_in)
{
	json_t *logins, *reply, *login;
	int r = logins_ask(context, "logins", name, &logins, &reply);

	if (r)
		return r;
	login = (json_t *)logins_pick(logins, name, json_text(before, "kind"));
	if (!login) {
		json_decref(reply);
		return context_refuse(context, EXIT_FAILURE, "trialctl logins",
				      "%s has no such login any more", name);
	}
	if (sign_in)
		context_warn(context, "the command that signs in ended with %d", sign_in);
	else if (is(login, "state", "good") && !is(login, "kind", "env") &&
		 json_whole(login, "changed_at", 0) == json_whole(before, "changed_at", 0))
		context_warn(context, "it wrote no new login: this is the one from before");
	if (is(login, "state", "good") && !json_flag(login, "used"))
		context_warn(context,
			     "a launch uses another way of %s: trialctl logins %s tells them", name,
			     name);
	r = tell(context, login);
	json_decref(reply);
	return sign_in ? sign_in : r;
}

/* --- The command ---------------------------------------------------------------------------------- */

/*
 * Where trialsd found the Harness's own program, for who has it in no folder of PATH. NULL: nowhere;
 * *ret_install: the command that installs it, if it is known.
 */
static json_t *program_of_daemon(struct context *context, const char *name, const char *program,
				 char **ret_install)
{
	json_t *request = json_pack("{s:o}", "name", text_value(name)), *reply, *words = NULL;
	const json_t *harness;
	const char *path, *interpreter, *base;

	if (context_call(context, "harness", need_memory(request), &reply))
		return NULL;
	harness = json_array_get(json_object_get(reply, "harnesses"), 0);
	if (json_text(harness, "missing") && json_text(harness, "hint"))
		*ret_install = need_memory(strdup(json_text(harness, "hint")));
	path = json_text(harness, "executable");
	interpreter = json_text(harness, "interpreter");
	base = path ? strrchr(path, '/') : NULL;
	if (base && (strcmp(base + 1, program) == 0 || strcmp(name, program) == 0))
		words = interpreter ? json_pack("[s, s]", interpreter, path)
				    : json_pack("[s]", path);
	json_decref(reply);
	return words;
}

static int exit_code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
}

/* Its exit code in *ret_code; or an exit code, told. */
static int run_command(struct context *context, const char *name, const json_t *login,
		       int *ret_code)
{
	const json_t *words = json_object_get(login, "sign_in");
	const char *program = login_program(words);
	char *install = NULL;
	json_t *found;
	int status, r = login_run(words, NULL, &status);

	if (r == -ENOENT && program && !strchr(program, '/')) {
		found = program_of_daemon(context, name, program, &install);
		if (found)
			r = login_run(words, found, &status);
		json_decref(found);
	}
	if (r < 0) {
		char hint[128];

		snprintf(hint, sizeof(hint), "trialctl harness show %s", name);
		r = context_refuse(context, EXIT_NO_INPUT, install ? install : hint,
				   "%s cannot be run: %s", program ? program : name, strerror(-r));
		free(install);
		return r;
	}
	free(install);
	*ret_code = exit_code_of(status);
	return 0;
}

/* The home for Trials is there, and nobody's, while it is signed in to. */
static int take_home(struct context *context, const json_t *login, int *ret_fd)
{
	const char *home = json_text(login, "home");
	int r;

	*ret_fd = -1;
	if (!home)
		return 0;
	r = login_make_home(home);
	if (r == 0)
		r = login_lock_home(home, ret_fd);
	if (r == -EWOULDBLOCK)
		return context_refuse(context, EXIT_REFUSED, "trialctl logins",
				      "%s is in use: a Trial that runs there would not see the "
				      "new login",
				      home);
	return r < 0 ? context_refuse(context, EXIT_REFUSED, NULL, "%s: %s", home, strerror(-r))
		     : 0;
}

static int run_sign_in(struct context *context, const char *name, const json_t *login)
{
	char *command;
	int home, code = 0, r;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		command = login_sign_in(login);
		r = context_refuse(context, EXIT_REFUSED, command,
				   "to sign in takes a terminal, as standard input and output");
		free(command);
		return r;
	}
	r = take_home(context, login, &home);
	if (r)
		return r;
	if (!context->json) {
		command = login_sign_in(login);
		printf("%s: %s\n", name, command);
		fflush(stdout);
		free(command);
	}
	r = run_command(context, name, login, &code);
	if (home >= 0)
		close(home);
	if (r)
		return r;
	if (is(login, "kind", "env") && code == 0 && !context->json) {
		puts("\nWhat it printed is the key.");
		login_print_key(login);
	}
	return check_result(context, name, login, code);
}

/* What a launch uses, if there is a command for it; else the first way with one. */
static const json_t *choose(const json_t *logins, const char *name, const char *kind)
{
	const json_t *login, *found = logins_pick(logins, name, kind);
	size_t i;

	if (kind || json_array_size(json_object_get(found, "sign_in")) > 0)
		return found;
	json_array_foreach(logins, i,
			   login) if (json_array_size(json_object_get(login, "sign_in")) >
				      0) return login;
	return found;
}

static int sign_in(struct context *context, const char *name, const char *kind)
{
	json_t *logins, *reply;
	const json_t *login;
	int r = logins_ask(context, "logins", name, &logins, &reply);

	if (r)
		return r;
	login = choose(logins, name, kind);
	if (!login)
		r = context_refuse(context, EXIT_USED_WRONG, "trialctl logins",
				   "%s has no login of kind %s", name, kind ? kind : "any");
	else if (!json_text(login, "kind"))
		r = context_refuse(context, EXIT_REFUSED, "trialctl harness list",
				   "its file is at fault: %s", json_text(login, "reason"));
	else if (json_array_size(json_object_get(login, "sign_in")) > 0)
		r = run_sign_in(context, name, login);
	else if (is(login, "kind", "env")) {
		if (!context->json)
			login_print_key(login);
		r = tell(context, (json_t *)login);
	} else if (is(login, "kind", "none"))
		r = tell(context, (json_t *)login);
	else
		r = context_refuse(context, EXIT_REFUSED, NULL,
				   "the file of %s names no command that signs in", name);
	json_decref(reply);
	return r;
}

static int restore(struct context *context, const char *name, bool previous)
{
	json_t *request = need_memory(json_pack("{s:o}", "name", text_value(name)));
	json_t *logins, *reply, *login;
	size_t i;
	int r;

	/* Older ones do not know it. */
	if (previous)
		json_object_set_new(request, "previous", json_true());
	r = context_call(context, "login_restore", request, &reply);
	if (r)
		return r;
	logins = json_object_get(reply, "logins");
	json_array_foreach(logins, i, login)
	{
		if (context->json)
			context_print(context, login);
		else if (!is(login, "kind", "env") && !is(login, "kind", "none"))
			login_print_restored(login);
	}
	json_decref(reply);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	bool previous = arguments_given(arguments, "previous");
	const char *word = arguments->operands[0];
	bool restoring = strcmp(word, "restore") == 0;

	if (restoring && arguments->operand_count == 1)
		return context_refuse(context, EXIT_USED_WRONG, "trialctl login restore NAME",
				      "login restore: NAME, the Harness, is missing");
	if (restoring && arguments->operand_count == 2 && !arguments_given(arguments, "kind"))
		return restore(context, arguments->operands[1], previous);
	if (arguments->operand_count == 1 && !previous)
		return sign_in(context, word, arguments_value(arguments, "kind"));
	return context_refuse(context, EXIT_USED_WRONG, "trialctl help login",
			      "login takes NAME, with --kind, or restore NAME, with --previous");
}

const struct command command_login = {
	.name = "login",
	.summary = "sign in to a Harness, or put its last good login back",
	.synopsis = "{NAME | restore NAME}",
	.operands = OPERANDS_WORDS,
	.options = options,
	.run = run,
};
