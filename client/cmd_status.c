/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "context.h"
#include "hold_print.h"
#include "json.h"
#include "print.h"
#include "proto/quantity.h"

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
	table_wrap(table);
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

/* Nobody is to overlook it. */
static void print_no_sandbox(const struct context *context)
{
	printf("%-18s", "sandbox:");
	print_toned(stdout, context->colours, TONE_BAD,
		    "NONE: trialsd was told to run Trials without a sandbox");
	putchar('\n');
}

/* What a person wrote and is not in force: they think that it is. */
static void print_file_faults(const struct context *context, const json_t *status)
{
	json_t *fault;
	size_t i;

	json_array_foreach(json_object_get(status, "file_faults"), i, fault)
	{
		char *text = json_display(fault);

		printf("%-18s", "at fault:");
		print_toned(stdout, context->colours, TONE_BAD, text);
		putchar('\n');
		free(text);
	}
	json_print_field(status, "file_faults_hint", "to mend it");
}

static void print_status(const struct context *context, const json_t *status)
{
	char *hold = hold_text(status);
	char buffer[64];

	json_print_field(status, "program", "program");
	json_print_field(status, "pid", "pid");
	if (json_whole(status, "started_at", 0))
		print_field(stdout, "started",
			    format_time(json_whole(status, "started_at", 0), buffer,
					sizeof(buffer)));
	json_print_field(status, "unavailable", "unavailable");
	if (json_flag(status, "no_sandbox"))
		print_no_sandbox(context);
	print_file_faults(context, status);
	json_print_field(status, "backend", "backend");
	json_print_field(status, "backend_reason", "because");
	json_print_field(status, "socket", "socket");
	json_print_field(status, "state_folder", "state");
	json_print_field(status, "logs_folder", "logs");
	json_print_field(status, "runtime_folder", "runtime");
	json_print_field(status, "ledger", "ledger");
	print_field(stdout, "disk used",
		    quantity_format_size((uint64_t)json_whole(status, "disk_bytes", 0), buffer,
					 sizeof(buffer)));
	printf("Trials:           %lld running (at most %lld), %lld %s, %lld ended\n",
	       (long long)json_whole(status, "running", 0),
	       (long long)json_whole(status, "max_running", 0),
	       (long long)json_whole(status, "queued", 0), *hold ? "held" : "queued",
	       (long long)json_whole(status, "ended", 0));
	print_field(stdout, "held", hold);
	json_print_field(status, "clients", "clients");
	print_trials(context, json_object_get(status, "trials"));
	free(hold);
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
