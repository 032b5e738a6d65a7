/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "hold_tell.h"
#include "json.h"
#include "stream.h"

static const struct option options[] = {
	{"stderr", 0, NULL, NULL, COMPLETE_NOTHING, false, "standard error instead"},
	{"follow", 'f', NULL, NULL, COMPLETE_NOTHING, false, "go on until the Trial has ended"},
	{"tail", 0, "N", NULL, COMPLETE_NOTHING, false, "only the last N lines"},
	{"raw", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "exact bytes: the default, except on a terminal, where it is refused"},
	{0},
};

static int make_request(struct context *context, const struct arguments *arguments,
			const char *stream, uint64_t *ret_id, json_t **ret_request)
{
	const char *tail = arguments_value(arguments, "tail");
	struct trials_error error;
	uint64_t lines = 0;
	int r;

	r = parse_trial_id(arguments->operands[0], ret_id, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	if (tail && parse_unsigned(tail, INT64_MAX, &lines) < 0)
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--tail takes a number of lines, not \"%s\"", tail);
	if (arguments_given(arguments, "raw") && !context->json && isatty(STDOUT_FILENO))
		return context_refuse(context, EXIT_USED_WRONG, "leave --raw away, or redirect",
				      "--raw is refused on a terminal: the Trial's output could "
				      "control it");
	*ret_request = stream_arguments(*ret_id, stream, arguments_given(arguments, "follow"));
	if (tail)
		json_object_set_new(*ret_request, "tail", json_integer((json_int_t)lines));
	return 0;
}

/* 0: go on; 1: the end was told; otherwise minus the exit code, and it has been said. */
static int take_message(struct context *context, struct stream_writer *writer,
			const struct trials_message *message)
{
	struct trials_error error;
	int r;

	r = trials_message_error(message, &error);
	if (r < 0)
		return -context_fail(context, r, &error);
	if (!trials_message_event(message))
		return 0;
	r = stream_writer_event(writer, message);
	if (r < 0)
		return -context_refuse(context, EXIT_OUTPUT, NULL,
				       "cannot write to standard output");
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *stream = arguments_given(arguments, "stderr") ? "stderr" : "stdout";
	bool follow = arguments_given(arguments, "follow"), begun = false;
	struct hold_look look = {.over = context->json};
	struct stream_writer writer;
	json_t *request = NULL;
	uint64_t number;
	int r;

	r = make_request(context, arguments, stream, &look.id, &request);
	if (!r)
		r = context_send(context, "logs", request, &number);
	if (r)
		return r;
	stream_writer_init(&writer, context, stream, stdout);
	do {
		struct trials_message *message;
		struct trials_error error;

		/* From the reply on, what is followed may be silent for as long as it likes. */
		r = follow && begun
			    ? hold_look_next(&look, context, &message, &error)
			    : trials_next(context->connection, REPLY_SECONDS, &message, &error);
		if (r < 0) {
			hold_teller_done(&look.teller);
			return context_fail(context, r, &error);
		}
		begun = true;
		r = take_message(context, &writer, message);
		trials_message_free(message);
	} while (!r);
	hold_teller_done(&look.teller);
	return r > 0 ? 0 : -r;
}

const struct command command_logs = {
	.name = "logs",
	.summary = "what a Trial wrote to its standard output",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.options = options,
	.run = run,
};
