/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "help.h"
#include "print.h"

/*
 * trialctl: options in front, the command's name, what follows it; then the command runs. What a
 * command printed has left our buffers, or the exit code says that it has not.
 */

static int run_command(struct context *context, const struct command *command,
		       const struct arguments *arguments)
{
	if (arguments_given(arguments, "version")) {
		puts("trialctl " TRIALSD_VERSION);
		return 0;
	}
	if (arguments_given(arguments, "help")) {
		if (command)
			help_command(stdout, command);
		else
			help_program(stdout);
		return 0;
	}
	if (!command) {
		help_program(stderr);
		return EXIT_USED_WRONG;
	}
	return command->run(context, arguments);
}

/* Flags that matter for how a mistake in the others is told. */
static void take_flags(struct context *context, const struct arguments *arguments)
{
	context->socket = arguments_value(arguments, "socket");
	context->json = arguments_given(arguments, "json");
	context->colours = colours_wanted(stdout);
	context->error_colours = colours_wanted(stderr);
}

static int run_words(const char *const *words)
{
	const struct command *command = NULL;
	struct arguments arguments = {0};
	struct context context = {0};
	struct trials_error error;
	size_t used = 0;
	int r;

	r = options_parse_global(words, &arguments, &used, &error);
	take_flags(&context, &arguments);
	if (r >= 0 && words[used]) {
		command = command_find(words[used]);
		if (!command)
			r = usage_error(&error, "trialctl help", "there is no command \"%s\"",
					words[used]);
		else
			r = options_parse(command, words + used + 1, &arguments, &error);
		take_flags(&context, &arguments);
	}
	if (r < 0)
		r = context_fail(&context, r, &error);
	else
		r = run_command(&context, command, &arguments);
	/* A command that returned EXIT_OUTPUT has said so. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && r != EXIT_OUTPUT) {
		context_refuse(&context, EXIT_OUTPUT, NULL, "cannot write to standard output: %s",
			       strerror(errno));
		r = r ? r : EXIT_OUTPUT;
	}
	context_done(&context);
	arguments_done(&arguments);
	return r;
}

int main(int argc, char **argv)
{
	/* Widths of characters; what is shown is UTF-8 whatever the user's own locale. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
	/* What several processes say on one terminal stays whole lines. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	return run_words(argc > 0 ? (const char *const *)argv + 1 : (const char *const[]){NULL});
}
