/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hold_print.h"
#include "hold_tell.h"
#include "json.h"

void hold_teller_done(struct hold_teller *teller)
{
	free(teller->told);
	teller->told = NULL;
}

static bool is(const json_t *object, const char *key, const char *word)
{
	const char *text = json_text(object, key);

	return text && strcmp(text, word) == 0;
}

/* The one command; the reason of a login has its own. */
static const char *mends(const json_t *trial)
{
	static const char *const commands[][2] = {
		{"pause", "trialctl resume"},
		{"drain", "trialctl resume"},
		{"disk", "trialctl prune"},
		{"sandbox", "trialctl doctor"},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (is(trial, "hold", commands[i][0]))
			return commands[i][1];
	return NULL;
}

bool hold_tell(struct hold_teller *teller, const json_t *trial)
{
	bool waits = !is(trial, "state", "running") && !is(trial, "state", "ending") &&
		     !is(trial, "state", "ended");
	char *text = waits ? hold_text(trial) : NULL;
	const char *hint = mends(trial);

	/* Of many that are waited for most are held by the same. */
	if (!text || !*text || (teller->told && strcmp(teller->told, text) == 0)) {
		free(text);
		return waits;
	}
	fprintf(stderr, "Trial %lld is held: %s\n", (long long)json_whole(trial, "id", 0), text);
	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(teller->told);
	teller->told = text;
	return true;
}

/* Where it cannot be sent the next message cannot be read either. */
static void ask(struct hold_look *look, struct context *context)
{
	if (!look->number &&
	    context_send(context, "show", id_arguments(look->id), &look->number) != 0)
		look->over = true;
}

static void take(struct hold_look *look, struct trials_message *message)
{
	struct trials_error error;
	json_t *trial;

	look->number = 0;
	look->over = trials_message_error(message, &error) < 0;
	if (!look->over) {
		trial = need_memory(json_from_message(message));
		look->over = !hold_tell(&look->teller, trial);
		json_decref(trial);
	}
	trials_message_free(message);
}

int hold_look_next(struct hold_look *look, struct context *context,
		   struct trials_message **ret_message, struct trials_error *ret_error)
{
	for (;;) {
		int r = trials_next(context->connection, look->over ? -1 : HOLD_LOOK_SECONDS,
				    ret_message, ret_error);

		if (r == -ETIMEDOUT && !look->over)
			ask(look, context);
		else if (r < 0 || !look->number ||
			 trials_message_number(*ret_message) != look->number)
			return r;
		else
			take(look, *ret_message);
	}
}
