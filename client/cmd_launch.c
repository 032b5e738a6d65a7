/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attend.h"
#include "command.h"
#include "exit_code.h"
#include "json.h"
#include "spec.h"

static int launch_only(struct context *context, json_t *launch)
{
	json_t *trial = NULL;
	int r;

	r = context_call(context, "launch", launch, &trial);
	if (r)
		return r;
	if (context->json)
		context_print(context, trial);
	else
		printf("%lld\n", (long long)json_whole(trial, "id", 0));
	if (!context->json && isatty(STDERR_FILENO))
		fprintf(stderr, "Trial %lld was accepted; trialctl wait %lld waits for its end\n",
			(long long)json_whole(trial, "id", 0),
			(long long)json_whole(trial, "id", 0));
	json_decref(trial);
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
