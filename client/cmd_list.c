/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "exit_code.h"
#include "filter.h"
#include "json.h"
#include "print.h"
#include "proto/protocol.h"
#include "proto/quantity.h"
#include "trial_print.h"

#define WORD_(name, doc) #name " "
#define OUTCOME_WORD_(name, counts, doc) #name " "

static const struct option options[] = {
	{"state", 0, "STATE", PROTOCOL_STATES(WORD_), COMPLETE_NOTHING, false,
	 "only Trials in this state"},
	{"outcome", 0, "OUTCOME", PROTOCOL_OUTCOMES(OUTCOME_WORD_), COMPLETE_NOTHING, false,
	 "only Trials that ended so"},
	{"label", 0, "NAME=VALUE", NULL, COMPLETE_NOTHING, true,
	 "only Trials with this label; all of them when repeated"},
	{"since", 0, "TIME", NULL, COMPLETE_NOTHING, false,
	 "only Trials accepted since: how long ago (2h), or a date (2025-03-01T14:30)"},
	FILTER_OPTIONS,
	{"limit", 0, "N", NULL, COMPLETE_NOTHING, false, "the newest N (default: all)"},
	{"size", 0, NULL, NULL, COMPLETE_NOTHING, false, "with what each takes on disk"},
	{0},
};

/* The last but one, SIZE, is there only when it was asked for. */
enum { COLUMNS = 9 };

/* The arguments of the verb but for the page, and how many Trials are wanted in all. */
static int make_filter(const struct arguments *arguments, json_t *filter, uint64_t *ret_limit,
		       struct trials_error *ret_error)
{
	int r = 0;

	*ret_limit = UINT64_MAX;
	for (size_t i = 0; r >= 0 && i < arguments->given_count; i++) {
		const char *name = arguments->given[i].option->name;
		const char *value = arguments->given[i].value;

		if (strcmp(name, "state") == 0 || strcmp(name, "outcome") == 0)
			json_object_set_new(filter, name, json_string(value));
		else if (strcmp(name, "label") == 0)
			r = label_add(filter, arguments, i, ret_error);
		else if (strcmp(name, "size") == 0)
			json_object_set_new(filter, "sizes", json_true());
		else if (strcmp(name, "since") == 0)
			r = since_add(filter, value, ret_error);
		else if (strcmp(name, "limit") == 0 &&
			 (parse_unsigned(value, INT64_MAX, ret_limit) < 0 || !*ret_limit))
			r = usage_error(ret_error, NULL, "--limit takes a whole number from 1 on");
	}
	return r;
}

/* The Grader of a diff (cmd_diff.c), whose command is a script that nobody wants to read here. */
static char *what_compares(const json_t *trial)
{
	const char *of = json_text(json_object_get(trial, "labels"), "diff-of");
	const char *role = json_text(trial, "role");
	const json_t *command = json_object_get(trial, "command");
	const char *name = json_string_value(json_array_get(command, 3));
	uint64_t id;
	char *text;

	if (!of || !role || strcmp(role, "grader") != 0 || json_array_size(command) != 5 || !name ||
	    strcmp(name, "diff") != 0 || parse_unsigned(of, INT64_MAX, &id) < 0)
		return NULL;
	return need_memory(
		asprintf(&text, "trialctl diff %llu", (unsigned long long)id) < 0 ? NULL : text);
}

/* Of an Arm what it is called, before that: the Trials that are compared. */
static char *with_arm(const json_t *trial, char *what)
{
	char *name, *text;

	if (!json_object_get(trial, "arm_name"))
		return what;
	name = json_display(json_object_get(trial, "arm_name"));
	if (asprintf(&text, "%s: %s", name, what) < 0)
		text = NULL;
	free(name);
	free(what);
	return need_memory(text);
}

/* Of a Grader whose result it judges, whose seat it has, and what it said, before that. */
static char *with_verdict(const json_t *trial, char *what)
{
	char *vote, *seat, *bar, *text;

	if (!json_object_get(trial, "of"))
		return what;
	vote = json_display(json_object_get(json_object_get(trial, "verdict"), "vote"));
	seat = json_display(json_object_get(trial, "seat"));
	bar = json_display(json_object_get(trial, "bar"));
	if (asprintf(&text, "judges %lld%s%s%s%s%s%s: %s", (long long)json_whole(trial, "of", 0),
		     *seat ? " as " : "", seat, *bar ? " of Bar " : "", bar, *vote ? ", " : "",
		     vote, what) < 0)
		text = NULL;
	free(vote);
	free(seat);
	free(bar);
	free(what);
	return need_memory(text);
}

/* Of whatever else is under a Bar, which one that is. */
static char *with_bar(const json_t *trial, char *what)
{
	char *bar, *text;

	if (!json_object_get(trial, "bar") || json_object_get(trial, "of"))
		return what;
	bar = json_display(json_object_get(trial, "bar"));
	if (asprintf(&text, "(Bar %s) %s", bar, what) < 0)
		text = NULL;
	free(bar);
	free(what);
	return need_memory(text);
}

/* The command; of a session whose it is, and its model. */
static char *what_runs(const json_t *trial)
{
	const json_t *harness = json_object_get(trial, "harness");
	char *name, *model, *text = what_compares(trial);

	if (text)
		return text;
	if (!harness)
		return json_display_command(json_object_get(trial, "command"));
	name = json_display(json_object_get(harness, "name"));
	model = json_display(json_object_get(harness, "model"));
	if (asprintf(&text, "%s%s%s", name, *model ? " " : "", model) < 0)
		text = NULL;
	free(name);
	free(model);
	return need_memory(text);
}

/* Of a void one why it is: what its command ended with is nobody's, where it came to that at all. */
static char *what_ended(const json_t *trial)
{
	const char *outcome = json_text(trial, "outcome");
	const json_t *cause = json_object_get(trial, "cause");

	return outcome && strcmp(outcome, "void") == 0 && cause ? json_display(cause)
								: trial_end(trial);
}

/* That it had none is said of it wherever it is told: it could do anything. */
static char *with_sandbox(const json_t *trial, char *what)
{
	char *text;

	if (!json_flag(trial, "no_sandbox"))
		return what;
	if (asprintf(&text, "(no sandbox) %s", what) < 0)
		text = NULL;
	free(what);
	return need_memory(text);
}

static void add_row(struct table *table, const json_t *trial, bool sizes)
{
	const char *state = json_text(trial, "state");
	const char *outcome = json_text(trial, "outcome");
	double seconds = json_float(trial, "wall_seconds", -1);
	char submitted[64], duration[64] = "", size[32] = "";
	char *cells[COLUMNS];
	const enum tone tones[COLUMNS] = {
		[1] = tone_of_word(state),
		[2] = tone_of_word(outcome),
		[5] = TONE_FAINT,
	};

	format_time(json_whole(trial, "submitted_at", 0), submitted, sizeof(submitted));
	if (seconds >= 0)
		quantity_format_time(seconds, duration, sizeof(duration));
	cells[0] = json_display(json_object_get(trial, "id"));
	cells[1] = json_display(json_object_get(trial, "state"));
	cells[2] = json_display(json_object_get(trial, "outcome"));
	cells[3] = what_ended(trial);
	cells[4] = json_display(json_object_get(trial, "role"));
	cells[5] = need_memory(strdup(submitted));
	cells[6] = need_memory(strdup(duration));
	quantity_format_size((uint64_t)json_whole(trial, "disk_bytes", 0), size, sizeof(size));
	cells[7] = need_memory(strdup(size));
	cells[8] = with_arm(trial, with_verdict(trial, what_runs(trial)));
	cells[8] = with_sandbox(trial, with_bar(trial, cells[8]));
	if (!sizes) {
		char *unasked = cells[7];

		cells[7] = cells[8];
		cells[8] = unasked;
	}
	table_add(table, (const char *const *)cells, tones);
	for (size_t i = 0; i < COLUMNS; i++)
		free(cells[i]);
}

/* A page at a time, each asked for with the cursor of the one before. */
static int take_pages(struct context *context, json_t *filter, struct trial_filter *own,
		      uint64_t limit, struct table *table)
{
	json_int_t cursor = 0;

	do {
		json_t *reply, *trial;
		bool all = !own->arm && !own->role;
		uint64_t page = all && limit < LIST_PAGE_MAX ? limit : LIST_PAGE_MAX;
		size_t i;
		int r;

		json_object_set_new(filter, "limit", json_integer((json_int_t)page));
		if (cursor)
			json_object_set_new(filter, "before", json_integer(cursor));
		r = context_call(context, "list", json_incref(filter), &reply);
		if (r)
			return r;
		json_array_foreach(json_object_get(reply, "trials"), i, trial)
		{
			if (limit == 0 || !trial_matches(own, trial))
				continue;
			if (context->json)
				context_print(context, trial);
			else
				add_row(table, trial, json_object_get(filter, "sizes") != NULL);
			limit--;
		}
		cursor = json_whole(reply, "cursor", 0);
		json_decref(reply);
	} while (cursor && limit && !ferror(stdout));
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	static const char *const titles[COLUMNS] = {"ID",	"STATE", "OUTCOME",
						    "END",	"ROLE",	 "SUBMITTED",
						    "DURATION", "SIZE",	 "COMMAND"};
	static const char *const titles_without_size[COLUMNS - 1] = {
		"ID", "STATE", "OUTCOME", "END", "ROLE", "SUBMITTED", "DURATION", "COMMAND"};
	static const size_t spare_columns[] = {4, 3, 5}; /* role, end, submitted */
	json_t *filter = need_memory(json_object());
	struct trial_filter own = trial_filter_of(arguments);
	struct trials_error error;
	struct table *table;
	uint64_t limit;
	int r;

	r = make_filter(arguments, filter, &limit, &error);
	if (r < 0) {
		json_decref(filter);
		return context_fail(context, r, &error);
	}
	table = json_object_get(filter, "sizes") ? table_new(titles, COLUMNS)
						 : table_new(titles_without_size, COLUMNS - 1);
	table_may_leave_out(table, spare_columns, sizeof(spare_columns) / sizeof(spare_columns[0]));
	origins_add(&context->origins, "labels", "--label");
	r = take_pages(context, filter, &own, limit, table);
	if (!r)
		trial_filter_tell(&own, context);
	if (!r && !context->json)
		table_print(table, stdout, context->colours, terminal_width(stdout));
	table_free(table);
	json_decref(filter);
	return r;
}

const struct command command_list = {
	.name = "list",
	.summary = "Trials, newest first",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.options = options,
	.run = run,
};
