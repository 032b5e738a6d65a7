/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "proto/quantity.h"
#include "trial_print.h"

static const struct option options[] = {
	{"grace", 0, "TIME", NULL, COMPLETE_NOTHING, false,
	 "from TERM to the end (default: as launched)"},
	{0},
};

static int cancel_one(struct context *context, uint64_t id, const char *grace)
{
	json_t *request = id_arguments(id);
	double seconds;
	json_t *trial;
	int r;

	if (grace && quantity_time(grace, &seconds) >= 0)
		json_object_set_new(request, "grace_seconds", json_real(seconds));
	r = context_call(context, "cancel", request, &trial);
	if (r)
		return r;
	if (context->json) {
		context_print(context, trial);
	} else {
		char *line = trial_line(trial);

		puts(line);
		free(line);
	}
	json_decref(trial);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *grace = arguments_value(arguments, "grace");
	struct trials_error error;
	double seconds;
	uint64_t id;
	int first = 0;

	if (grace && quantity_time(grace, &seconds) < 0)
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--grace takes a time like 90s or 2min, not \"%s\"", grace);
	origins_add(&context->origins, "grace_seconds", "--grace");
	/* All operands are read before any Trial is ended. */
	for (size_t i = 0; i < arguments->operand_count; i++) {
		int r = parse_trial_id(arguments->operands[i], &id, &error);

		if (r < 0)
			return context_fail(context, r, &error);
	}
	for (size_t i = 0; i < arguments->operand_count; i++) {
		int r;

		parse_trial_id(arguments->operands[i], &id, &error);
		r = cancel_one(context, id, grace);
		if (r == EXIT_NO_DAEMON)
			return r;
		if (!first)
			first = r;
	}
	return first;
}

const struct command command_cancel = {
	.name = "cancel",
	.summary = "end Trials: TERM, then after the grace everything they started",
	.synopsis = "ID...",
	.operands = OPERANDS_IDS,
	.options = options,
	.run = run,
};
