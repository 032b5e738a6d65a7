/* SPDX-License-Identifier: MIT */

/*
 * What is known of the Harnesses. list and show ask the daemon, since that is who would launch them;
 * check has a trialsd that is executed for it read the file, and needs no daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "print.h"
#include "trialsd_report.h"

static int ask(struct context *context, const char *name, json_t **ret_harnesses,
	       json_t **ret_reply)
{
	json_t *request = need_memory(json_object());
	int r;

	if (name)
		json_object_set_new(request, "name", text_value(name));
	r = context_call(context, "harness", request, ret_reply);
	if (r == 0)
		*ret_harnesses = json_object_get(*ret_reply, "harnesses");
	return r;
}

/* In one word whether it can be launched. */
static const char *state_of(const json_t *harness, enum tone *ret_tone)
{
	*ret_tone = TONE_BAD;
	if (json_text(harness, "fault"))
		return "at fault";
	*ret_tone = json_text(harness, "missing") ? TONE_FAINT : TONE_GOOD;
	return json_text(harness, "missing") ? "missing" : "found";
}

static void add_row(struct table *table, const json_t *harness)
{
	char *name = json_display(json_object_get(harness, "name"));
	char *version = json_display(json_object_get(harness, "version"));
	char *logins = json_display_command(json_object_get(harness, "logins"));
	char *path = json_display(json_object_get(harness, "executable"));
	char *fault = json_display(json_object_get(harness, "fault"));
	enum tone tones[] = {TONE_PLAIN, TONE_PLAIN, TONE_PLAIN, TONE_PLAIN, TONE_PLAIN};
	const char *state = state_of(harness, &tones[1]);

	table_add(table, (const char *const[]){name, state, version, logins, *fault ? fault : path},
		  tones);
	free(name);
	free(version);
	free(logins);
	free(path);
	free(fault);
}

static int list(struct context *context)
{
	static const char *const titles[] = {"name", "program", "version", "logins", "path"};
	json_t *harnesses, *harness, *reply;
	struct table *table;
	size_t i;
	int r;

	r = ask(context, NULL, &harnesses, &reply);
	if (r)
		return r;
	if (context->json) {
		json_array_foreach(harnesses, i, harness) context_print(context, harness);
	} else {
		table = table_new(titles, 5);
		table_wrap(table); /* a fault names file, line and key */
		json_array_foreach(harnesses, i, harness) add_row(table, harness);
		table_print(table, stdout, context->colours, terminal_width(stdout));
		table_free(table);
	}
	json_decref(reply);
	return 0;
}

static void print_words(const json_t *harness, const char *key, const char *name)
{
	char *words = json_display_command(json_object_get(harness, key));

	print_field(stdout, name, words);
	free(words);
}

static void print_harness(const json_t *harness)
{
	json_print_field(harness, "name", "name");
	json_print_field(harness, "product", "product");
	json_print_field(harness, "file", "file");
	if (json_flag(harness, "own"))
		print_field(stdout, "of", "your own");
	json_print_field(harness, "fault", "fault");
	json_print_field(harness, "family", "family");
	json_print_field(harness, "executable", "executable");
	json_print_field(harness, "version", "version");
	json_print_field(harness, "release", "release");
	json_print_field(harness, "interpreter", "interpreter");
	json_print_field(harness, "missing", "missing");
	json_print_field(harness, "hint", "to mend it");
	print_words(harness, "logins", "logins");
	print_words(harness, "prompts", "prompt by");
	print_words(harness, "arguments", "arguments");
	print_words(harness, "read_only", "sees, read-only");
	print_words(harness, "hosts", "hosts");
}

static int show(struct context *context, const char *name)
{
	json_t *harnesses, *harness, *reply;
	int r;

	r = ask(context, name, &harnesses, &reply);
	if (r)
		return r;
	harness = json_array_get(harnesses, 0);
	if (context->json)
		context_print(context, harness);
	else
		print_harness(harness);
	json_decref(reply);
	return 0;
}

static int check(struct context *context, const char *file)
{
	const char *const arguments[] = {"trialsd", "--check-harness", file, "--json", NULL};
	json_t *report = NULL;
	char *message, *hint;
	bool ok;
	int r;

	if (access(file, R_OK) < 0)
		return context_refuse(context, EXIT_NO_INPUT, NULL, "cannot open %s: %s", file,
				      strerror(errno));
	r = trialsd_report(arguments, &report);
	if (r < 0)
		return context_refuse(context, EXIT_NO_DAEMON, TRIALSD_REPORT_HINT,
				      "no trialsd can be executed to read it: %s", strerror(-r));
	if (!report)
		return context_refuse(context, EXIT_INTERNAL, "trialsd --check-harness FILE",
				      "trialsd --check-harness ended without a report");
	ok = json_flag(report, "ok");
	message = json_display(json_object_get(report, ok ? "product" : "message"));
	hint = json_display(json_object_get(report, "hint"));
	if (context->json) {
		context_print(context, report);
	} else if (ok) {
		char *name = json_display(json_object_get(report, "name"));

		printf("%s: a Harness \"%s\" (%s)\n", file, name, message);
		free(name);
	}
	r = ok || context->json
		    ? (ok ? 0 : EXIT_USED_WRONG)
		    : context_refuse(context, EXIT_USED_WRONG, *hint ? hint : NULL, "%s", message);
	free(message);
	free(hint);
	json_decref(report);
	return r;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *word = arguments->operands[0];
	const char *operand = arguments->operand_count > 1 ? arguments->operands[1] : NULL;

	if (strcmp(word, "list") == 0 && !operand)
		return list(context);
	if (strcmp(word, "show") == 0 && operand)
		return show(context, operand);
	if (strcmp(word, "check") == 0 && operand)
		return check(context, operand);
	return context_refuse(context, EXIT_USED_WRONG, "trialctl help harness",
			      "harness takes list, show NAME or check FILE");
}

const struct command command_harness = {
	.name = "harness",
	.summary = "what is known of the Harnesses, and where their programs are",
	.synopsis = "{list | show NAME | check FILE}",
	.operands = OPERANDS_WORDS,
	.run = run,
};
