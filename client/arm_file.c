/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_file.h"
#include "json.h"
#include "json_file.h"
#include "options.h"
#include "proto/protocol.h"
#include "proto/quantity.h"

/*
 * What the file may say shorter than the protocol is written out: a Harness as a name, files as a map,
 * variables that a launch sets as null. All else goes through as it is, for the protocol's own tables
 * and trialsd to judge.
 */

struct making {
	const char *folder;
	const char *home;
	json_t *spec;
	struct trials_error *error;
};

static const char *const keys[] = {
	"name",	   "harness",	  "model",	"effort",      "executable", "arguments",
	"command", "files",	  "roles",	"git_exclude", "harnesses",  "providers",
	"limits",  "environment", "toolchains", "skills",      "build",	     NULL,
};
static const char *const file_keys[] = {"path", "mode", NULL};
static const char *const harness_keys[] = {"name", "model", "provider", NULL};
static const char *const provider_keys[] = {"name", "model", NULL};
#define LIMIT_NAME_(name, type, presence, limit, doc) #name,
static const char *const limit_keys[] = {LIMITS_FIELDS(LIMIT_NAME_) NULL};

static int wrong(const struct making *making, const char *key, const char *wanted)
{
	return usage_error(making->error, NULL, "%s: takes %s", key, wanted);
}

/* --- Paths ---------------------------------------------------------------------------------------- */

static const char *skip_dot(const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/'; path++)
			;
	return path;
}

static json_t *host_path(const struct making *making, const char *path)
{
	bool home = path[0] == '~' && (path[1] == '/' || !path[1]);
	const char *base = *path == '/' ? "" : home ? making->home : making->folder;
	const char *rest = home ? path + 1 + (path[1] == '/') : skip_dot(path);
	json_t *value;
	char *joined;

	if (!*rest || strcmp(rest, ".") == 0)
		return need_memory(json_string(base));
	if (asprintf(&joined, "%s%s%s", base, *path == '/' || strcmp(base, "/") == 0 ? "" : "/",
		     rest) < 0)
		joined = NULL;
	value = json_string(need_memory(joined));
	free(joined);
	return need_memory(value);
}

static int take_path(const struct making *making, const char *key, const json_t *value)
{
	if (!json_is_string(value) || !*json_string_value(value))
		return wrong(making, key, "a path");
	json_object_set_new(making->spec, key, host_path(making, json_string_value(value)));
	return 0;
}

/* --- Files ---------------------------------------------------------------------------------------- */

/* Permission bits as one writes them: "0755". */
static int take_mode(const struct making *making, const char *source, const json_t *value,
		     json_t *file)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (!*text || *end || strspn(text, "01234567") != strlen(text) || mode > 0777)
		return usage_error(making->error, NULL,
				   "files: %s: mode takes permission bits in octal, as \"0755\"",
				   source);
	json_object_set_new(file, "mode", need_memory(json_integer((json_int_t)mode)));
	return 0;
}

static int take_file(const struct making *making, const char *source, const json_t *value,
		     json_t *files)
{
	const json_t *path = json_is_object(value) ? json_object_get(value, "path") : value;
	const json_t *mode = json_object_get(value, "mode");
	json_t *file, *at = need_memory(json_string(source));
	char *shown = json_display(at), what[128];
	int r = 0;

	json_decref(at);
	snprintf(what, sizeof(what), "files: %.100s", shown);
	if (json_is_object(value))
		r = json_file_check_keys(value, what, file_keys, making->error);
	if (r == 0 && (!*source || !json_is_string(path)))
		r = usage_error(making->error, NULL,
				"%s: takes a path inside, or {\"path\": …, \"mode\": \"0755\"}",
				what);
	if (r == 0) {
		file = need_memory(json_object());
		json_object_set_new(file, "source", host_path(making, source));
		at = need_memory(json_string(strncmp(json_string_value(path), "./", 2) == 0
						     ? skip_dot(json_string_value(path))
						     : json_string_value(path)));
		json_object_set_new(file, "path", at);
		if (mode)
			r = take_mode(making, shown, mode, file);
		json_array_append_new(files, file);
	}
	free(shown);
	return r;
}

static bool is_mapped(const json_t *files, const char *path)
{
	json_t *file;
	size_t i;

	json_array_foreach(files, i, file)
	{
		if (strcmp(json_string_value(json_object_get(file, "path")), path) == 0)
			return true;
	}
	return false;
}

/* A program beside the file, and what begins with "./", is mapped without being told. */
static int take_command_files(const struct making *making, const json_t *command, json_t *files)
{
	json_t *element;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)command, i, element)
	{
		const char *text = json_is_string(element) ? json_string_value(element) : "";
		bool named = strncmp(text, "./", 2) == 0;

		if (*text == '/' || *text == '~' || (!named && (i > 0 || !strchr(text, '/'))) ||
		    is_mapped(files, skip_dot(text)))
			continue;
		if (strncmp(skip_dot(text), "../", 3) == 0 || strstr(text, "/../"))
			return usage_error(making->error,
					   "map it: \"files\": {\"HOST PATH\": \"PATH\"}",
					   "command: %s has .. in it, and is not mapped by itself",
					   text);
		r = take_file(making, text, element, files);
		if (r < 0)
			return r;
	}
	return r;
}

static int take_files(const struct making *making, const json_t *file)
{
	const json_t *map = json_object_get(file, "files");
	const json_t *command = json_object_get(file, "command");
	json_t *files = need_memory(json_array()), *value;
	const char *source;
	int r = 0;

	if (map && !json_is_object(map))
		r = wrong(making, "files", "a map from paths of the host to paths inside");
	else
		json_object_foreach((json_t *)map, source, value)
		{
			if (r == 0)
				r = take_file(making, source, value, files);
		}
	if (r == 0 && json_is_array(command))
		r = take_command_files(making, command, files);
	if (r == 0 && json_array_size(files) > 0)
		json_object_set(making->spec, "files", files);
	json_decref(files);
	return r;
}

/* --- Limits --------------------------------------------------------------------------------------- */

/* Options take 4G and 30m, the protocol numbers: what is meant is said. */
static int check_limit(const struct making *making, const char *name, const json_t *value)
{
	const char *text = json_string_value(value);
	char *hint = NULL;
	uint64_t bytes;
	double seconds;
	int r;

	if (!text)
		return 0;
	if (strstr(name, "_seconds"))
		r = quantity_time(text, &seconds) < 0
			    ? 0
			    : asprintf(&hint, "\"%s\": %.15g", name, seconds);
	else
		r = quantity_size(text, &bytes) < 0
			    ? 0
			    : asprintf(&hint, "\"%s\": %llu", name, (unsigned long long)bytes);
	need_memory(r < 0 ? NULL : making->spec);
	r = usage_error(making->error, hint,
			"limits.%s: takes a plain number%s; units are for options", name,
			strstr(name, "_seconds")				 ? " of seconds"
			: strcmp(name, "tasks") == 0 || strcmp(name, "cpu") == 0 ? ""
										 : " of bytes");
	free(hint);
	return r;
}

static int check_limits(const struct making *making, const json_t *limits)
{
	const char *name;
	json_t *value;
	int r = json_file_check_keys(limits, "limits", limit_keys, making->error);

	json_object_foreach((json_t *)limits, name, value)
	{
		if (r == 0)
			r = check_limit(making, name, value);
	}
	return r;
}

/* --- Names ---------------------------------------------------------------------------------------- */

static int take_named(const struct making *making, const char *key, const json_t *list,
		      const char *const *allowed)
{
	json_t *result, *item, *named;
	size_t i;
	int r = 0;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return wrong(making, key, "a list of names, or of maps with a name");
	result = need_memory(json_array());
	json_array_foreach((json_t *)list, i, item)
	{
		if (r == 0 && json_is_object(item))
			r = json_file_check_keys(item, key, allowed, making->error);
		else if (r == 0 && !json_is_string(item))
			r = wrong(making, key, "a list of names, or of maps with a name");
		if (r < 0)
			break;
		named = json_is_string(item) ? json_pack("{s:O}", "name", item) : json_incref(item);
		json_array_append_new(result, need_memory(named));
	}
	if (r == 0)
		json_object_set(making->spec, key, result);
	json_decref(result);
	return r;
}

static int take_environment(const struct making *making, const json_t *environment)
{
	json_t *values, *variables, *value;
	const char *name;
	size_t i;
	int r = 0;

	if (!environment)
		return 0;
	values = need_memory(json_object());
	variables = need_memory(json_array());
	if (json_is_array(environment)) {
		json_array_foreach((json_t *)environment, i, value)
			json_array_append(variables, value);
	} else if (json_is_object(environment)) {
		json_object_foreach((json_t *)environment, name, value)
		{
			if (json_is_null(value))
				json_array_append_new(variables, need_memory(json_string(name)));
			else
				json_object_set(values, name, value);
		}
	} else {
		r = wrong(making, "environment",
			  "a map of variables (null: a launch may set it), or a list of names");
	}
	if (json_object_size(values) > 0)
		json_object_set(making->spec, "environment", values);
	if (json_array_size(variables) > 0)
		json_object_set(making->spec, "variables", variables);
	json_decref(values);
	json_decref(variables);
	return r;
}

static int make(const struct making *making, const json_t *file)
{
	static const char *const plain[] = {"name",	 "harness",   "model", "effort",
					    "arguments", "command",   "roles", "git_exclude",
					    "limits",	 "toolchains"};
	static const char *const paths[] = {"executable", "skills", "build"};
	const json_t *limits = json_object_get(file, "limits");
	int r = json_file_check_keys(file, "", keys, making->error);

	if (r == 0 && json_is_object(limits))
		r = check_limits(making, limits);
	for (size_t i = 0; r == 0 && i < sizeof(plain) / sizeof(plain[0]); i++)
		if (json_object_get(file, plain[i]))
			json_object_set(making->spec, plain[i], json_object_get(file, plain[i]));
	for (size_t i = 0; r == 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (json_object_get(file, paths[i]))
			r = take_path(making, paths[i], json_object_get(file, paths[i]));
	if (r == 0)
		r = take_files(making, file);
	if (r == 0)
		r = take_named(making, "harnesses", json_object_get(file, "harnesses"),
			       harness_keys);
	if (r == 0)
		r = take_named(making, "providers", json_object_get(file, "providers"),
			       provider_keys);
	return r == 0 ? take_environment(making, json_object_get(file, "environment")) : r;
}

int arm_file_spec(const json_t *file, const char *folder, const char *home, json_t **ret_spec,
		  struct trials_error *ret_error)
{
	struct making making = {.folder = folder, .home = home, .error = ret_error};
	int r;

	if (!json_is_object(file))
		return usage_error(ret_error, NULL, "an Arm is one JSON object");
	making.spec = need_memory(json_object());
	r = make(&making, file);
	if (r < 0) {
		json_decref(making.spec);
		return r;
	}
	*ret_spec = making.spec;
	return 0;
}
