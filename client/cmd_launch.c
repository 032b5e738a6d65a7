/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arm_find.h"
#include "attend.h"
#include "command.h"
#include "json.h"
#include "spec.h"

/*
 * A prompt that does not arrive is missed late. Only a file can be told from what a script happens to have
 * there, and one that was not read from yet from the list of a loop.
 */
static void warn_of_input(struct context *context, const struct spec *spec)
{
	struct stat status;

	if (json_object_get(spec->launch, "prompt") || spec->prompt_fd >= 0 ||
	    fstat(STDIN_FILENO, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size == 0 ||
	    lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
		return;
	context_warn(context, "standard input is not passed on, and there is no prompt: "
			      "--prompt-file - reads it");
}

/* The Arm by its id, whatever it was named by. */
static int settle_arm(struct context *context, const struct arguments *arguments, struct spec *spec)
{
	const char *arm = json_text(spec->launch, "arm");
	char *id;
	int r;

	if (!arguments_given(arguments, "spec"))
		warn_of_input(context, spec);
	if (!arm)
		return 0;
	r = arm_find(context, arguments_given(arguments, "arm") ? "--arm" : "arm", arm, &id);
	if (r)
		return r;
	json_object_set_new(spec->launch, "arm", text_value(id));
	free(id);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
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
	r = settle_arm(context, arguments, &spec);
	if (r == 0)
		r = launch(context, arguments, &spec);
	spec_done(&spec);
	return r;
}

const struct command command_launch = {
	.name = "launch",
	.summary = "start a Trial: one command, or a session of a Harness, in a sandbox",
	.synopsis = "{[--] COMMAND... | --harness NAME [-- ARGUMENT...] | --arm ID}",
	.operands = OPERANDS_COMMAND,
	.options = spec_options,
	.run = run,
};
