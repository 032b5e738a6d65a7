/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "attend.h"
#include "command.h"
#include "filter.h"
#include "json.h"
#include "proto/protocol.h"

static const struct option options[] = {
	{"changed", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "although something is not as it was then, which its notes tell"},
	{"label", 0, "NAME=VALUE", NULL, COMPLETE_NOTHING, true,
	 "a name of yours for list, beside those that it had"},
	{"priority", 0, "N", NULL, COMPLETE_NOTHING, false,
	 "-1000 to 1000; higher runs first (default: as it had)"},
	{"wait", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "stay until it has ended and exit as it did; Ctrl-C cancels it"},
	{"follow", 'f', NULL, NULL, COMPLETE_NOTHING, false,
	 "pass its output on as it comes; with --wait understood"},
	{0},
};

static int set_priority(json_t *request, const char *value, struct trials_error *ret_error)
{
	bool negative = *value == '-';
	uint64_t magnitude;

	if (parse_unsigned(value + negative, PRIORITY_MAX, &magnitude) < 0)
		return usage_error(ret_error, NULL,
				   "--priority takes a whole number from -%d to %d", PRIORITY_MAX,
				   PRIORITY_MAX);
	json_object_set_new(request, "priority",
			    json_integer(negative ? -(json_int_t)magnitude
						  : (json_int_t)magnitude));
	return 0;
}

static int make_request(const struct arguments *arguments, json_t **ret_request,
			struct trials_error *ret_error)
{
	json_t *request;
	uint64_t id;
	int r = parse_trial_id(arguments->operands[0], &id, ret_error);

	if (r < 0)
		return r;
	request = id_arguments(id);
	for (size_t i = 0; r >= 0 && i < arguments->given_count; i++) {
		const char *name = arguments->given[i].option->name;

		if (strcmp(name, "label") == 0)
			r = label_add(request, arguments, i, ret_error);
		else if (strcmp(name, "priority") == 0)
			r = set_priority(request, arguments->given[i].value, ret_error);
		else if (strcmp(name, "changed") == 0)
			json_object_set_new(request, "changed", json_true());
	}
	if (r < 0)
		json_decref(request);
	*ret_request = request;
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	struct spec spec = {.verb = "rerun", .prompt_fd = -1};
	struct trials_error error;
	int r;

	r = make_request(arguments, &spec.launch, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	origins_add(&context->origins, "labels", "--label");
	r = launch(context, arguments, &spec);
	spec_done(&spec);
	return r;
}

const struct command command_rerun = {
	.name = "rerun",
	.summary = "the same Trial once more, from what is kept of it",
	.synopsis = "ID",
	.operands = OPERANDS_ID,
	.options = options,
	.run = run,
};
