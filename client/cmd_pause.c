/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "queue_command.h"

static int run(struct context *context, const struct arguments *arguments)
{
	return queue_command(context, arguments, "pause");
}

const struct command command_pause = {
	.name = "pause",
	.summary = "start no further Trial until resumed; what runs goes on",
	.synopsis = "[REASON]",
	.operands = OPERANDS_OPTIONAL_TEXT,
	.run = run,
};
