/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "help.h"

static const struct option options[] = {
	{"options", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "every option of every command, for programs"},
	{0},
};

static int run(struct context *context, const struct arguments *arguments)
{
	const struct command *command = NULL;

	if (arguments_given(arguments, "options")) {
		help_options(stdout);
		return 0;
	}
	if (arguments->operand_count) {
		command = command_find(arguments->operands[0]);
		if (!command)
			return context_refuse(context, EXIT_USED_WRONG, "trialctl help",
					      "there is no command \"%s\"", arguments->operands[0]);
		help_command(stdout, command);
		return 0;
	}
	help_program(stdout);
	return 0;
}

const struct command command_help = {
	.name = "help",
	.summary = "this list, or more of one command",
	.synopsis = "[COMMAND]",
	.operands = OPERANDS_VERB,
	.options = options,
	.run = run,
};
