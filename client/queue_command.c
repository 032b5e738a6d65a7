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

/*
 * A drain is silent for as long as what runs takes, so that its person is told what it waits for. The
 * drain has been sent before: nothing starts any more. Whatever goes wrong here, its own reply tells.
 */
static void tell_what_runs(struct context *context)
{
	struct trials_message *reply;
	struct trials_error error;
	json_t *status;
	json_int_t running;

	if (context->json ||
	    trials_call(context->connection, "status", NULL, REPLY_SECONDS, &reply, &error) < 0)
		return;
	status = need_memory(json_from_message(reply));
	trials_message_free(reply);
	running = json_whole(status, "running", 0);
	json_decref(status);
	if (running > 0)
		fprintf(stderr,
			"trialctl: nothing starts any more; waiting for %lld %s to end (who stops "
			"waiting leaves the queue paused)\n",
			(long long)running, running == 1 ? "Trial" : "Trials");
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
	if (strcmp(verb, "drain") == 0)
		tell_what_runs(context);
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
