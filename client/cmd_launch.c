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
#include "trial_print.h"

static int launch_only(struct context *context, const struct spec *spec)
{
	json_t *trial = NULL;
	uint64_t number;
	long long id;
	int r;

	r = context_send_launch(context, spec->launch, spec->prompt_fd, &number);
	if (!r)
		r = context_receive(context, number, &trial);
	if (r)
		return r;
	id = (long long)json_whole(trial, "id", 0);
	if (context->json)
		context_print(context, trial);
	else
		printf("%lld\n", id);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		json_decref(trial);
		return context_refuse(context, EXIT_OUTPUT, NULL,
				      "cannot write to standard output: %s; Trial %lld was "
				      "accepted and goes on",
				      strerror(errno), id);
	}
	trial_tell_warnings(context, trial);
	if (!context->json && isatty(STDERR_FILENO)) {
		fprintf(stderr, "Trial %lld was accepted; trialctl wait %lld waits for its end\n",
			id, id);
		trial_tell_hold(trial);
	}
	json_decref(trial);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	bool follow = arguments_given(arguments, "follow");
	struct spec spec;
	int r;

	r = spec_make(context, arguments, &spec);
	if (r)
		return r;
	if (arguments_given(arguments, "print-spec")) {
		context_print(context, spec.launch);
		spec_done(&spec);
		return 0;
	}
	/* A reader that goes must not end us in silence: a Trial is under way then. */
	signal(SIGPIPE, SIG_IGN);
	if (follow || arguments_given(arguments, "wait"))
		r = attend(context, &spec, follow);
	else
		r = launch_only(context, &spec);
	spec_done(&spec);
	return r;
}

const struct command command_launch = {
	.name = "launch",
	.summary = "start a Trial: one command, or a session of a Harness, in a sandbox",
	.synopsis = "{[--] COMMAND... | --harness NAME [-- ARGUMENT...]}",
	.operands = OPERANDS_COMMAND,
	.options = spec_options,
	.run = run,
};
