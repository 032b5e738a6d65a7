/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "export_row.h"
#include "filter.h"
#include "json.h"
#include "proto/protocol.h"

#define WORD_(name, doc) #name " "
#define OUTCOME_WORD_(name, counts, doc) #name " "
#define ANY "any"

static const struct option options[] = {
	{"state", 0, "STATE", PROTOCOL_STATES(WORD_) ANY " ", COMPLETE_NOTHING, false,
	 "Trials in this state (default: ended), or in any"},
	{"outcome", 0, "OUTCOME", PROTOCOL_OUTCOMES(OUTCOME_WORD_), COMPLETE_NOTHING, false,
	 "only Trials that ended so"},
	{"label", 0, "NAME=VALUE", NULL, COMPLETE_NOTHING, true,
	 "only Trials with this label; all of them when repeated"},
	{"since", 0, "TIME", NULL, COMPLETE_NOTHING, false,
	 "only Trials accepted since: how long ago (2h), or a date (2025-03-01T14:30)"},
	FILTER_OPTIONS,
	{"connections", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "with what each may reach and what it connected to, which takes longer"},
	{"csv", 0, NULL, NULL, COMPLETE_NOTHING, false,
	 "comma-separated values under a line of names, in the place of JSON lines"},
	{0},
};

struct export
{
	struct context *context;
	json_t *filter;
	struct trial_filter own;
	enum export_form form;
	bool connections;
	bool terminal;
};

static int make_filter(const struct arguments *arguments, json_t *filter,
		       struct trials_error *ret_error)
{
	const char *state = arguments_value(arguments, "state");
	int r = 0;

	if (!state || strcmp(state, ANY) != 0)
		json_object_set_new(filter, "state", json_string(state ? state : "ended"));
	json_object_set_new(filter, "limit", json_integer(LIST_PAGE_MAX));
	for (size_t i = 0; r >= 0 && i < arguments->given_count; i++) {
		const char *name = arguments->given[i].option->name;
		const char *value = arguments->given[i].value;

		if (strcmp(name, "outcome") == 0)
			json_object_set_new(filter, name, json_string(value));
		else if (strcmp(name, "label") == 0)
			r = label_add(filter, arguments, i, ret_error);
		else if (strcmp(name, "since") == 0)
			r = since_add(filter, value, ret_error);
	}
	return r;
}

/* What only show tells; of one that was pruned meanwhile, what the page has. */
static int write_whole(const struct export *export, const json_t *trial)
{
	struct context *context = export->context;
	struct trials_message *request = NULL, *reply = NULL;
	json_t *arguments = id_arguments((uint64_t)json_whole(trial, "id", 0));
	struct trials_error error;
	json_t *whole = NULL;
	int r;

	r = arguments_from_json("show", arguments, &request, &error);
	json_decref(arguments);
	if (r == 0)
		r = trials_call(context->connection, "show", request, REPLY_SECONDS, &reply,
				&error);
	trials_message_free(request);
	if (r < 0 && !(r == -EREMOTEIO && strcmp(error.code, "not_found") == 0))
		return context_fail(context, r, &error);
	if (r == 0)
		whole = need_memory(json_from_message(reply));
	trials_message_free(reply);
	export_row(stdout, export->form, whole ? whole : trial, export->terminal);
	json_decref(whole);
	return 0;
}

/* One page is all that there is of it in memory, however many there are. */
static int write_page(struct export *export, const json_t *reply)
{
	json_t *trial;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(reply, "trials"), i, trial)
	{
		if (!trial_matches(&export->own, trial))
			continue;
		if (export->connections)
			r = write_whole(export, trial);
		else
			export_row(stdout, export->form, trial, export->terminal);
		if (r)
			return r;
	}
	return 0;
}

static int write_pages(struct export *export)
{
	json_int_t cursor = 0;
	int r;

	do {
		json_t *reply;

		if (cursor)
			json_object_set_new(export->filter, "before", json_integer(cursor));
		r = context_call(export->context, "list", json_incref(export->filter), &reply);
		if (r)
			return r;
		if (!cursor)
			export_header(stdout, export->form);
		r = write_page(export, reply);
		cursor = json_whole(reply, "cursor", 0);
		json_decref(reply);
	} while (!r && cursor && !ferror(stdout));
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	struct export export = {
		.context = context,
		.filter = need_memory(json_object()),
		.own = trial_filter_of(arguments),
		.form = arguments_given(arguments, "csv") ? EXPORT_CSV : EXPORT_JSON,
		.connections = arguments_given(arguments, "connections"),
		.terminal = isatty(STDOUT_FILENO) == 1,
	};
	struct trials_error error;
	int r = 0;

	if (export.form == EXPORT_CSV && context->json)
		r = usage_error(&error, NULL, "--csv and --json exclude each other");
	if (r >= 0)
		r = make_filter(arguments, export.filter, &error);
	if (r < 0) {
		json_decref(export.filter);
		return context_fail(context, r, &error);
	}
	/* A reader that has enough, such as head, ends this as it would end cat, also where whoever
	 * started it does not want to hear of that. */
	signal(SIGPIPE, SIG_DFL);
	origins_add(&context->origins, "labels", "--label");
	r = write_pages(&export);
	if (!r)
		trial_filter_tell(&export.own, context);
	json_decref(export.filter);
	return r;
}

const struct command command_export = {
	.name = "export",
	.summary = "outcomes as JSON lines or CSV, for programs",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.options = options,
	.run = run,
};
