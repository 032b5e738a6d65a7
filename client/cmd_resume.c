/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "queue_command.h"

static int run(struct context *context, const struct arguments *arguments)
{
	return queue_command(context, arguments, "resume");
}

const struct command command_resume = {
	.name = "resume",
	.summary = "start Trials again after pause or drain",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.run = run,
};
