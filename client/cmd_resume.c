/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"
#include "context.h"
#include "json.h"

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *reply;
	int r;

	(void)arguments;
	r = context_call(context, "resume", NULL, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		printf("resumed: %lld running, %lld queued\n",
		       (long long)json_whole(reply, "running", 0),
		       (long long)json_whole(reply, "queued", 0));
	json_decref(reply);
	return 0;
}

const struct command command_resume = {
	.name = "resume",
	.summary = "start Trials again after pause or drain",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.run = run,
};
