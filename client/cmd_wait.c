/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "trial_print.h"

/*
 * All Trials are waited for at once and each is told of when it ends; the exit code follows the
 * order of the operands, so that it does not depend on who was faster.
 */

#define IN_FLIGHT_MAX 256 /* below what trialsd accepts of one client */

struct waiting {
	uint64_t id;
	uint64_t number; /* of the request; 0: not sent yet */
	bool answered;
	int exit_code;
};

static void take_answer(struct context *context, struct waiting *waiting,
			const struct trials_message *message)
{
	struct trials_error error;
	json_t *trial;
	char *line;
	int r;

	waiting->answered = true;
	r = trials_message_error(message, &error);
	if (r < 0) {
		waiting->exit_code = context_fail(context, r, &error);
		return;
	}
	trial = need_memory(json_from_message(message));
	waiting->exit_code = exit_code_of_trial(trial);
	if (context->json) {
		context_print(context, trial);
	} else if (!waiting->exit_code) {
		line = trial_line(trial);
		puts(line);
		fflush(stdout);
		free(line);
	}
	trial_report(context, trial);
	json_decref(trial);
}

static int gone(const struct context *context, int number, const struct trials_error *error)
{
	if (number != -ECONNRESET)
		return context_fail(context, number, error);
	return context_refuse(context, EXIT_NO_DAEMON, "once trialsd runs again, wait again",
			      "trialsd went away; its Trials go on");
}

static int wait_for_all(struct context *context, struct waiting *waiting, size_t count)
{
	size_t sent = 0, answered = 0;

	while (answered < count) {
		struct trials_message *message;
		struct trials_error error;
		int r;

		for (; sent < count && sent - answered < IN_FLIGHT_MAX; sent++) {
			r = context_send(context, "wait", id_arguments(waiting[sent].id),
					 &waiting[sent].number);
			if (r)
				return r;
		}
		r = trials_next(context->connection, -1, &message, &error);
		if (r < 0)
			return gone(context, r, &error);
		for (size_t i = 0; i < sent; i++) {
			if (waiting[i].answered ||
			    waiting[i].number != trials_message_number(message))
				continue;
			take_answer(context, &waiting[i], message);
			answered++;
		}
		trials_message_free(message);
	}
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	size_t count = arguments->operand_count;
	struct waiting *waiting = need_memory(calloc(count, sizeof(*waiting)));
	struct trials_error error;
	int r = 0;

	for (size_t i = 0; !r && i < count; i++) {
		r = parse_trial_id(arguments->operands[i], &waiting[i].id, &error);
		if (r < 0)
			r = context_fail(context, r, &error);
	}
	if (!r)
		r = context_connect(context);
	if (!r)
		r = wait_for_all(context, waiting, count);
	for (size_t i = 0; !r && i < count; i++)
		r = waiting[i].exit_code;
	free(waiting);
	return r;
}

const struct command command_wait = {
	.name = "wait",
	.summary = "wait until Trials have ended and exit as they did",
	.synopsis = "ID...",
	.operands = OPERANDS_IDS,
	.run = run,
};
