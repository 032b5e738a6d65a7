/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "hold_tell.h"
#include "json.h"
#include "net_print.h"
#include "stream.h"

/*
 * What a Trial connected to. Of one that has ended the record tells it, summed; of one that runs, and
 * with --follow, the stream `network`, as it happened.
 */

#define LINE_BYTES_MAX 8192

static const struct option options[] = {
	{"follow", 'f', NULL, NULL, COMPLETE_NOTHING, false,
	 "each connection as it is decided and as it ends, until the Trial has ended"},
	{0},
};

/* The line that is being received. */
struct lines {
	struct context *context;
	char bytes[LINE_BYTES_MAX];
	size_t size;
	bool skipping; /* it is longer than any that is one, or began in what was not kept */
};

static int take_line(struct lines *lines)
{
	json_t *event = json_loadb(lines->bytes, lines->size, 0, NULL);

	if (event && lines->context->json)
		context_print(lines->context, event);
	else if (event)
		net_print_event(lines->context, event);
	json_decref(event);
	return ferror(stdout) ? -EIO : 0;
}

static int take_bytes(struct lines *lines, const char *bytes, size_t size)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < size; i++) {
		if (bytes[i] == '\n') {
			if (!lines->skipping)
				r = take_line(lines);
			lines->size = 0;
			lines->skipping = false;
		} else if (lines->size < sizeof(lines->bytes)) {
			lines->bytes[lines->size++] = bytes[i];
		} else {
			lines->skipping = true;
		}
	}
	return r;
}

/* 0: go on; 1: the end; otherwise minus the exit code, and it has been said. */
static int take_message(struct lines *lines, const struct trials_message *message)
{
	struct context *context = lines->context;
	const char *name = trials_message_event(message);
	struct trials_error error;
	const void *bytes;
	size_t size;
	int r = trials_message_error(message, &error);

	if (r < 0)
		return -context_fail(context, r, &error);
	if (!name)
		return 0;
	if (strcmp(name, "log_end") == 0)
		return 1;
	if (strcmp(name, "gap") == 0) {
		if (!context->json)
			fputs("[some were not kept]\n", stderr);
		lines->skipping = true;
	} else if (strcmp(name, "log") == 0 &&
		   trials_get_bytes(message, "data", &bytes, &size) >= 0 &&
		   take_bytes(lines, bytes, size) < 0) {
		return -context_refuse(context, EXIT_OUTPUT, NULL,
				       "cannot write to standard output");
	}
	return 0;
}

static int tell_stream(struct context *context, uint64_t id, bool follow)
{
	struct lines *lines = need_memory(calloc(1, sizeof(*lines)));
	struct hold_look look = {.id = id, .over = context->json};
	bool begun = false;
	uint64_t number;
	int r = context_send(context, "logs", stream_arguments(id, "network", follow), &number);

	lines->context = context;
	while (r == 0) {
		struct trials_message *message;
		struct trials_error error;

		r = follow && begun
			    ? hold_look_next(&look, context, &message, &error)
			    : trials_next(context->connection, REPLY_SECONDS, &message, &error);
		if (r < 0) {
			r = -context_fail(context, r, &error);
			break;
		}
		begun = true;
		r = take_message(lines, message);
		trials_message_free(message);
	}
	hold_teller_done(&look.teller);
	free(lines);
	return r > 0 ? 0 : -r;
}

static json_t *only_network(const json_t *trial)
{
	static const char *const keys[] = {"id",	  "network",	      "hosts",
					   "connections", "connections_more", "no_network_used"};
	json_t *part = need_memory(json_object());

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set(part, keys[i], json_object_get(trial, keys[i]));
	return part;
}

/* Of one of which there is no connection to tell. */
static const char *why_none(const json_t *trial)
{
	const char *network = json_text(trial, "network");

	if (!json_object_get(trial, "started_at"))
		return "It never ran, and made no connection.";
	if (network && strcmp(network, "none") == 0)
		return "Its network was none: it could make no connection.";
	if (network && strcmp(network, "host") == 0)
		return "Its network was the host's: nobody saw its connections.";
	if (json_array_size(json_object_get(trial, "connections")) ||
	    json_flag(trial, "no_network_used"))
		return NULL;
	return "It made no connection.\n" NET_PROXY_HEEDED;
}

static int tell_record(struct context *context, const json_t *trial)
{
	const char *none = why_none(trial);

	if (context->json) {
		json_t *part = only_network(trial);

		context_print(context, part);
		json_decref(part);
		return 0;
	}
	if (none)
		fprintf(stderr, "%s\n", none);
	net_print(context, trial);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	bool follow = arguments_given(arguments, "follow");
	struct trials_error error;
	const char *state;
	json_t *trial;
	uint64_t id;
	int r;

	r = parse_trial_id(arguments->operands[0], &id, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	if (follow)
		return tell_stream(context, id, true);
	r = context_call(context, "show", id_arguments(id), &trial);
	if (r)
		return r;
	state = json_text(trial, "state");
	if (state && strcmp(state, "ended") == 0)
		r = tell_record(context, trial);
	else
		r = tell_stream(context, id, false);
	json_decref(trial);
	return r;
}

const struct command command_net = {
	.name = "net",
	.summary = "what a Trial connected to, and what it was refused",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.options = options,
	.run = run,
};
