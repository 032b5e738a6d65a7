/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "queue_command.h"

static void print_counts(const char *verb, const json_t *reply)
{
	long long running = json_whole(reply, "running", 0);
	long long queued = json_whole(reply, "queued", 0);

	if (strcmp(verb, "drain") == 0)
		printf("drained: nothing runs, %lld queued; trialctl resume goes on\n", queued);
	else if (strcmp(verb, "pause") == 0)
		printf("paused: %lld running, %lld queued; trialctl resume goes on\n", running,
		       queued);
	else
		printf("resumed: %lld running, %lld queued\n", running, queued);
}

int queue_command(struct context *context, const struct arguments *arguments, const char *verb)
{
	json_t *request = need_memory(json_object());
	json_t *reply = NULL;
	uint64_t number;
	int r;

	if (arguments->operand_count)
		json_object_set_new(request, "reason",
				    need_memory(text_value(arguments->operands[0])));
	origins_add(&context->origins, "reason", "REASON");
	r = context_send(context, verb, request, &number);
	if (r)
		return r;
	/* A drain takes as long as what runs; a daemon that goes leaves the queue paused. */
	if (strcmp(verb, "drain") == 0)
		r = context_receive_late(context, number,
					 "trialsd went away; the queue stays paused",
					 "once trialsd runs again, drain again", &reply);
	else
		r = context_receive(context, number, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		print_counts(verb, reply);
	json_decref(reply);
	return 0;
}
