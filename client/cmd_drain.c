/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "queue_command.h"

static int run(struct context *context, const struct arguments *arguments)
{
	return queue_command(context, arguments, "drain");
}

const struct command command_drain = {
	.name = "drain",
	.summary = "pause, and wait until nothing runs any more",
	.synopsis = "[REASON]",
	.operands = OPERANDS_OPTIONAL_TEXT,
	.run = run,
};
