/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attend.h"
#include "command.h"
#include "exit_code.h"
#include "json.h"
#include "spec.h"

static int launch_only(struct context *context, json_t *launch)
{
	json_t *trial = NULL;
	long long id;
	int r;

	r = context_call(context, "launch", launch, &trial);
	if (r)
		return r;
	id = (long long)json_whole(trial, "id", 0);
	if (context->json)
		context_print(context, trial);
	else
		printf("%lld\n", id);
	json_decref(trial);
	if (fflush(stdout) != 0 || ferror(stdout))
		return context_refuse(context, EXIT_OUTPUT, NULL,
				      "cannot write to standard output: %s; Trial %lld was "
				      "accepted and goes on",
				      strerror(errno), id);
	if (!context->json && isatty(STDERR_FILENO))
		fprintf(stderr, "Trial %lld was accepted; trialctl wait %lld waits for its end\n",
			id, id);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	bool follow = arguments_given(arguments, "follow");
	json_t *launch;
	int r;

	r = spec_make(context, arguments, &launch);
	if (r)
		return r;
	if (arguments_given(arguments, "print-spec")) {
		context_print(context, launch);
		json_decref(launch);
		return 0;
	}
	/* A reader that goes must not end us in silence: a Trial is under way then. */
	signal(SIGPIPE, SIG_IGN);
	if (follow || arguments_given(arguments, "wait"))
		return attend(context, launch, follow);
	return launch_only(context, launch);
}

const struct command command_launch = {
	.name = "launch",
	.summary = "start a Trial: one command in a sandbox",
	.synopsis = "[--] COMMAND...",
	.operands = OPERANDS_COMMAND,
	.options = spec_options,
	.run = run,
};
