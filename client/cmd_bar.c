/* SPDX-License-Identifier: MIT */

/*
 * Bars: what results are held to, and who votes on them. What a file says is made into what the protocol
 * takes here (bar_file.c); families and changes are trialsd's to judge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_find.h"
#include "bar_file.h"
#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "input.h"
#include "json.h"
#include "json_file.h"
#include "pages.h"
#include "print.h"
#include "proto/protocol.h"

/* --- set ------------------------------------------------------------------------------------------ */

/* Beside the file that names it. */
static char *path_beside(const char *file, const char *name)
{
	const char *slash = *name == '/' || strcmp(file, "-") == 0 ? NULL : strrchr(file, '/');
	char *path = NULL;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash - file) + 1 : 0, file, name) < 0)
		path = NULL;
	return need_memory(path);
}

static int add_standard(struct context *context, const char *file, const char *name, json_t *spec)
{
	char *path = path_beside(file, name), *text = NULL;
	size_t size;
	json_t *value;
	int r = input_read(context, "standard_file", path, BAR_STANDARD_BYTES_MAX, NULL, &text,
			   &size);

	if (r == 0) {
		/* NULL: it is no text. */
		value = json_stringn(text, size);
		if (value && !memchr(text, '\0', size))
			json_object_set(spec, "standard", value);
		else
			r = context_refuse(context, EXIT_USED_WRONG, NULL,
					   "standard_file: %s is no text in UTF-8", path);
		json_decref(value);
	}
	free(text);
	free(path);
	return r;
}

/* A message is about the file, and not about the request that is made of it. */
static void note_origins(struct origins *origins, const char *standard_file)
{
	origins->within = "spec";
	origins_add(origins, "spec", "FILE");
	if (standard_file)
		origins_add(origins, "standard", "standard_file");
}

static int read_file(struct context *context, const char *file, json_t **ret_spec)
{
	const char *standard_file = NULL;
	struct trials_error error;
	json_t *json, *spec = NULL;
	int r = json_file_read(context, file, &json);

	if (r)
		return r;
	r = bar_file_spec(json, &spec, &standard_file, &error);
	if (r < 0)
		r = context_fail(context, r, &error);
	else if (standard_file)
		r = add_standard(context, file, standard_file, spec);
	if (r == 0)
		note_origins(&context->origins, standard_file);
	json_decref(json);
	if (r)
		json_decref(spec);
	else
		*ret_spec = spec;
	return r;
}

/* An Arm by its id, whatever it was named by. */
static int settle_arms(struct context *context, const json_t *spec, const char *list)
{
	json_t *seat;
	size_t i;

	json_array_foreach(json_object_get(spec, list), i, seat)
	{
		char what[48], *id;
		int r;

		if (!json_text(seat, "arm"))
			continue;
		snprintf(what, sizeof(what), "%s[%zu].arm", list, i);
		r = arm_find(context, what, json_text(seat, "arm"), &id);
		if (r)
			return r;
		json_object_set_new(seat, "arm", text_value(id));
		free(id);
	}
	return 0;
}

static int set(struct context *context, const char *file)
{
	json_t *spec = NULL, *request, *reply = NULL, *warning;
	size_t i;
	int r = read_file(context, file, &spec);

	if (r)
		return r;
	r = settle_arms(context, spec, "seats");
	if (r == 0)
		r = settle_arms(context, spec, "stand_ins");
	if (r) {
		json_decref(spec);
		return r;
	}
	request = need_memory(json_object());
	json_object_set_new(request, "spec", spec);
	r = context_call(context, "bar_set", request, &reply);
	if (r)
		return r;
	if (context->json) {
		context_print(context, reply);
	} else {
		printf("%s\n", json_text(reply, "id"));
		json_array_foreach(json_object_get(reply, "warnings"), i, warning)
			context_warn(context, "%s", json_string_value(warning));
	}
	json_decref(reply);
	return 0;
}

/* --- list, show ----------------------------------------------------------------------------------- */

static char *seats_text(const json_t *seats)
{
	char *text = NULL;
	size_t size = 0, i;
	json_t *seat;
	FILE *file = need_memory(open_memstream(&text, &size));

	json_array_foreach((json_t *)seats, i, seat)
	{
		char *name = json_display(json_object_get(seat, "name"));

		fprintf(file, "%s%s", i ? " " : "", name);
		free(name);
	}
	fclose(file);
	return need_memory(text);
}

static const char *state_of(const json_t *bar)
{
	if (!json_object_get(bar, "id"))
		return "damaged";
	return json_flag(bar, "legacy") ? "legacy" : json_flag(bar, "used") ? "used" : "";
}

static void add_row(struct table *table, const json_t *bar)
{
	char *name = json_display(json_object_get(bar, "name"));
	char *seats = seats_text(json_object_get(bar, "seats"));
	char *stand_ins = seats_text(json_object_get(bar, "stand_ins"));
	bool damaged = !json_object_get(bar, "id");
	const enum tone tones[] = {TONE_PLAIN, TONE_PLAIN, TONE_PLAIN,
				   TONE_PLAIN, TONE_PLAIN, damaged ? TONE_BAD : TONE_PLAIN};
	char when[40] = "", votes[48] = "";

	if (!damaged) {
		format_time(json_whole(bar, "created_at", 0), when, sizeof(when));
		snprintf(votes, sizeof(votes), "%lld", (long long)json_whole(bar, "votes", 0));
	}
	table_add(table, (const char *const[]){name, when, votes, seats, stand_ins, state_of(bar)},
		  tones);
	free(name);
	free(seats);
	free(stand_ins);
}

struct listing {
	struct context *context;
	struct table *table;
};

static void list_one(void *user, json_t *bar)
{
	struct listing *listing = user;

	if (listing->context->json)
		context_print(listing->context, bar);
	else
		add_row(listing->table, bar);
}

static int list(struct context *context)
{
	static const char *const titles[] = {"name", "set", "votes", "seats", "stand-ins", "state"};
	struct listing listing = {.context = context, .table = table_new(titles, 6)};
	int r = pages_each(context, "bar_list", "bars", list_one, &listing);

	if (r == 0 && !context->json)
		table_print(listing.table, stdout, context->colours, terminal_width(stdout));
	table_free(listing.table);
	return r;
}

/* "codex: codex gpt-5 (openai)", "mine: reviewer 5f2b1c0e9a8d (own)" */
static void print_seat(const char *title, const json_t *seat)
{
	static const char *const keys[] = {"harness", "model", "provider", "effort", "arm_name"};
	char *arm = json_display(json_object_get(seat, "arm"));
	char *families = json_display_command(json_object_get(seat, "families"));
	char *name = json_display(json_object_get(seat, "name"));
	char *text = NULL;
	size_t size = 0;
	FILE *file = need_memory(open_memstream(&text, &size));

	fprintf(file, "%s:", name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *value = json_display(json_object_get(seat, keys[i]));

		if (*value)
			fprintf(file, " %s%s", strcmp(keys[i], "provider") == 0 ? "by " : "",
				value);
		free(value);
	}
	if (*arm)
		fprintf(file, " %.12s", arm);
	fprintf(file, " (%s)", *families ? families : "no known family");
	fclose(file);
	print_field(stdout, title, need_memory(text));
	free(text);
	free(arm);
	free(name);
	free(families);
}

static void print_bar(const json_t *bar)
{
	char *standard = json_display(json_object_get(bar, "standard"));
	char when[40];
	json_t *seat;
	size_t i;

	json_print_field(bar, "name", "name");
	json_print_field(bar, "id", "id");
	print_field(stdout, "set",
		    format_time(json_whole(bar, "created_at", 0), when, sizeof(when)));
	if (json_flag(bar, "legacy"))
		print_field(stdout, "legacy",
			    "of an older form: its families are those it had then");
	if (json_object_get(bar, "used_at"))
		print_field(stdout, "first used",
			    format_time(json_whole(bar, "used_at", 0), when, sizeof(when)));
	json_print_field(bar, "votes", "votes");
	json_print_field(bar, "breadth", "breadth");
	json_array_foreach(json_object_get(bar, "seats"), i, seat) print_seat("seat", seat);
	json_array_foreach(json_object_get(bar, "stand_ins"), i, seat) print_seat("stand-in", seat);
	print_field(stdout, "standard", standard);
	free(standard);
}

static int show(struct context *context, const char *name)
{
	json_t *request = need_memory(json_object()), *reply;
	int r;

	json_object_set_new(request, "name", text_value(name));
	r = context_call(context, "bar_show", request, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		print_bar(reply);
	json_decref(reply);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *const *words = arguments->operands;
	size_t count = arguments->operand_count;

	if (strcmp(words[0], "set") == 0 && count == 2)
		return set(context, words[1]);
	if (strcmp(words[0], "list") == 0 && count == 1)
		return list(context);
	if (strcmp(words[0], "show") == 0 && count == 2)
		return show(context, words[1]);
	return context_refuse(context, EXIT_USED_WRONG, "trialctl help bar",
			      "bar takes set FILE.json, list or show NAME");
}

const struct command command_bar = {
	.name = "bar",
	.summary = "what results are held to, and who votes on them: set and show",
	.synopsis = "{set FILE.json | list | show NAME}",
	.operands = OPERANDS_WORDS,
	.run = run,
};
