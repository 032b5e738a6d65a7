/* SPDX-License-Identifier: MIT */
#include "attend.h"
#include "command.h"
#include "spec.h"

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
	r = launch(context, arguments, &spec);
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
