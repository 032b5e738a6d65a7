/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "context.h"
#include "json.h"
#include "print.h"
#include "proto/quantity.h"

static void field(const json_t *status, const char *key, const char *name)
{
	char *value = json_display(json_object_get(status, key));

	print_field(stdout, name, value);
	free(value);
}

/* What is not over, with whom or what it waits for. */
static void print_trials(const struct context *context, const json_t *trials)
{
	static const char *const titles[] = {"ID", "STATE", "WAITS FOR"};
	struct table *table;
	json_t *trial;
	size_t i;

	if (!json_array_size(trials))
		return;
	table = table_new(titles, 3);
	json_array_foreach(trials, i, trial)
	{
		char *id = json_display(json_object_get(trial, "id"));
		char *state = json_display(json_object_get(trial, "state"));
		char *waits_for = json_display(json_object_get(trial, "waits_for"));
		const enum tone tones[] = {TONE_PLAIN, tone_of_word(state), TONE_PLAIN};

		table_add(table, (const char *const[]){id, state, waits_for}, tones);
		free(id);
		free(state);
		free(waits_for);
	}
	putchar('\n');
	table_print(table, stdout, context->colours, terminal_width(stdout));
	table_free(table);
}

static void print_status(const struct context *context, const json_t *status)
{
	char buffer[64];

	field(status, "program", "program");
	field(status, "pid", "pid");
	if (json_whole(status, "started_at", 0))
		print_field(stdout, "started",
			    format_time(json_whole(status, "started_at", 0), buffer,
					sizeof(buffer)));
	field(status, "unavailable", "unavailable");
	field(status, "backend", "backend");
	field(status, "backend_reason", "because");
	field(status, "socket", "socket");
	field(status, "state_folder", "state");
	field(status, "logs_folder", "logs");
	field(status, "runtime_folder", "runtime");
	print_field(stdout, "disk used",
		    quantity_format_size((uint64_t)json_whole(status, "disk_bytes", 0), buffer,
					 sizeof(buffer)));
	printf("Trials:           %lld running (at most %lld), %lld queued, %lld ended\n",
	       (long long)json_whole(status, "running", 0),
	       (long long)json_whole(status, "max_running", 0),
	       (long long)json_whole(status, "queued", 0),
	       (long long)json_whole(status, "ended", 0));
	if (json_flag(status, "paused")) {
		const char *reason = json_text(status, "paused_reason");
		char *shown = json_display(json_object_get(status, "paused_reason"));

		print_field(stdout, "paused", reason ? shown : "yes");
		free(shown);
	}
	field(status, "clients", "clients");
	print_trials(context, json_object_get(status, "trials"));
}

static int run(struct context *context, const struct arguments *arguments)
{
	json_t *status;
	int r;

	(void)arguments;
	r = context_call(context, "status", NULL, &status);
	if (r)
		return r;
	if (context->json)
		context_print(context, status);
	else
		print_status(context, status);
	json_decref(status);
	return 0;
}

const struct command command_status = {
	.name = "status",
	.summary = "the daemon: its paths, disk used, and who waits for what",
	.synopsis = "",
	.operands = OPERANDS_NONE,
	.run = run,
};
