/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "filter.h"
#include "json.h"
#include "proto/quantity.h"

static const struct option options[] = {
	{"older", 0, "TIME", NULL, COMPLETE_NOTHING, false, "only Trials that ended so long ago"},
	{"keep", 0, "N", NULL, COMPLETE_NOTHING, false, "all but the newest N"},
	{"larger", 0, "SIZE", NULL, COMPLETE_NOTHING, false,
	 "only the oldest, until the rest takes no more than SIZE on disk"},
	{"label", 0, "NAME=VALUE", NULL, COMPLETE_NOTHING, true,
	 "of Trials with this label, and no others; all of them when repeated"},
	{"dry-run", 0, NULL, NULL, COMPLETE_NOTHING, false, "only say how many, and how large"},
	{0},
};

/* One option into the request. */
static int add_option(const struct arguments *arguments, size_t index, json_t *request,
		      struct trials_error *ret_error)
{
	const char *name = arguments->given[index].option->name;
	const char *value = arguments->given[index].value;
	double seconds;
	uint64_t number;

	if (strcmp(name, "older") == 0) {
		if (quantity_time(value, &seconds) < 0)
			return usage_error(ret_error, NULL,
					   "--older takes a time like 12h or 30d, not \"%s\"",
					   value);
		json_object_set_new(request, "older_seconds", json_real(seconds));
	} else if (strcmp(name, "keep") == 0) {
		if (parse_unsigned(value, INT64_MAX, &number) < 0)
			return usage_error(ret_error, NULL,
					   "--keep takes a whole number, not \"%s\"", value);
		json_object_set_new(request, "keep", json_integer((json_int_t)number));
	} else if (strcmp(name, "larger") == 0) {
		if (quantity_size(value, &number) < 0)
			return usage_error(ret_error, NULL,
					   "--larger takes a size like 20G, not \"%s\"", value);
		json_object_set_new(request, "total_bytes", json_integer((json_int_t)number));
	} else if (strcmp(name, "dry-run") == 0) {
		json_object_set_new(request, "dry_run", json_true());
	} else if (strcmp(name, "label") == 0) {
		return label_add(request, arguments, index, ret_error);
	}
	return 0;
}

static int make_request(const struct arguments *arguments, json_t *request,
			struct trials_error *ret_error)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < arguments->given_count; i++)
		r = add_option(arguments, i, request, ret_error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < 4; i++)
		if (json_object_get(request, (const char *const[]){"older_seconds", "keep",
								   "total_bytes", "labels"}[i]))
			return 0;
	return usage_error(ret_error, "trialctl prune --keep 0 removes every Trial that has ended",
			   "say which: --older, --keep, --larger or --label");
}

static void print_reply(const json_t *reply, bool dry_run)
{
	int64_t count = json_whole(reply, "pruned", 0), left = json_whole(reply, "left", 0);
	char bytes[32];

	quantity_format_size((uint64_t)json_whole(reply, "bytes", 0), bytes, sizeof(bytes));
	printf("%lld %s %s: %s\n", (long long)count, count == 1 ? "Trial" : "Trials",
	       dry_run ? "would be pruned" : "pruned", bytes);
	if (left)
		printf("%lld of their folders could not be removed; trialsd's log says why\n",
		       (long long)left);
}

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *request = need_memory(json_object());
	struct trials_error error;
	json_t *reply = NULL;
	uint64_t number;
	int r;

	r = make_request(arguments, request, &error);
	if (r < 0) {
		json_decref(request);
		return context_fail(context, r, &error);
	}
	origins_add(&context->origins, "older_seconds", "--older");
	origins_add(&context->origins, "keep", "--keep");
	origins_add(&context->origins, "total_bytes", "--larger");
	origins_add(&context->origins, "labels", "--label");
	r = context_send(context, "prune", request, &number);
	if (!r)
		r = context_receive_late(context, number, "trialsd went away before all was pruned",
					 "once trialsd runs again, prune again", &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		print_reply(reply, arguments_given(arguments, "dry-run"));
	json_decref(reply);
	return 0;
}

const struct command command_prune = {
	.name = "prune",
	.summary = "remove Trials that have ended, with all that is kept of them",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.options = options,
	.run = run,
};
