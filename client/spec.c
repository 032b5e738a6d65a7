/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind.h"
#include "command.h"
#include "exit_code.h"
#include "input.h"
#include "json.h"
#include "proto/protocol.h"
#include "proto/quantity.h"
#include "spec.h"

/*
 * From options to the arguments of a launch.
 *
 * A table says for each option which key it sets and how its text is read; what does not fit a
 * row (prompt, repository, bind) has a function. Values are written over what --spec brought,
 * and at the end the whole is decoded by the protocol's own tables: those know every type and
 * limit, so they are not repeated here.
 */

#define SPEC_BYTES_MAX (4u * 1024u * 1024u) /* base64 and blanks make it larger than a frame */

enum reading {
	READ_SPECIAL,
	READ_FLAG,
	READ_TEXT,
	READ_PATH,
	READ_SIZE,
	READ_TIME,
	READ_COUNT,
	READ_PERCENT,
	READ_INTEGER,
	READ_PAIR,
};

static const struct reader {
	const char *option;
	enum reading reading;
	const char *group; /* the inner map the key stands in, or NULL */
	const char *key;
	/* What trialsd takes (of a time: more than 0). The decoder knows the most. */
	uint64_t least;
} readers[] = {
	{"harness", READ_TEXT, NULL, "harness", 0},
	{"arm", READ_TEXT, NULL, "arm", 0},
	{"bar", READ_TEXT, NULL, "bar", 0},
	{"seat", READ_TEXT, NULL, "seat", 0},
	{"model", READ_TEXT, NULL, "model", 0},
	{"effort", READ_TEXT, NULL, "effort", 0},
	{"resume", READ_TEXT, NULL, "resume", 0},
	{"of", READ_COUNT, NULL, "of", 1},
	{"outputs", READ_FLAG, NULL, "outputs", 0},
	{"keep-home", READ_FLAG, NULL, "keep_home", 0},
	{"executable", READ_PATH, NULL, "executable", 0},
	{"share-repository", READ_FLAG, NULL, "share_repository", 0},
	{"allow-no-sandbox", READ_FLAG, NULL, "allow_no_sandbox", 0},
	{"cwd", READ_PATH, NULL, "cwd", 0},
	{"role", READ_TEXT, NULL, "role", 0},
	{"build", READ_PATH, NULL, "build", 0},
	{"skills", READ_PATH, NULL, "skills", 0},
	{"env", READ_PAIR, "environment", NULL, 0},
	{"network", READ_TEXT, NULL, "network", 0},
	{"wall", READ_TIME, "limits", "wall_seconds", 1},
	{"stall", READ_TIME, "limits", "stall_seconds", 1},
	{"grace", READ_TIME, NULL, "grace_seconds", 0},
	{"memory", READ_SIZE, "limits", "memory", LIMIT_MEMORY_BYTES_MIN},
	{"swap", READ_SIZE, "limits", "swap", 0},
	{"tasks", READ_COUNT, "limits", "tasks", 1},
	{"cpu", READ_PERCENT, "limits", "cpu", 1},
	{"tmp", READ_SIZE, "limits", "tmp", LIMIT_TMPFS_BYTES_MIN},
	{"home", READ_SIZE, "limits", "home", LIMIT_TMPFS_BYTES_MIN},
	{"output", READ_SIZE, "limits", "output", LIMIT_OUTPUT_BYTES_MIN},
	{"label", READ_PAIR, "labels", NULL, 0},
	{"key", READ_TEXT, NULL, "key", 0},
	{"priority", READ_INTEGER, NULL, "priority", 0},
};

/* The inner map or list of that name, made when it is not there. NULL: it is something else. */
static json_t *inner(json_t *object, const char *key, json_type type)
{
	json_t *value = json_object_get(object, key);

	if (!value) {
		value = need_memory(type == JSON_ARRAY ? json_array() : json_object());
		json_object_set_new(object, key, value);
	}
	return json_typeof(value) == type ? value : NULL;
}

static json_t *bytes_value(const char *bytes)
{
	return need_memory(json_from_bytes(bytes, strlen(bytes)));
}

static int bad_number(struct trials_error *ret_error, const struct option *option,
		      const char *value, int number)
{
	static const struct {
		const char *argument;
		const char *takes;
	} examples[] = {
		{"SIZE", "a size like 4G, 512M or a number of bytes, at most 1024T"},
		{"TIME", "a time like 90, 90s, 1.5h or \"2h 30min\""},
		{"PERCENT", "a percentage like 50% or 400%"},
		{"N", "a whole number"},
		{"ID", "the number of a Trial"},
	};
	const char *takes = option->argument;

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (strcmp(examples[i].argument, option->argument) == 0)
			takes = examples[i].takes;
	return usage_error(ret_error,
			   strcmp(value, "infinity") == 0
				   ? "to lift a default for every launch: trialsd.conf(5)"
				   : NULL,
			   "--%s takes %s; \"%s\" is %s", option->name, takes, value,
			   number == -ERANGE ? "too large" : "not that");
}

static int check_least(const struct reader *reader, const char *value, uint64_t number,
		       struct trials_error *ret_error)
{
	char least[32];

	if (number >= reader->least)
		return 0;
	if (reader->reading == READ_SIZE)
		quantity_format_size(reader->least, least, sizeof(least));
	else
		snprintf(least, sizeof(least), "%llu", (unsigned long long)reader->least);
	return usage_error(ret_error, NULL, "--%s: %s is too small: at least %s", reader->option,
			   value, least);
}

static int read_integer(const char *text, uint64_t max, int64_t *ret_value)
{
	uint64_t magnitude;
	bool negative = *text == '-';
	int r = parse_unsigned(text + negative, max, &magnitude);

	*ret_value = r < 0 ? 0 : negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return r;
}

static int read_value(const struct reader *reader, const struct option *option, const char *value,
		      json_t **ret_value, struct trials_error *ret_error)
{
	uint64_t whole = 0;
	int64_t number;
	double seconds = 0;
	char *path;
	int r = 0;

	switch (reader->reading) {
	case READ_PATH:
		r = path_absolute(value, &path);
		if (r < 0)
			return usage_error(ret_error, NULL, "--%s: %s", option->name,
					   r == -EINVAL ? "the path is empty" : strerror(-r));
		*ret_value = bytes_value(path);
		free(path);
		return 0;
	case READ_SIZE:
		r = quantity_size(value, &whole);
		break;
	case READ_COUNT:
		r = parse_unsigned(value, INT64_MAX, &whole);
		break;
	case READ_PERCENT:
		r = quantity_percent(value, &whole);
		if (r == 0 && whole && whole < CPU_PERCENT_PLAIN_LEAST && !strchr(value, '%'))
			return usage_error(ret_error, NULL,
					   "--%s: is %s%% meant, or %s00%%? 100%% is one processor",
					   option->name, value, value);
		break;
	case READ_TIME:
		r = quantity_time(value, &seconds);
		break;
	case READ_INTEGER:
		r = read_integer(value, INT64_MAX, &number);
		whole = (uint64_t)number;
		break;
	case READ_FLAG:
		*ret_value = json_true();
		return 0;
	default:
		*ret_value = bytes_value(value);
		return 0;
	}
	if (r < 0)
		return bad_number(ret_error, option, value, r);
	if (reader->reading == READ_TIME && reader->least && !(seconds > 0))
		return usage_error(ret_error, NULL, "--%s: must be more than 0", option->name);
	if (reader->reading != READ_TIME && reader->reading != READ_INTEGER)
		r = check_least(reader, value, whole, ret_error);
	if (r < 0)
		return r;
	*ret_value = need_memory(reader->reading == READ_TIME ? json_real(seconds)
							      : json_integer((json_int_t)whole));
	return 0;
}

static int set_pair(json_t *map, const struct option *option, const char *value,
		    struct trials_error *ret_error)
{
	size_t length = strcspn(value, "=");
	char *name;

	if (!length || !value[length])
		return usage_error(ret_error, NULL, "--%s takes NAME=VALUE, not \"%s\"",
				   option->name, value);
	name = need_memory(strndup(value, length));
	if (json_object_set_new(map, name, bytes_value(value + length + 1)) < 0) {
		free(name);
		return usage_error(ret_error, NULL, "--%s: the name is not UTF-8: \"%s\"",
				   option->name, value);
	}
	free(name);
	return 0;
}

static int set_from_table(json_t *launch, const struct option *option, const char *value,
			  struct trials_error *ret_error)
{
	const struct reader *reader = readers;
	json_t *target = launch, *read = NULL;
	int r;

	while (strcmp(reader->option, option->name) != 0)
		reader++;
	if (reader->group)
		target = inner(launch, reader->group, JSON_OBJECT);
	/* --spec has something else there: the decoder will say so. */
	if (!target)
		return 0;
	if (reader->reading == READ_PAIR)
		return set_pair(target, option, value, ret_error);
	r = read_value(reader, option, value, &read, ret_error);
	if (r >= 0)
		json_object_set_new(target, reader->key, read);
	return r;
}

static int set_repository(json_t *launch, const char *value, struct trials_error *ret_error)
{
	const char *mode;
	char *path;
	int r;

	r = parse_repository(value, &path, &mode, ret_error);
	if (r < 0)
		return r;
	json_object_set_new(launch, "repository", bytes_value(path));
	free(path);
	if (mode)
		json_object_set_new(launch, "repository_mode", json_string(mode));
	else
		json_object_del(launch, "repository_mode");
	return 0;
}

static int add_bind(json_t *launch, const char *value, struct trials_error *ret_error)
{
	json_t *binds = inner(launch, "binds", JSON_ARRAY);
	json_t *bind;
	int r;

	r = parse_bind(value, &bind, ret_error);
	if (r < 0)
		return r;
	if (binds)
		json_array_append_new(binds, bind);
	else
		json_decref(bind);
	return 0;
}

static int add_text(json_t *launch, const char *key, const char *value)
{
	json_t *texts = inner(launch, key, JSON_ARRAY);

	if (texts)
		json_array_append_new(texts, bytes_value(value));
	return 0;
}

static int set_option(json_t *launch, const struct given *given, struct trials_error *ret_error)
{
	const char *name = given->option->name;

	if (strcmp(name, "repository") == 0)
		return set_repository(launch, given->value, ret_error);
	if (strcmp(name, "bind") == 0)
		return add_bind(launch, given->value, ret_error);
	if (strcmp(name, "toolchain") == 0)
		return add_text(launch, "toolchains", given->value);
	if (strcmp(name, "host") == 0)
		return add_text(launch, "hosts", given->value);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (strcmp(readers[i].option, name) == 0)
			return set_from_table(launch, given->option, given->value, ret_error);
	return 0;
}

/* The paths of --spec follow the rule of options: relative ones start at the current folder. */
static void make_absolute(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	char *bytes, *path;
	size_t size;

	if (!value || json_to_bytes(value, &bytes, &size) < 0)
		return;
	/* What holds a NUL or is empty is left for the decoder to refuse. */
	if (strlen(bytes) == size && path_absolute(bytes, &path) >= 0) {
		json_object_set_new(object, key, bytes_value(path));
		free(path);
	}
	free(bytes);
}

static int read_spec(struct context *context, const char *name, json_t **ret_launch)
{
	static const char *const paths[] = {"repository", "cwd",	 "build",
					    "skills",	  "prompt_file", "executable"};
	json_error_t json_error;
	json_t *launch, *bind;
	char *text;
	size_t size, i;
	int r;

	r = input_read(context, "--spec", name, SPEC_BYTES_MAX, NULL, &text, &size);
	if (r)
		return r;
	launch = json_load_text(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json_error);
	free(text);
	if (!launch)
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--spec %s: not JSON: line %d, column %d: %s", name,
				      json_error.line, json_error.column, json_error.text);
	if (!json_is_object(launch)) {
		json_decref(launch);
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--spec %s: takes one JSON object", name);
	}
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		make_absolute(launch, paths[i]);
	json_array_foreach(json_object_get(launch, "binds"), i, bind) make_absolute(bind, "source");
	*ret_launch = launch;
	return 0;
}

/*
 * What only we can read. Up to what a message takes it is part of the launch; more goes with it as
 * a descriptor, for which printed JSON has no form.
 */
static int set_private_prompt(struct context *context, const struct arguments *arguments,
			      const char *file, struct spec *spec)
{
	bool printed = arguments_given(arguments, "print-spec");
	char *text;
	size_t size;
	int r;

	r = input_read(context, "--prompt-file", file,
		       printed ? PROMPT_INLINE_BYTES_MAX : PROMPT_FILE_BYTES_MAX,
		       printed ? "put it into a file: --prompt-file FILE" : NULL, &text, &size);
	if (r)
		return r;
	if (size <= PROMPT_INLINE_BYTES_MAX) {
		json_object_set_new(spec->launch, "prompt",
				    need_memory(json_from_bytes(text, size)));
	} else {
		json_object_set_new(spec->launch, "prompt_descriptor", json_true());
		r = input_memory(context, text, size, &spec->prompt_fd);
	}
	free(text);
	return r;
}

static int set_prompt(struct context *context, const struct arguments *arguments, struct spec *spec)
{
	const char *prompt = arguments_value(arguments, "prompt");
	const char *file = arguments_value(arguments, "prompt-file");
	const char *from = arguments_value(arguments, "spec");
	char *path;
	int r;

	if (prompt && file)
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--prompt and --prompt-file exclude each other");
	if (file && from && strcmp(file, "-") == 0 && strcmp(from, "-") == 0)
		return context_refuse(context, EXIT_USED_WRONG, NULL,
				      "--spec and --prompt-file cannot both be standard input");
	if (json_flag(spec->launch, "prompt_descriptor"))
		return context_refuse(context, EXIT_USED_WRONG,
				      "name the file: prompt_file, or --prompt-file FILE",
				      "prompt_descriptor: JSON has no descriptor with it");
	if (prompt || file) {
		json_object_del(spec->launch, "prompt");
		json_object_del(spec->launch, "prompt_file");
	}
	if (prompt)
		json_object_set_new(spec->launch, "prompt", bytes_value(prompt));
	if (!file)
		return 0;
	if (input_is_private(file))
		return set_private_prompt(context, arguments, file, spec);
	r = path_absolute(file, &path);
	if (r < 0)
		return context_refuse(context, EXIT_USED_WRONG, NULL, "--prompt-file: %s",
				      r == -EINVAL ? "the path is empty" : strerror(-r));
	json_object_set_new(spec->launch, "prompt_file", bytes_value(path));
	free(path);
	return 0;
}

/* Which fields this option has set, as trialsd names them when it refuses one. */
static void note_origins(struct origins *origins, const json_t *launch, const struct given *given)
{
	const char *name = given->option->name;
	char option[256], field[256];

	snprintf(option, sizeof(option), "--%s", name);
	if (strcmp(name, "repository") == 0) {
		origins_add(origins, "repository", option);
		origins_add(origins, "repository_mode", option);
	} else if (strcmp(name, "prompt") == 0 || strcmp(name, "prompt-file") == 0) {
		origins_add(origins, "prompt", option);
		origins_add(origins, "prompt_file", option);
		origins_add(origins, "prompt_descriptor", option);
	} else if (strcmp(name, "bind") == 0) {
		snprintf(field, sizeof(field), "binds[%zu]",
			 json_array_size(json_object_get(launch, "binds")) - 1);
		snprintf(option, sizeof(option), "--bind %s", given->value);
		origins_add(origins, field, option);
		origins_add(origins, "binds", "--bind");
	} else if (strcmp(name, "toolchain") == 0) {
		origins_add(origins, "toolchains", "--toolchain");
	} else if (strcmp(name, "host") == 0) {
		origins_add(origins, "hosts", "--host");
	}
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		const struct reader *reader = &readers[i];
		int length = (int)strcspn(given->value, "=");

		if (strcmp(reader->option, name) != 0)
			continue;
		if (reader->reading == READ_PAIR) {
			origins_add(origins, reader->group, option);
			snprintf(field, sizeof(field), "%s.%.*s", reader->group, length,
				 given->value);
			snprintf(option, sizeof(option), "--%s %.*s", name, length, given->value);
		} else {
			snprintf(field, sizeof(field), "%s%s%s", reader->group ? reader->group : "",
				 reader->group ? "." : "", reader->key);
		}
		origins_add(origins, field, option);
	}
}

/* What no option has set, and trialsd may miss: "model: ..." is about --model all the same. */
static void note_usual_origins(struct origins *origins)
{
	static const struct {
		const char *field, *option;
	} others[] = {
		{"hosts:", "--host:"},		 {"repository:", "--repository:"},
		{"prompt:", "--prompt:"},	 {"binds:", "--bind:"},
		{"toolchains:", "--toolchain:"}, {"environment:", "--env:"},
		{"labels:", "--label:"},	 {"command:", "COMMAND:"},
	};
	char option[64], field[64];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		origins_add_usual(origins, others[i].field, others[i].option);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		const struct reader *reader = &readers[i];

		if (reader->reading == READ_PAIR)
			continue;
		snprintf(option, sizeof(option), "--%s:", reader->option);
		snprintf(field, sizeof(field), "%s%s%s:", reader->group ? reader->group : "",
			 reader->group ? "." : "", reader->key);
		origins_add_usual(origins, field, option);
	}
}

static int set_options(struct context *context, const struct arguments *arguments, json_t *launch)
{
	struct trials_error error;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < arguments->given_count; i++) {
		const struct given *given = &arguments->given[i];

		r = set_option(launch, given, &error);
		/* Of a variable the last counts, as in a shell; a label is data, and one would be lost. */
		if (r >= 0 && strcmp(given->option->name, "label") == 0 &&
		    arguments_name_repeated(arguments, i))
			r = usage_error(&error, NULL, "--label: the name of \"%s\" is given twice",
					given->value);
		if (r >= 0)
			note_origins(&context->origins, launch, given);
	}
	return r < 0 ? context_fail(context, r, &error) : 0;
}

/* The command; of a harness, further arguments of its program. */
static void set_operands(struct context *context, const struct arguments *arguments, json_t *launch)
{
	bool harness = json_object_get(launch, "harness") != NULL;
	json_t *words = need_memory(json_array());

	for (size_t i = 0; i < arguments->operand_count; i++)
		json_array_append_new(words, bytes_value(arguments->operands[i]));
	json_object_set_new(launch, harness ? "arguments" : "command", words);
	origins_add(&context->origins, harness ? "arguments" : "command",
		    harness ? "ARGUMENT" : "COMMAND");
}

/* The protocol's own checks; what comes back has its order. */
static int check(struct context *context, struct spec *spec)
{
	struct trials_message *checked;
	struct trials_error error;
	int r;

	r = arguments_from_json("launch", spec->launch, &checked, &error);
	if (r < 0)
		return context_fail(context, r, &error);
	json_decref(spec->launch);
	spec->launch = need_memory(json_from_message(checked));
	trials_message_free(checked);
	return 0;
}

static int fill(struct context *context, const struct arguments *arguments, struct spec *spec)
{
	json_t *launch = spec->launch;
	const char *key;
	int r;

	r = set_options(context, arguments, launch);
	if (r)
		return r;
	r = set_prompt(context, arguments, spec);
	if (r)
		return r;
	/* A command that somebody meant must not become an argument of an agent. */
	if (arguments->operand_count && !arguments->dashes && json_object_get(launch, "harness"))
		return context_refuse(
			context, EXIT_USED_WRONG, "-- ARGUMENT...",
			"with --harness there is no COMMAND; arguments of its program "
			"stand behind --");
	if (arguments->operand_count)
		set_operands(context, arguments, launch);
	if (!arguments_given(arguments, "spec"))
		note_usual_origins(&context->origins);
	if (!json_object_get(launch, "command") && !json_object_get(launch, "harness") &&
	    !json_object_get(launch, "arm") && !json_object_get(launch, "seat")) {
		/* A key of --spec that is misspelled is what is wrong, not that there is no command. */
		r = check(context, spec);
		return r ? r
			 : context_refuse(context, EXIT_USED_WRONG, "trialctl help launch",
					  "COMMAND is missing: what is the Trial to run?");
	}
	/* A script's variable that is not set must not become a launch that repeats itself. */
	key = json_text(launch, "key");
	if (key && !*key)
		return context_refuse(
			context, EXIT_USED_WRONG,
			"is a variable not set? a launch without a key has none at all",
			"key: it is empty, which would protect against nothing");
	if (json_flag(launch, "share_repository") && !json_object_get(launch, "repository") &&
	    !json_object_get(launch, "binds"))
		context_warn(context, "--share-repository has no effect without --repository or "
				      "--bind");
	return 0;
}

/*
 * A file travels as a descriptor, and so may be one that trialsd could not open: its service has
 * folders of its own, /tmp for one.
 */
static int open_prompt_file(struct context *context, struct spec *spec)
{
	const json_t *value = json_object_get(spec->launch, "prompt_file");
	char *path;
	size_t size;
	int r;

	if (!value || json_to_bytes(value, &path, &size) < 0)
		return 0;
	r = input_open(context, "prompt_file", path, PROMPT_FILE_BYTES_MAX, &spec->prompt_fd);
	free(path);
	if (r)
		return r;
	json_object_del(spec->launch, "prompt_file");
	json_object_set_new(spec->launch, "prompt_descriptor", json_true());
	return 0;
}

void spec_done(struct spec *spec)
{
	json_decref(spec->launch);
	if (spec->prompt_fd >= 0)
		close(spec->prompt_fd);
	*spec = (struct spec){.prompt_fd = -1};
}

int spec_make(struct context *context, const struct arguments *arguments, struct spec *ret_spec)
{
	const char *from = arguments_value(arguments, "spec");
	struct spec spec = {.verb = "launch", .prompt_fd = -1};
	int r = 0;

	if (from)
		r = read_spec(context, from, &spec.launch);
	else
		spec.launch = need_memory(json_object());
	if (!r)
		r = fill(context, arguments, &spec);
	if (!r)
		r = check(context, &spec);
	if (!r && !arguments_given(arguments, "print-spec"))
		r = open_prompt_file(context, &spec);
	if (r)
		spec_done(&spec);
	*ret_spec = spec;
	return r;
}
