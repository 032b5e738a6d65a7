/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"
#include "context.h"
#include "json.h"

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *request = need_memory(json_object());
	json_t *reply;
	int r;

	if (arguments->operand_count)
		json_object_set_new(request, "reason",
				    need_memory(text_value(arguments->operands[0])));
	origins_add(&context->origins, "reason", "REASON");
	r = context_call(context, "pause", request, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		printf("paused: %lld running, %lld queued; trialctl resume goes on\n",
		       (long long)json_whole(reply, "running", 0),
		       (long long)json_whole(reply, "queued", 0));
	json_decref(reply);
	return 0;
}

const struct command command_pause = {
	.name = "pause",
	.summary = "start no further Trial until resumed; what runs goes on",
	.synopsis = "[REASON]",
	.operands = OPERANDS_OPTIONAL_TEXT,
	.run = run,
};
