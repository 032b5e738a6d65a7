/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "hold_print.h"
#include "json.h"
#include "neutralise.h"
#include "print.h"
#include "trial_print.h"

static const struct option options[] = {
	{"after", 0, "N", NULL, COMPLETE_NOTHING, false,
	 "first the changes after the one with this number; 0: all"},
	{0},
};

static bool has_ended(const json_t *trial)
{
	const char *state = json_text(trial, "state");

	return state && strcmp(state, "ended") == 0;
}

/* The state that a change led to; the Trial itself may be further on. The change's. */
static const char *state_of_change(const json_t *change)
{
	const char *state = json_text(change, "state");

	return state ? state : json_text(json_object_get(change, "trial"), "state");
}

/*
 * When the change was, in microseconds, where it is not told: the end of a Trial that had ended
 * before the watch, of which the Trial itself knows.
 */
static int64_t time_of_change(const json_t *trial)
{
	static const struct {
		const char *state;
		const char *key;
	} keys[] = {{"queued", "submitted_at"}, {"running", "started_at"}, {"ended", "ended_at"}};
	const char *state = json_text(trial, "state");
	int64_t now = (int64_t)time(NULL) * 1000000;

	for (size_t i = 0; state && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].state, state) == 0)
			return json_whole(trial, keys[i].key, now);
	return now;
}

static void print_json(struct context *context, const char *event, int64_t at, const json_t *body)
{
	json_t *line = need_memory(json_pack("{s:s, s:I}", "event", event, "at", (json_int_t)at));

	json_object_update(line, (json_t *)body);
	context_print(context, line);
	json_decref(line);
}

static void print_moment(const struct context *context, int64_t at)
{
	char moment[64];

	format_time(at, moment, sizeof(moment));
	print_toned(stdout, context->colours, TONE_FAINT, moment);
}

/* What holds the queue now: the body of an event, or the reply that a watch begins with. */
static void tell_queue(struct context *context, const json_t *queue)
{
	int64_t at = json_whole(queue, "at", (int64_t)time(NULL) * 1000000);
	char *hold = hold_text(queue);

	if (context->json) {
		print_json(context, "queue", at, queue);
	} else {
		print_moment(context, at);
		fputs("  queue: ", stdout);
		print_toned(stdout, context->colours, *hold ? TONE_ODD : TONE_PLAIN,
			    *hold ? "held" : "held no more");
		printf("%s%s\n", *hold ? " by " : "", hold);
		fflush(stdout);
	}
	free(hold);
}

static void print_change(struct context *context, const json_t *change)
{
	const json_t *trial = json_object_get(change, "trial");
	char *before = json_display(json_object_get(change, "before"));
	const char *reached = state_of_change(change) ?: "";
	char *state = need_memory(neutralise_line(reached, strlen(reached)));
	char *line = trial_line(trial);

	print_moment(context, json_whole(change, "at", time_of_change(trial)));
	printf("  Trial %lld: ", (long long)json_whole(trial, "id", 0));
	if (*before)
		printf("%s -> ", before);
	print_toned(stdout, context->colours, tone_of_word(state), state);
	if (strcmp(state, "ended") == 0) {
		fputs("  ", stdout);
		print_toned(stdout, context->colours, tone_of_word(json_text(trial, "outcome")),
			    strchr(line, ':') + 2);
	}
	putchar('\n');
	fflush(stdout);
	free(before);
	free(state);
	free(line);
}

static void tell_change(struct context *context, const json_t *change)
{
	if (context->json)
		print_json(context, "state", time_of_change(json_object_get(change, "trial")),
			   change);
	else
		print_change(context, change);
}

/* Until the connection ends, or the Trial. over: it has ended, and only old changes are to come. */
static int take_changes(struct context *context, uint64_t id, bool over)
{
	for (;;) {
		struct trials_message *message;
		struct trials_error error;
		const char *event;
		bool last = false;
		int r;

		r = trials_next(context->connection, -1, &message, &error);
		if (r < 0)
			return context_fail(context, r, &error);
		event = trials_message_event(message);
		if (event && strcmp(event, "state") == 0) {
			json_t *change = need_memory(json_from_message(message));

			tell_change(context, change);
			last = id && strcmp(state_of_change(change) ?: "", "ended") == 0;
			json_decref(change);
		} else if (event && strcmp(event, "queue") == 0) {
			json_t *queue = need_memory(json_from_message(message));

			tell_queue(context, queue);
			json_decref(queue);
		} else if (event && strcmp(event, "caught_up") == 0) {
			last = over;
		}
		trials_message_free(message);
		if (last || ferror(stdout))
			return 0;
	}
}

/* Asked after the watch began, so that an end between the two is seen by one of them. */
static int ended_already(struct context *context, uint64_t id, bool tell, bool *ret_ended)
{
	json_t *change, *trial;
	int r;

	r = context_call(context, "show", id_arguments(id), &trial);
	if (r)
		return r;
	*ret_ended = has_ended(trial);
	if (*ret_ended && tell) {
		change = need_memory(json_pack("{s:O}", "trial", trial));
		tell_change(context, change);
		json_decref(change);
	}
	json_decref(trial);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *after = arguments_value(arguments, "after");
	json_t *request = need_memory(json_object()), *reply;
	struct trials_error error;
	uint64_t id = 0, number;
	bool ended = false;
	int r = 0;

	if (after && parse_unsigned(after, INT64_MAX, &number) < 0)
		r = usage_error(&error, NULL, "--after takes the number of a change, not \"%s\"",
				after);
	else if (after)
		json_object_set_new(request, "after", json_integer((json_int_t)number));
	if (r == 0 && arguments->operand_count)
		r = parse_trial_id(arguments->operands[0], &id, &error);
	if (r < 0) {
		json_decref(request);
		return context_fail(context, r, &error);
	}
	if (id)
		json_object_set_new(request, "id", json_integer((json_int_t)id));
	origins_add(&context->origins, "after", "--after");
	r = context_call(context, "watch", request, &reply);
	if (r)
		return r;
	if (json_object_get(reply, "hold")) {
		json_object_del(reply, "number");
		tell_queue(context, reply);
	}
	json_decref(reply);
	if (id)
		r = ended_already(context, id, !after, &ended);
	if (r || (ended && !after))
		return r;
	return take_changes(context, id, ended);
}

const struct command command_watch = {
	.name = "watch",
	.summary = "state changes of all Trials as they come, or of one until its end",
	.synopsis = "[ID]",
	.operands = OPERANDS_OPTIONAL_ID,
	.options = options,
	.run = run,
};
