/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "export_row.h"
#include "json.h"
#include "libjson.h"

/* Keys of a Trial, in the order of the columns. Only ever added to, at the end. */
static const char *const keys[] = {
	"id",
	"uuid",
	"state",
	"role",
	"command",
	"repository",
	"repository_mode",
	"cwd",
	"network",
	"backend",
	"labels",
	"key",
	"priority",
	"submitted_at",
	"unit",
	"folder",
	"canceled_by",
	"notes",
	"plan_digest",
	"outcome",
	"cause",
	"ended_by",
	"message",
	"hint",
	"exit_code",
	"exit_signal",
	"started_at",
	"ended_at",
	"wall_seconds",
	"boot_seconds",
	"cpu_seconds",
	"cpu_user_seconds",
	"cpu_system_seconds",
	"memory_peak",
	"tasks_peak",
	"io_read_bytes",
	"io_write_bytes",
	"oom_kills",
	"task_limit_hits",
	"limits",
	"boundary",
	"logs",
	"commit",
	"git_changes",
	"logins",
	"kept",
	"no_network_used",
	"harness",
	"toolchains",
	"hosts",
	"connections",
	"connections_more",
	"rerun_of",
	"arm",
	"arm_name",
	"harnesses",
	"providers",
	"no_sandbox",
	"of",
	"verdict",
	"bar",
	"seat",
	"families",
	"bar_id",
};

/* Those of harness. */
static const char *const harness_keys[] = {
	"name",	   "product", "model",	 "effort",	"resume", "of",	    "executable",
	"version", "sha256",  "release", "interpreter", "login",  "prompt", "file",
};

static const char *const verdict_keys[] = {"vote", "score", "reason", "family"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Those whose own keys are columns. */
static const struct group {
	const char *key;
	const char *const *keys;
	size_t count;
} groups[] = {
	{"harness", harness_keys, COUNT(harness_keys)},
	{"verdict", verdict_keys, COUNT(verdict_keys)},
};

static const struct group *group_of(const char *key)
{
	for (size_t i = 0; i < COUNT(groups); i++)
		if (strcmp(key, groups[i].key) == 0)
			return &groups[i];
	return NULL;
}

static void end_row(FILE *file)
{
	fputs("\r\n", file);
}

void export_header(FILE *file, enum export_form form)
{
	if (form != EXPORT_CSV)
		return;
	fputs("schema", file);
	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct group *group = group_of(keys[i]);

		if (!group)
			fprintf(file, ",%s", keys[i]);
		for (size_t k = 0; group && k < group->count; k++)
			fprintf(file, ",%s.%s", keys[i], group->keys[k]);
	}
	end_row(file);
}

static void write_quoted(FILE *file, const char *bytes, size_t size)
{
	putc('"', file);
	if (size > 0 && strchr("=+-@\t\r", bytes[0]) && bytes[0])
		putc('\'', file);
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '"')
			putc('"', file);
		putc(bytes[i], file);
	}
	putc('"', file);
}

static void write_cell(FILE *file, const json_t *value, bool terminal)
{
	char *text;

	if (!value || json_is_null(value))
		return;
	if (json_is_string(value) && !terminal) {
		write_quoted(file, json_string_value(value), json_string_length(value));
		return;
	}
	text = json_is_string(value) ? json_display(value) : need_memory(json_line(value));
	if (json_is_number(value) || json_is_boolean(value))
		fputs(text, file);
	else
		write_quoted(file, text, strlen(text));
	free(text);
}

static void write_csv(FILE *file, const json_t *trial, bool terminal)
{
	fprintf(file, "%d", EXPORT_SCHEMA);
	for (size_t i = 0; i < COUNT(keys); i++) {
		const json_t *value = json_object_get(trial, keys[i]);
		const struct group *group = group_of(keys[i]);

		if (!group) {
			putc(',', file);
			write_cell(file, value, terminal);
			continue;
		}
		for (size_t k = 0; k < group->count; k++) {
			putc(',', file);
			write_cell(file, json_object_get(value, group->keys[k]), terminal);
		}
	}
	end_row(file);
}

static void write_json(FILE *file, const json_t *trial)
{
	json_t *row = need_memory(json_object());
	char *line;

	json_object_set_new(row, "schema", json_integer(EXPORT_SCHEMA));
	for (size_t i = 0; i < COUNT(keys); i++) {
		json_t *value = json_object_get(trial, keys[i]);

		if (value)
			json_object_set(row, keys[i], value);
	}
	line = need_memory(json_line(row));
	fprintf(file, "%s\n", line);
	free(line);
	json_decref(row);
}

void export_row(FILE *file, enum export_form form, const json_t *trial, bool terminal)
{
	if (form == EXPORT_CSV)
		write_csv(file, trial, terminal);
	else
		write_json(file, trial);
}
