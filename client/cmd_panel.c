/* SPDX-License-Identifier: MIT */

/* Panels: who votes on the results of Arms under a Bar. trialsd decides; this tells it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_find.h"
#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "print.h"

#define EXIT_DOES_NOT_HOLD 1

static const struct option options[] = {
	{"bar", 0, "NAME", NULL, COMPLETE_NOTHING, false, "the Bar (trialctl bar list)"},
	{"arm", 0, "ID", NULL, COMPLETE_NOTHING, true,
	 "an Arm, by its id (8 digits will do) or name"},
	{0},
};

/* "codex (openai) votes", "moon (moonshot) is withheld: moonshot; glm (zai) votes instead" */
static void print_seat(const json_t *seat)
{
	char *name = json_display(json_object_get(seat, "seat"));
	char *families = json_display_command(json_object_get(seat, "families"));
	char *because = json_display_command(json_object_get(seat, "because"));
	char *stand_in = json_display(json_object_get(seat, "stand_in"));
	char *its = json_display_command(json_object_get(seat, "stand_in_families"));

	printf("  %s (%s) ", name, *families ? families : "no known family");
	if (!json_flag(seat, "withheld"))
		printf("votes\n");
	else if (*stand_in)
		printf("is withheld for %s; %s (%s) votes instead\n", because, stand_in,
		       *its ? its : "no known family");
	else
		printf("is withheld for %s; nobody votes instead\n", because);
	free(name);
	free(families);
	free(because);
	free(stand_in);
	free(its);
}

static void print_panel(const json_t *arm)
{
	char *name = json_display(json_object_get(arm, "name"));
	char *id = json_display(json_object_get(arm, "arm"));
	char *families = json_display_command(json_object_get(arm, "families"));
	char *reason = json_display(json_object_get(arm, "reason"));
	char *hint = json_display(json_object_get(arm, "hint"));
	json_t *seat;
	size_t i;

	printf("%s %.12s (%s): %s\n", name, id, *families ? families : "no known family",
	       json_flag(arm, "ok") ? "holds" : "refused");
	json_array_foreach(json_object_get(arm, "seats"), i, seat) print_seat(seat);
	if (*reason)
		printf("  why: %s\n", reason);
	if (*hint)
		printf("  hint: %s\n", hint);
	free(name);
	free(id);
	free(families);
	free(reason);
	free(hint);
}

static int check(struct context *context, const char *bar, const struct arguments *arguments)
{
	json_t *request = need_memory(json_object()), *arms = need_memory(json_array()), *reply;
	json_t *arm, *warning;
	bool holds;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < arguments->given_count; i++) {
		char *id = NULL;

		if (strcmp(arguments->given[i].option->name, "arm") == 0)
			r = arm_find(context, "--arm", arguments->given[i].value, &id);
		if (id)
			json_array_append_new(arms, text_value(id));
		free(id);
	}
	json_object_set_new(request, "bar", text_value(bar));
	json_object_set_new(request, "arms", arms);
	if (r)
		json_decref(request);
	else
		r = context_call(context, "panel_check", request, &reply);
	if (r)
		return r;
	holds = json_flag(reply, "ok");
	if (context->json) {
		context_print(context, reply);
	} else {
		json_array_foreach(json_object_get(reply, "arms"), i, arm) print_panel(arm);
		fflush(stdout);
		json_array_foreach(json_object_get(reply, "warnings"), i, warning)
			context_warn(context, "%s", json_string_value(warning));
	}
	json_decref(reply);
	return holds ? 0 : EXIT_DOES_NOT_HOLD;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *bar = arguments_value(arguments, "bar");

	if (strcmp(arguments->operands[0], "check") != 0 || arguments->operand_count != 1 || !bar ||
	    !arguments_given(arguments, "arm"))
		return context_refuse(context, EXIT_USED_WRONG, "trialctl help panel",
				      "panel takes check, with --bar NAME and --arm ID");
	return check(context, bar, arguments);
}

const struct command command_panel = {
	.name = "panel",
	.summary = "who votes on the results of Arms under a Bar, and whether that will do",
	.synopsis = "check",
	.operands = OPERANDS_WORDS,
	.options = options,
	.run = run,
};
