/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"

/* As long as what runs takes; a daemon that goes leaves the queue paused. */
static int take_reply(struct context *context, uint64_t number, json_t **ret_reply)
{
	struct trials_message *reply;
	struct trials_error error;
	int r;

	r = trials_receive(context->connection, number, -1, &reply, &error);
	if (r == -ECONNRESET)
		return context_refuse(context, EXIT_NO_DAEMON,
				      "once trialsd runs again, drain again",
				      "trialsd went away; the queue stays paused");
	if (r < 0)
		return context_fail(context, r, &error);
	*ret_reply = need_memory(json_from_message(reply));
	trials_message_free(reply);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *request = need_memory(json_object());
	json_t *reply = NULL;
	uint64_t number;
	int r;

	if (arguments->operand_count)
		json_object_set_new(request, "reason",
				    need_memory(text_value(arguments->operands[0])));
	origins_add(&context->origins, "reason", "REASON");
	r = context_send(context, "drain", request, &number);
	if (!r)
		r = take_reply(context, number, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		printf("drained: nothing runs, %lld queued; trialctl resume goes on\n",
		       (long long)json_whole(reply, "queued", 0));
	json_decref(reply);
	return 0;
}

const struct command command_drain = {
	.name = "drain",
	.summary = "pause, and wait until nothing runs any more",
	.synopsis = "[REASON]",
	.operands = OPERANDS_OPTIONAL_TEXT,
	.run = run,
};
