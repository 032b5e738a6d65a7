/* SPDX-License-Identifier: MIT */
#include "arm_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "json.h"
#include "print.h"

static void print_words(const json_t *object, const char *key, const char *name)
{
	char *words = json_display_command(json_object_get(object, key));

	print_field(stdout, name, words);
	free(words);
}

/* Each on a line of its own, so that each can be looked for. */
static void print_list(const json_t *object, const char *key, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(object, key), i, item)
	{
		char *text = json_display(item);

		print_field(stdout, name, text);
		free(text);
	}
}

static void print_found(const json_t *object, const char *name)
{
	static const struct {
		const char *key, *told;
	} shown[] = {{"version", "version"},
		     {"sha256", "sha256"},
		     {"interpreter", "interpreter"},
		     {"interpreter_sha256", "its sha256"},
		     {"model", "model"},
		     {"endpoint", "endpoint"},
		     {"family", "family"},
		     {"definition", "definition"}};
	char *title = json_display(json_object_get(object, "name"));
	char *text = json_display(json_object_get(object, "executable"));
	char *words = json_display_command(json_object_get(object, "hosts"));
	const char *path;
	json_t *digest;
	char line[512];

	snprintf(line, sizeof(line), "%s%s%s", title, *text ? " " : "", text);
	print_field(stdout, name, line);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		snprintf(line, sizeof(line), "  %s", shown[i].told);
		json_print_field(object, shown[i].key, line);
	}
	print_field(stdout, "  hosts", words);
	json_object_foreach(json_object_get(object, "own_files"), path, digest)
	{
		snprintf(line, sizeof(line), "%s %.12s", path, json_string_value(digest));
		print_field(stdout, "  own file", line);
	}
	free(title);
	free(text);
	free(words);
}

static void print_file(const json_t *file)
{
	char *path = json_display(json_object_get(file, "path"));
	char *source = json_display(json_object_get(file, "source"));
	char *digest = json_display(json_object_get(file, "sha256"));
	char line[1024];

	snprintf(line, sizeof(line), "%s %.12s %s", path, digest, source);
	print_field(stdout, "file", line);
	free(path);
	free(source);
	free(digest);
}

static void print_folder(const json_t *arm, const char *key)
{
	const json_t *folder = json_object_get(arm, key);
	char *path = json_display(json_object_get(folder, "path"));
	char *digest = json_display(json_object_get(folder, "sha256"));
	char line[1024];

	snprintf(line, sizeof(line), "%s%s%.12s", path, *digest ? " " : "", digest);
	print_field(stdout, key, line);
	free(path);
	free(digest);
}

/* Where they are, and of their programs which they are. */
static void print_toolchains(json_t *found)
{
	const char *key;
	json_t *value;

	json_object_foreach(found, key, value)
	{
		const char *part = strchr(key, '.');
		char *text = json_display(value), *path = strchr(text, ' ');
		char line[1024];

		if (part && strncmp(part, ".Programs.", 10) == 0 && path)
			snprintf(line, sizeof(line), "%s %.12s", path + 1, text);
		else
			snprintf(line, sizeof(line), part ? "%s" : "%.12s", text);
		print_field(stdout, "toolchain", line);
		free(text);
	}
}

static char *limits_text(const json_t *limits)
{
	char *text = NULL;
	const char *name;
	size_t size = 0;
	json_t *value;
	FILE *file = need_memory(open_memstream(&text, &size));

	json_object_foreach((json_t *)limits, name, value)
		fprintf(file, "%s%s=%.15g", ftell(file) > 0 ? " " : "", name,
			json_number_value(value));
	fclose(file);
	return need_memory(text);
}

void arm_print(const json_t *view)
{
	const json_t *arm = json_object_get(view, "arm");
	char *pairs = json_display_pairs(json_object_get(arm, "environment"));
	char *limits = limits_text(json_object_get(arm, "limits"));
	char when[40];
	json_t *item;
	size_t i;

	json_print_field(view, "id", "id");
	json_print_field(view, "name", "name");
	print_field(stdout, "prepared",
		    format_time(json_whole(view, "prepared_at", 0), when, sizeof(when)));
	print_list(view, "missing", "missing");
	print_list(view, "warnings", "warning");
	print_words(arm, "roles", "roles");
	print_words(view, "families", "families");
	print_words(arm, "command", "command");
	json_print_field(arm, "harness", "harness");
	json_print_field(arm, "model", "model");
	json_print_field(arm, "effort", "effort");
	print_words(arm, "arguments", "arguments");
	json_array_foreach(json_object_get(arm, "harnesses"), i, item) print_found(item, "program");
	json_array_foreach(json_object_get(arm, "providers"), i, item)
		print_found(item, "provider");
	json_array_foreach(json_object_get(arm, "files"), i, item) print_file(item);
	print_folder(arm, "build");
	print_folder(arm, "skills");
	print_words(arm, "toolchains", "toolchains");
	print_toolchains(json_object_get(arm, "toolchains_found"));
	print_field(stdout, "environment", pairs);
	print_words(arm, "variables", "may be set");
	print_words(arm, "git_exclude", "git exclude");
	print_field(stdout, "limits", limits);
	free(pairs);
	free(limits);
}

/* What it is of on the host, where it is the content of something: borrowed, or NULL. */
static const json_t *source_of(const json_t *arm, const char *what)
{
	static const char *const lists[][3] = {{"files", "path", "source"},
					       {"harnesses", "name", "executable"}};
	json_t *item;
	size_t i;

	if (strcmp(what, "build.sha256") == 0 || strcmp(what, "skills.sha256") == 0)
		return json_object_get(json_object_get(arm, *what == 'b' ? "build" : "skills"),
				       "path");
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		json_array_foreach(json_object_get(arm, lists[k][0]), i, item)
		{
			char *name = json_display(json_object_get(item, lists[k][1])), *key = NULL;
			bool same = asprintf(&key, "%s.%s.sha256", lists[k][0], name) >= 0 &&
				    strcmp(key, what) == 0;

			free(name);
			free(key);
			if (same)
				return json_object_get(item, lists[k][2]);
		}
	}
	return NULL;
}

/*
 * Whether it is of a Harness that is not there to be compared: why that is missing is told, and all that
 * was known of it is absent for that.
 */
static bool is_of_missing(const json_t *missing, const char *what, const char *is)
{
	static const char list[] = "harnesses.";
	json_t *line;
	size_t i;

	if (*is || strncmp(what, list, strlen(list)) != 0)
		return false;
	what += strlen(list);
	json_array_foreach(missing, i, line)
	{
		const char *text = json_string_value(line);
		size_t length = strcspn(text, ":");

		if (strncmp(text, what, length) == 0 && what[length] == '.')
			return true;
	}
	return false;
}

void arm_print_changes(const json_t *reply, const json_t *arm)
{
	const json_t *missing = json_object_get(reply, "missing");
	bool left_out = false;
	json_t *change;
	size_t i;

	json_array_foreach(missing, i, change)
	{
		char *line = json_display(change);

		printf("missing: %s\n", line);
		free(line);
	}
	json_array_foreach(json_object_get(reply, "changes"), i, change)
	{
		char *what = json_display(json_object_get(change, "what"));
		char *was = json_display(json_object_get(change, "was"));
		char *is = json_display(json_object_get(change, "is"));

		const json_t *source = source_of(arm, what);
		char *of = source ? json_display(source) : NULL;

		/* Its family is missing with it. */
		if (arm && (is_of_missing(missing, what, is) ||
			    (left_out && strcmp(what, "families") == 0)))
			left_out = true;
		else
			printf("%s%s%s%s: was %s, is %s\n", what, of ? " (" : "", of ? of : "",
			       of ? ")" : "", *was ? was : "absent", *is ? is : "absent");
		free(of);
		free(what);
		free(was);
		free(is);
	}
}
