/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"

/* Trials that are canceled for it have their grace, and a minute beyond a usual one. */
#define STOP_SECONDS 120.0

static const struct option options[] = {
	{"cancel", 0, NULL, NULL, COMPLETE_NOTHING, false, "cancel what runs first"},
	{0},
};

/* The connection falls when trialsd is gone: whoever starts another may do so then. */
static int wait_until_gone(struct context *context)
{
	for (;;) {
		struct trials_message *message;
		struct trials_error error;
		int r = trials_next(context->connection, STOP_SECONDS, &message, &error);

		if (r == -ECONNRESET)
			return 0;
		if (r < 0)
			return context_refuse(context, EXIT_BUSY, "trialctl status",
					      "trialsd is still stopping");
		trials_message_free(message);
	}
}

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *request = NULL;
	json_t *reply;
	int r;

	if (arguments_given(arguments, "cancel"))
		request = need_memory(json_pack("{s:b}", "cancel", 1));
	r = context_call(context, "shutdown", request, &reply);
	if (r)
		return r;
	r = wait_until_gone(context);
	if (!r && context->json)
		context_print(context, reply);
	else if (!r && json_whole(reply, "canceled", 0) == 1)
		puts("trialsd has stopped; 1 Trial was canceled");
	else if (!r && json_whole(reply, "canceled", 0))
		printf("trialsd has stopped; %lld Trials were canceled\n",
		       (long long)json_whole(reply, "canceled", 0));
	else if (!r)
		puts("trialsd has stopped");
	json_decref(reply);
	return r;
}

const struct command command_shutdown = {
	.name = "shutdown",
	.summary = "stop the daemon; what runs goes on, unless it is canceled",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.options = options,
	.run = run,
};
