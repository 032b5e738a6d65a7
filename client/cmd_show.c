/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "print.h"
#include "trial_print.h"

static const struct option options[] = {
	{"plan", 0, NULL, NULL, COMPLETE_NOTHING, false, "with the sandbox's arguments"},
	{0},
};

/* With a word where a plan was asked for, and none is there. */
static void print(const struct context *context, const json_t *trial, bool plan)
{
	trial_print(context, trial);
	if (plan && !json_object_get(trial, "sandbox") && !json_object_get(trial, "plan"))
		print_field(stdout, "plan",
			    json_text(trial, "outcome") ? "none: it ended before one was made"
							: "none yet: it has not started");
}

static int run(struct context *context, const struct arguments *arguments)
{
	struct trials_error error;
	json_t *request, *trial;
	uint64_t id;
	int r;

	r = parse_trial_id(arguments->operands[0], &id, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	request = id_arguments(id);
	if (arguments_given(arguments, "plan"))
		json_object_set_new(request, "plan", json_true());
	r = context_call(context, "show", request, &trial);
	if (r)
		return r;
	if (context->json)
		context_print(context, trial);
	else
		print(context, trial, arguments_given(arguments, "plan"));
	json_decref(trial);
	return 0;
}

const struct command command_show = {
	.name = "show",
	.summary = "everything known of one Trial",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.options = options,
	.run = run,
};
