/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hold_print.h"
#include "json.h"
#include "net_print.h"
#include "neutralise.h"
#include "plan_print.h"
#include "print.h"
#include "proto/quantity.h"
#include "trial_print.h"

static void field_time(const json_t *trial, const char *key, const char *name)
{
	int64_t microseconds = json_whole(trial, key, -1);
	char buffer[64];

	if (microseconds >= 0)
		print_field(stdout, name, format_time(microseconds, buffer, sizeof(buffer)));
}

static void field_seconds(const json_t *trial, const char *key, const char *name)
{
	double seconds = json_float(trial, key, -1);
	char buffer[64];

	if (seconds >= 0)
		print_field(stdout, name, quantity_format_time(seconds, buffer, sizeof(buffer)));
}

static void field_size(const json_t *trial, const char *key, const char *name)
{
	int64_t bytes = json_whole(trial, key, -1);
	char buffer[64];

	if (bytes >= 0)
		print_field(stdout, name,
			    quantity_format_size((uint64_t)bytes, buffer, sizeof(buffer)));
}

static void field_word(const struct context *context, const json_t *trial, const char *key)
{
	const char *word = json_text(trial, key);
	char *shown;

	if (!word)
		return;
	shown = json_display(json_object_get(trial, key));
	printf("%s:%*s ", key, (int)(16 - strlen(key)), "");
	print_toned(stdout, context->colours, tone_of_word(word), shown);
	putchar('\n');
	free(shown);
}

char *trial_end(const json_t *trial)
{
	int64_t code = json_whole(trial, "exit_code", -1);
	int64_t number = json_whole(trial, "exit_signal", -1);
	const char *name = number > 0 && number <= 128 ? sigabbrev_np((int)number) : NULL;
	char *text = NULL;
	int r;

	if (number > 0 && name)
		r = asprintf(&text, "signal %lld (%s)", (long long)number, name);
	else if (number > 0)
		r = asprintf(&text, "signal %lld", (long long)number);
	else if (code >= 0)
		r = asprintf(&text, "exit code %lld", (long long)code);
	else
		r = asprintf(&text, "%s", "");
	return need_memory(r < 0 ? NULL : text);
}

char *trial_line(const json_t *trial)
{
	const char *key = json_text(trial, "outcome") ? "outcome" : "state";
	char *word = json_display(json_object_get(trial, key));
	double seconds = json_float(trial, "wall_seconds", -1);
	char *vote = json_display(json_object_get(json_object_get(trial, "verdict"), "vote"));
	char *end = trial_end(trial);
	char duration[64] = "";
	char *line = NULL;

	if (seconds >= 0)
		quantity_format_time(seconds, duration, sizeof(duration));
	if (asprintf(&line, "Trial %lld: %s%s%s%s%s%s%s", (long long)json_whole(trial, "id", 0),
		     word, *vote ? ", votes " : "", vote, *end ? ", " : "", end,
		     *duration ? ", " : "", duration) < 0)
		line = NULL;
	free(vote);
	free(end);
	free(word);
	return need_memory(line);
}

void trial_tell_warnings(struct context *context, const json_t *trial)
{
	json_t *note;
	size_t i;

	if (context->json)
		return;
	json_array_foreach(json_object_get(trial, "notes"), i, note)
		context_warn(context, "%s", json_string_value(note));
}

void trial_tell_hold(const json_t *trial)
{
	char *hold = hold_text(trial);

	if (*hold)
		fprintf(stderr, "It is held: %s\n", hold);
	free(hold);
}

bool trial_delivered(const json_t *trial)
{
	const char *outcome = json_text(trial, "outcome");

	return outcome && strcmp(outcome, "delivered") == 0;
}

void trial_report(const struct context *context, const json_t *trial)
{
	static const char *const keys[] = {"cause", "message", "hint"};
	const char *outcome = json_text(trial, "outcome");
	char *line;

	if (context->json || trial_delivered(trial))
		return;
	line = trial_line(trial);
	print_toned(stderr, context->error_colours, tone_of_word(outcome), line);
	fputc('\n', stderr);
	free(line);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *value = json_display(json_object_get(trial, keys[i]));

		if (*value)
			fprintf(stderr, "%s: %s\n", keys[i], value);
		free(value);
	}
}

void trial_tell_verdict(const struct context *context, const json_t *trial)
{
	const json_t *verdict = json_object_get(trial, "verdict");
	char *line, *reason;

	if (context->json || !verdict || !trial_delivered(trial))
		return;
	line = trial_line(trial);
	reason = json_display(json_object_get(verdict, "reason"));
	fprintf(stderr, "%s\n", line);
	if (*reason)
		fprintf(stderr, "reason: %s\n", reason);
	free(line);
	free(reason);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

void limit_format(const char *name, double value, char *buffer, size_t size)
{
	static const char *const bytes[] = {"memory", "swap", "tmp", "home", "output"};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		if (strcmp(name, bytes[i]) == 0) {
			quantity_format_size((uint64_t)value, buffer, size);
			return;
		}
	}
	if (ends_with(name, "_seconds"))
		quantity_format_time(value, buffer, size);
	else if (strcmp(name, "cpu") == 0)
		snprintf(buffer, size, "%.0f%%", value);
	else
		snprintf(buffer, size, "%.0f", value);
}

static void print_limits(const struct context *context, const json_t *limits)
{
	static const char *const titles[] = {"limit", "value", "enforced", "from"};
	struct table *table;
	json_t *limit;
	size_t i;

	if (!json_array_size(limits))
		return;
	table = table_new(titles, 4);
	json_array_foreach(limits, i, limit)
	{
		bool enforced = json_flag(limit, "enforced");
		char *name = json_display(json_object_get(limit, "name"));
		enum tone tones[] = {TONE_PLAIN, TONE_PLAIN, enforced ? TONE_GOOD : TONE_ODD,
				     TONE_FAINT};
		char value[64];

		limit_format(name, json_float(limit, "asked", 0), value, sizeof(value));
		/* Named as the option that sets it. */
		if (ends_with(name, "_seconds"))
			name[strlen(name) - strlen("_seconds")] = 0;
		table_add(table,
			  (const char *const[]){name, value, enforced ? "yes" : "no",
						json_flag(limit, "by_default") ? "default"
									       : "asked"},
			  tones);
		free(name);
	}
	putchar('\n');
	table_print(table, stdout, context->colours, 0);
	table_free(table);
}

static void print_logs(const struct context *context, const json_t *logs)
{
	static const char *const titles[] = {"log", "bytes", "kept", "file"};
	struct table *table;
	json_t *log;
	size_t i;

	if (!json_array_size(logs))
		return;
	table = table_new(titles, 4);
	json_array_foreach(logs, i, log)
	{
		char *stream = json_display(json_object_get(log, "stream"));
		char *bytes = json_display(json_object_get(log, "bytes"));
		char *kept = json_display(json_object_get(log, "kept"));
		char *path = json_display(json_object_get(log, "path"));

		table_add(table, (const char *const[]){stream, bytes, kept, path}, NULL);
		free(stream);
		free(bytes);
		free(kept);
		free(path);
	}
	putchar('\n');
	table_print(table, stdout, context->colours, 0);
	table_free(table);
}

/* The namespaces that are the Trial's own, or those that are not. Says whether there were any. */
static bool print_namespaces(const json_t *boundary, bool own, const char *title)
{
	const char *key;
	json_t *value;
	bool any = false;

	json_object_foreach((json_t *)boundary, key, value)
	{
		char *name;

		if (strncmp(key, "own_", 4) != 0 || json_is_true(value) != own)
			continue;
		name = need_memory(neutralise_line(key + 4, strlen(key + 4)));
		printf("%s%s", any ? ", " : title, name);
		free(name);
		any = true;
	}
	return any;
}

/* What trials-init saw from inside. */
static void print_boundary(const json_t *boundary)
{
	int64_t capabilities = json_whole(boundary, "capabilities", 0);
	bool any;

	if (!json_object_size(boundary))
		return;
	printf("boundary:         ");
	any = print_namespaces(boundary, true, "its own ");
	any |= print_namespaces(boundary, false, any ? "; the host's " : "the host's ");
	printf("%s%s privileges can be gained; %s filter of system calls; ", any ? "; " : "",
	       json_flag(boundary, "no_new_privileges") ? "no" : "NEW",
	       json_flag(boundary, "seccomp") ? "a" : "NO");
	if (capabilities)
		printf("%lld CAPABILITIES\n", (long long)capabilities);
	else
		puts("no capabilities");
}

/* Whose session it is; before it was started, only what was asked for is known. */
static void print_harness(const json_t *harness)
{
	static const char *const keys[][2] = {
		{"name", "harness"},	      {"product", "product"},
		{"model", "model"},	      {"effort", "effort"},
		{"resume", "resume"},	      {"of", "of"},
		{"executable", "executable"}, {"version", "version"},
		{"sha256", "sha256"},	      {"release", "release"},
		{"login", "login"},	      {"interpreter", "interpreter"},
		{"prompt", "prompt by"},      {"file", "harness file"},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_print_field(harness, keys[i][0], keys[i][1]);
}

/* Of a Custom runner: what it drives, and whose keys it has. */
static void print_driven(const json_t *trial)
{
	char *providers = json_display_command(json_object_get(trial, "providers"));
	json_t *harness;
	size_t i;

	json_array_foreach(json_object_get(trial, "harnesses"), i, harness)
	{
		json_print_field(harness, "name", "drives");
		json_print_field(harness, "model", "  model");
		json_print_field(harness, "executable", "  executable");
		json_print_field(harness, "version", "  version");
		json_print_field(harness, "sha256", "  sha256");
		json_print_field(harness, "login", "  login");
	}
	print_field(stdout, "providers", providers);
	free(providers);
}

/* What of the host a Trial has for its tools: a toolchain to a line. */
static void print_toolchains(const json_t *toolchains)
{
	json_t *toolchain;
	size_t i;

	json_array_foreach(toolchains, i, toolchain)
	{
		char *name = json_display(json_object_get(toolchain, "name"));
		const json_t *programs = json_object_get(toolchain, "programs");
		const json_t *places = json_object_get(toolchain, "read_only");
		char *found = json_display_command(json_array_size(programs) ? programs : places);
		char *text;

		if (asprintf(&text, "%s%s%s", name, found && *found ? ": " : "",
			     found ? found : "") < 0)
			text = NULL;
		print_field(stdout, "toolchain", need_memory(text));
		free(text);
		free(found);
		free(name);
	}
}

static void print_list(const json_t *list, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		char *text = json_display(item);

		print_field(stdout, name, text);
		free(text);
	}
}

/* What of the host it was given: SOURCE, SOURCE:DESTINATION, and the mode. */
static void print_binds(const json_t *binds)
{
	json_t *bind;
	size_t i;

	json_array_foreach(binds, i, bind)
	{
		char *source = json_display(json_object_get(bind, "source"));
		char *destination = json_display(json_object_get(bind, "destination"));
		const char *mode = json_text(bind, "mode");
		char *text;

		if (asprintf(&text, "%s%s%s (%s%s)", source, *destination ? ":" : "", destination,
			     mode ? mode : "ro",
			     json_flag(bind, "optional") ? ", optional" : "") < 0)
			text = NULL;
		print_field(stdout, "bind", need_memory(text));
		free(text);
		free(destination);
		free(source);
	}
}

static void print_command(const json_t *trial)
{
	char *variables = json_display_command(json_object_get(trial, "environment_names"));
	char *command = json_display_command(json_object_get(trial, "command"));
	char *labels = json_display_pairs(json_object_get(trial, "labels"));

	print_harness(json_object_get(trial, "harness"));
	print_driven(trial);
	print_toolchains(json_object_get(trial, "toolchains"));
	print_field(stdout, "command", command);
	json_print_field(trial, "repository", "repository");
	json_print_field(trial, "repository_mode", "mode");
	json_print_field(trial, "commit", "commit");
	json_print_field(trial, "cwd", "cwd");
	json_print_field(trial, "build", "build");
	json_print_field(trial, "skills", "skills");
	print_binds(json_object_get(trial, "binds"));
	print_field(stdout, "variables", variables);
	json_print_field(trial, "network", "network");
	print_list(json_object_get(trial, "hosts"), "host");
	if (json_flag(trial, "no_sandbox"))
		print_field(stdout, "sandbox", "none: trialsd was told to do without");
	json_print_field(trial, "backend", "backend");
	json_print_field(trial, "unit", "unit");
	print_field(stdout, "labels", labels);
	json_print_field(trial, "key", "key");
	if (json_whole(trial, "priority", 0))
		json_print_field(trial, "priority", "priority");
	free(variables);
	free(command);
	free(labels);
}

static void print_counters(const json_t *trial)
{
	field_time(trial, "submitted_at", "submitted");
	field_time(trial, "started_at", "started");
	field_time(trial, "ended_at", "ended");
	/* Of one that never started there is nothing to count, and zeroes would look counted. */
	if (!json_object_get(trial, "started_at"))
		return;
	field_seconds(trial, "wall_seconds", "wall time");
	field_seconds(trial, "boot_seconds", "with suspend");
	field_seconds(trial, "cpu_seconds", "cpu time");
	field_seconds(trial, "cpu_user_seconds", "  user");
	field_seconds(trial, "cpu_system_seconds", "  system");
	field_size(trial, "memory_peak", "memory peak");
	json_print_field(trial, "tasks_peak", "tasks peak");
	field_size(trial, "io_read_bytes", "read");
	field_size(trial, "io_write_bytes", "written");
	if (json_whole(trial, "oom_kills", 0))
		json_print_field(trial, "oom_kills", "oom kills");
	if (json_whole(trial, "task_limit_hits", 0))
		json_print_field(trial, "task_limit_hits", "forks refused");
}

/* What would be run or obeyed by the next git there: worth a look before that. */
static void print_git_changes(const json_t *changes)
{
	json_t *change;
	size_t i;

	json_array_foreach(changes, i, change)
	{
		char *path = json_display(json_object_get(change, "path"));
		char *word = json_display(json_object_get(change, "change"));
		char text[4200];

		snprintf(text, sizeof(text), "%s %s", path, word);
		print_field(stdout, "git", text);
		free(path);
		free(word);
	}
}

/* What was kept of its home: how much, and what is missing of it. */
static void print_kept(const json_t *list)
{
	json_t *kept, *example;
	size_t i, at;

	json_array_foreach(list, i, kept)
	{
		char *what = json_display(json_object_get(kept, "what"));
		char *state = json_display(json_object_get(kept, "state"));
		char *reason = json_display(json_object_get(kept, "reason"));
		int64_t left_out = json_whole(kept, "left_out", 0);
		char text[1024], size[32] = "", left[48] = "";

		if (json_object_get(kept, "files"))
			snprintf(size, sizeof(size), ", %lld %s",
				 (long long)json_whole(kept, "files", 0),
				 json_whole(kept, "files", 0) == 1 ? "file" : "files");
		if (left_out > 0)
			snprintf(left, sizeof(left), ", %lld left out", (long long)left_out);
		/* "home: nothing: there is none" would say it twice. */
		snprintf(text, sizeof(text), "%s: %s%s%s%s%s", what,
			 strcmp(state, "none") == 0 ? "nothing" : state, size, left,
			 *reason ? ": " : "", reason);
		print_field(stdout, "kept", text);
		json_array_foreach(json_object_get(kept, "examples"), at, example)
		{
			char *path = json_display(example);

			print_field(stdout, "  left out", path);
			free(path);
		}
		free(what);
		free(state);
		free(reason);
	}
}

/* "pass, score 0.9", and why. */
static void print_verdict(const json_t *verdict)
{
	char text[64], *vote = json_display(json_object_get(verdict, "vote"));

	if (json_object_get(verdict, "score"))
		snprintf(text, sizeof(text), "%s, score %.4g", vote,
			 json_float(verdict, "score", 0));
	else
		snprintf(text, sizeof(text), "%s", vote);
	print_field(stdout, "verdict", verdict ? text : NULL);
	json_print_field(verdict, "reason", "  reason");
	json_print_field(verdict, "family", "  family");
	free(vote);
}

void trial_print(const struct context *context, const json_t *trial)
{
	char *end = trial_end(trial);
	char *hold = hold_text(trial);
	char *families = json_display_command(json_object_get(trial, "families"));

	json_print_field(trial, "id", "id");
	json_print_field(trial, "uuid", "uuid");
	field_word(context, trial, "state");
	field_word(context, trial, "outcome");
	json_print_field(trial, "cause", "cause");
	print_field(stdout, "end", end);
	json_print_field(trial, "ended_by", "ended by");
	json_print_field(trial, "message", "message");
	json_print_field(trial, "hint", "hint");
	json_print_field(trial, "canceled_by", "canceled by");
	json_print_field(trial, "position", "position");
	json_print_field(trial, "waits_for", "waits for");
	print_field(stdout, "held", hold);
	json_print_field(trial, "rerun_of", "rerun of");
	json_print_field(trial, "arm_name", "arm");
	json_print_field(trial, "arm", "arm id");
	json_print_field(trial, "bar", "bar");
	json_print_field(trial, "bar_id", "bar id");
	json_print_field(trial, "seat", "seat");
	print_field(stdout, "families", families);
	json_print_field(trial, "role", "role");
	json_print_field(trial, "of", "judges");
	print_verdict(json_object_get(trial, "verdict"));
	print_command(trial);
	print_counters(trial);
	print_boundary(json_object_get(trial, "boundary"));
	print_list(json_object_get(trial, "notes"), "note");
	print_git_changes(json_object_get(trial, "git_changes"));
	print_kept(json_object_get(trial, "kept"));
	json_print_field(trial, "folder", "folder");
	json_print_field(trial, "plan_digest", "plan digest");
	print_limits(context, json_object_get(trial, "limits"));
	print_logs(context, json_object_get(trial, "logs"));
	net_print(context, trial);
	plan_print(context, trial);
	free(end);
	free(hold);
	free(families);
}
