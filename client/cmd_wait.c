/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "hold_tell.h"
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
	bool started; /* nothing can hold it any more */
	int exit_code;
};

/* What holds them is asked for one at a time, beside the waits that are under way. */
struct look {
	struct hold_teller teller;
	uint64_t number; /* of the request; 0: none is under way */
	size_t next;	 /* whom to ask about */
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

static int look_on(struct context *context, struct look *look, const struct waiting *waiting,
		   size_t sent)
{
	look->number = 0;
	for (; look->next < sent; look->next++)
		if (!waiting[look->next].answered && !waiting[look->next].started)
			return context_send(context, "show", id_arguments(waiting[look->next].id),
					    &look->number);
	return 0;
}

/* Nothing came for a while. */
static int look_again(struct context *context, struct look *look, const struct waiting *waiting,
		      size_t sent)
{
	if (look->number)
		return 0;
	look->next = 0;
	return look_on(context, look, waiting, sent);
}

static int take_look(struct context *context, struct look *look, struct waiting *waiting,
		     size_t sent, const struct trials_message *message)
{
	struct waiting *of = &waiting[look->next++];
	struct trials_error error;
	json_t *trial;

	if (trials_message_error(message, &error) >= 0) {
		trial = need_memory(json_from_message(message));
		of->started = !hold_tell(&look->teller, trial);
		json_decref(trial);
	}
	return look_on(context, look, waiting, sent);
}

static int wait_for_all(struct context *context, struct waiting *waiting, size_t count,
			struct look *look)
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
		r = trials_next(context->connection, context->json ? -1 : HOLD_LOOK_SECONDS,
				&message, &error);
		if (r == -ETIMEDOUT) {
			r = look_again(context, look, waiting, sent);
			if (r)
				return r;
			continue;
		}
		if (r < 0)
			return gone(context, r, &error);
		if (look->number && trials_message_number(message) == look->number) {
			r = take_look(context, look, waiting, sent, message);
			trials_message_free(message);
			if (r)
				return r;
			continue;
		}
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
	struct look look = {0};
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
		r = wait_for_all(context, waiting, count, &look);
	hold_teller_done(&look.teller);
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
