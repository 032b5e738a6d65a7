/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "neutralise.h"
#include "plan_print.h"
#include "print.h"
#include "proto/quantity.h"

/* Where what is there is from; trialsd's own (login, prompt, lock) has no path. */
static char *origin_of(const json_t *mount)
{
	char *source = json_display(json_object_get(mount, "source"));
	char *sha256 = json_display(json_object_get(mount, "sha256"));
	int64_t bytes = json_whole(mount, "size", -1);
	const char *kind = json_text(mount, "kind") ?: "";
	char *text = NULL, size[32];
	int r;

	if (bytes >= 0)
		r = asprintf(&text, "%s",
			     quantity_format_size((uint64_t)bytes, size, sizeof(size)));
	else if (*sha256)
		r = asprintf(&text, "sha256 %s", sha256);
	else if (strcmp(kind, "bind") == 0 && *source != '/')
		r = asprintf(&text, "(%s)", source);
	else
		r = asprintf(&text, "%s", source);
	free(source);
	free(sha256);
	return need_memory(r < 0 ? NULL : text);
}

static void print_mounts(const struct context *context, const json_t *mounts)
{
	static const char *const titles[] = {"kind", "mode", "inside", "from"};
	struct table *table;
	json_t *mount;
	size_t i;

	if (!json_array_size(mounts))
		return;
	table = table_new(titles, 4);
	json_array_foreach(mounts, i, mount)
	{
		char *kind = json_display(json_object_get(mount, "kind"));
		char *mode = json_display(json_object_get(mount, "mode"));
		char *inside = json_display(json_object_get(mount, "destination"));
		char *from = origin_of(mount);
		bool writable = strcmp(mode, "rw") == 0;

		table_add(table, (const char *const[]){kind, mode, inside, from},
			  (const enum tone[]){TONE_PLAIN, writable ? TONE_ODD : TONE_PLAIN,
					      TONE_PLAIN, TONE_FAINT});
		free(kind);
		free(mode);
		free(inside);
		free(from);
	}
	putchar('\n');
	table_print(table, stdout, context->colours, 0);
	table_free(table);
}

static void print_limits(const json_t *limits)
{
	const char *name;
	json_t *limit;

	json_object_foreach((json_t *)limits, name, limit)
	{
		char *shown = need_memory(neutralise_line(name, strlen(name)));
		char value[64], text[160];

		limit_format(name, json_number_value(limit), value, sizeof(value));
		snprintf(text, sizeof(text), "%.80s %s", shown, value);
		print_field(stdout, "limit", text);
		free(shown);
	}
}

/* One to a line. */
static void print_environment(const json_t *environment)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)environment, name, value)
	{
		json_t *alone = need_memory(json_object());
		char *text;

		json_object_set(alone, name, value);
		text = json_display_pairs(alone);
		print_field(stdout, "variable", text);
		free(text);
		json_decref(alone);
	}
}

static void print_internal(const json_t *hosts)
{
	json_t *host;
	size_t i;

	json_array_foreach(hosts, i, host)
	{
		char *text = json_display(host);

		print_field(stdout, "internal host", text);
		free(text);
	}
}

static void print_seconds(const json_t *sandbox, const char *key, const char *name)
{
	double seconds = json_float(sandbox, key, -1);
	char buffer[64];

	if (seconds >= 0)
		print_field(stdout, name, quantity_format_time(seconds, buffer, sizeof(buffer)));
}

static void print_sandbox(const struct context *context, const json_t *sandbox)
{
	char *command = json_display_command(json_object_get(sandbox, "command"));

	puts("\nsandbox:");
	print_field(stdout, "runs", command);
	json_print_field(sandbox, "cwd", "in");
	print_seconds(sandbox, "grace_seconds", "grace");
	print_seconds(sandbox, "idle_seconds", "idle limit");
	print_internal(json_object_get(sandbox, "internal"));
	print_limits(json_object_get(sandbox, "limits"));
	print_environment(json_object_get(sandbox, "environment"));
	print_mounts(context, json_object_get(sandbox, "mounts"));
	free(command);
}

/* The sandbox's arguments: an option and its values to a line, so that it can be read. */
static void print_arguments(const json_t *plan)
{
	json_t *item;
	size_t i;

	if (!json_array_size(plan))
		return;
	puts("\nplan:");
	json_array_foreach(plan, i, item)
	{
		json_t *alone = need_memory(json_array());
		char *word;

		json_array_append(alone, item);
		word = json_display_command(alone);
		if (i == 0 || strncmp(word, "--", 2) == 0)
			printf("%s  %s", i == 0 ? "" : "\n", word);
		else
			printf(" %s", word);
		free(word);
		json_decref(alone);
	}
	putchar('\n');
}

void plan_print(const struct context *context, const json_t *trial)
{
	const json_t *sandbox = json_object_get(trial, "sandbox");

	if (json_object_size(sandbox))
		print_sandbox(context, sandbox);
	print_arguments(json_object_get(trial, "plan"));
}
