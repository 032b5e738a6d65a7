/* SPDX-License-Identifier: MIT */

/*
 * Arms: ways of doing the work, frozen by trialsd. What a file says is made into what the protocol takes
 * here (arm_file.c); what is found for it, and whether it has changed, trialsd tells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_file.h"
#include "arm_find.h"
#include "arm_print.h"
#include "bind.h"
#include "command.h"
#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "json_file.h"
#include "pages.h"
#include "print.h"
#include "proto/quantity.h"

#define ID_SHOWN 12
#define EXIT_CHANGED 1

static const struct option options[] = {
	{"allow-secret-file", 0, "PATH", NULL, COMPLETE_FILE, true,
	 "of prepare: map this file although it looks like a key or a login"},
	{0},
};

static const char keys_help[] =
	"Keys of FILE.json, one JSON object; any other is refused:\n"
	"  name          what the Arm is called\n"
	"  roles         [\"trial\"] (default), [\"grader\"] or both\n"
	"  limits        {\"wall_seconds\": 3600, \"memory\": 4294967296, ...}: those of launch --spec\n"
	"  environment   {\"NAME\": \"VALUE\", \"OPEN\": null}; null: a launch may set it\n"
	"  toolchains    [\"rust\", ...]\n"
	"  build, skills folders of the host, read-only inside\n"
	"and of a session of a Harness:\n"
	"  harness       its name; trialctl harness list has them\n"
	"  model, effort, executable\n"
	"  arguments     [\"...\"]: further ones of its program\n"
	"or of a Custom runner:\n"
	"  command       [\"./run.sh\", ...]: what begins with ./ is mapped by itself\n"
	"  files         {\"PATH OF THE HOST\": \"PATH INSIDE\"}: beside the runner, or ~/... of its home\n"
	"  harnesses     [\"codex\", {\"name\": \"kimi\", \"provider\": ..., \"model\": ...}]\n"
	"  providers     [\"openai\", {\"name\": \"openrouter\", \"model\": ...}]\n"
	"  git_exclude   [\"*.log\"]: what git status inside leaves out\n"
	"\n"
	"  {\"name\": \"high\", \"harness\": \"claude\", \"model\": \"opus\", \"effort\": \"high\"}\n"
	"  {\"name\": \"mine\", \"command\": [\"./run.sh\"], \"harnesses\": [\"codex\", \"claude\"]}\n";

/* Connects and sends; arguments is consumed. */
static int send(struct context *context, const char *verb, json_t *arguments, uint64_t *ret_number)
{
	int r = context_connect(context);

	if (r) {
		json_decref(arguments);
		return r;
	}
	return context_send(context, verb, arguments, ret_number);
}

/* --- prepare -------------------------------------------------------------------------------------- */

/* The folder that relative paths of it are relative to. */
/* Without links and "..", so that whichever way leads to a file, it is the same Arm. */
static char *folder_of(const char *file)
{
	char *path = NULL, *slash, *canonical;

	if (path_absolute(strcmp(file, "-") == 0 ? "." : file, &path) < 0)
		return NULL;
	slash = strcmp(file, "-") == 0 ? NULL : strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	canonical = realpath(path, NULL);
	if (!canonical)
		return path;
	free(path);
	return canonical;
}

static int add_secret_files(struct context *context, const struct arguments *arguments,
			    json_t *spec)
{
	json_t *list = need_memory(json_array());
	int r = 0;

	for (size_t i = 0; r == 0 && i < arguments->given_count; i++) {
		const struct given *given = &arguments->given[i];
		char *path = NULL;

		if (strcmp(given->option->name, "allow-secret-file") != 0)
			continue;
		if (path_absolute(given->value, &path) < 0)
			r = context_refuse(context, EXIT_USED_WRONG, NULL,
					   "--allow-secret-file: no path");
		else
			json_array_append_new(list, text_value(path));
		free(path);
	}
	if (r == 0 && json_array_size(list) > 0)
		json_object_set(spec, "secret_files", list);
	json_decref(list);
	return r;
}

/* The elements of a list, of which a message names the number alone, by what they are called in the file. */
static void note_elements(struct origins *origins, const json_t *spec, const char *key,
			  const char *name, size_t first, const char *called)
{
	static const char *const inner[] = {"", ".name", ".model", ".provider", ".path", ".mode"};
	static const char *const prefixes[] = {"", "spec."};
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(spec, key), i, item)
	{
		char *shown = json_display(json_object_get(item, name));

		for (size_t k = 0; k < 2 * sizeof(inner) / sizeof(inner[0]); k++) {
			const char *of = inner[k / 2];
			char field[64], option[512];

			snprintf(field, sizeof(field), "%s%s[%zu]%s", prefixes[k % 2], key, i, of);
			snprintf(option, sizeof(option), "%s: %.400s%s%s", i < first ? key : called,
				 shown, *of ? ": " : "", *of ? of + 1 : "");
			origins_add(origins, field, option);
		}
		free(shown);
	}
}

/* A message is about the file, and not about the request that is made of it. */
static void note_origins(struct origins *origins, const json_t *file, const json_t *spec)
{
	const char *key, *limit;
	json_t *value, *number;
	char field[128];

	origins->within = "spec";
	origins_add(origins, "spec", "FILE");
	json_object_foreach((json_t *)spec, key, value)
	{
		snprintf(field, sizeof(field), "spec.%.100s", key);
		origins_add(origins, field, key);
		if (strcmp(key, "limits") != 0)
			continue;
		json_object_foreach(value, limit, number)
		{
			snprintf(field, sizeof(field), "spec.limits.%.100s", limit);
			origins_add(origins, field, field + strlen("spec."));
		}
	}
	/* Those that the command brought come behind the others. */
	note_elements(origins, spec, "files", "path",
		      json_object_size(json_object_get(file, "files")), "command");
	note_elements(origins, spec, "harnesses", "name", SIZE_MAX, "");
	note_elements(origins, spec, "providers", "name", SIZE_MAX, "");
}

static int read_file(struct context *context, const char *file, json_t **ret_spec)
{
	const char *home = getenv("HOME");
	struct trials_error error;
	json_t *json;
	char *folder;
	int r = json_file_read(context, file, &json);

	if (r)
		return r;
	folder = folder_of(file);
	if (!folder) {
		json_decref(json);
		return context_refuse(context, EXIT_SYSTEM, "use an absolute path",
				      "%s: cannot tell the current folder", file);
	}
	r = arm_file_spec(json, folder, home && *home == '/' ? home : "/", ret_spec, &error);
	free(folder);
	if (r == 0)
		note_origins(&context->origins, json, *ret_spec);
	json_decref(json);
	return r < 0 ? context_fail(context, r, &error) : 0;
}

static int prepare(struct context *context, const struct arguments *arguments, const char *file)
{
	json_t *spec = NULL, *request, *reply = NULL, *warning;
	uint64_t number;
	size_t i;
	int r = read_file(context, file, &spec);

	if (r)
		return r;
	r = add_secret_files(context, arguments, spec);
	if (r) {
		json_decref(spec);
		return r;
	}
	request = need_memory(json_object());
	json_object_set_new(request, "spec", spec);
	/* Programs and folders are read as a whole, which takes as long as it takes. */
	r = send(context, "arm_prepare", request, &number);
	if (r == 0)
		r = context_receive_late(context, number, "trialsd went away meanwhile",
					 "trialctl arm prepare once more", &reply);
	if (r)
		return r;
	if (context->json) {
		context_print(context, reply);
	} else {
		printf("%s\n", json_text(reply, "id"));
		json_array_foreach(json_object_get(reply, "missing"), i, warning)
			context_warn(context, "absent: %s", json_string_value(warning));
		json_array_foreach(json_object_get(reply, "warnings"), i, warning)
			context_warn(context, "%s", json_string_value(warning));
	}
	json_decref(reply);
	return 0;
}

/* --- list, show, diff, verify --------------------------------------------------------------------- */

static void add_row(struct table *table, const json_t *arm)
{
	char *id = json_display(json_object_get(arm, "id"));
	char *name = json_display(json_object_get(arm, "name"));
	char *families = json_display_command(json_object_get(arm, "families"));
	char *missing = json_display_command(json_object_get(arm, "missing"));
	char *warnings = json_display_command(json_object_get(arm, "warnings"));
	char when[40], last[512];
	const enum tone tones[] = {TONE_PLAIN, *warnings ? TONE_BAD : TONE_PLAIN, TONE_PLAIN,
				   TONE_PLAIN, TONE_BAD};

	snprintf(last, sizeof(last), "%s%s",
		 *warnings  ? "damaged"
		 : *missing ? "without "
			    : "",
		 missing);
	if (strlen(id) > ID_SHOWN)
		id[ID_SHOWN] = '\0';
	format_time(json_whole(arm, "prepared_at", 0), when, sizeof(when));
	table_add(table, (const char *const[]){id, name, when, families, last}, tones);
	free(id);
	free(name);
	free(families);
	free(missing);
	free(warnings);
}

struct listing {
	struct context *context;
	struct table *table;
};

static void list_one(void *user, json_t *arm)
{
	struct listing *listing = user;

	if (listing->context->json)
		context_print(listing->context, arm);
	else
		add_row(listing->table, arm);
}

static int list(struct context *context)
{
	static const char *const titles[] = {"id", "name", "prepared", "families", "state"};
	struct listing listing = {.context = context, .table = table_new(titles, 5)};
	int r = pages_each(context, "arm_list", "arms", list_one, &listing);

	if (r == 0 && !context->json)
		table_print(listing.table, stdout, context->colours, terminal_width(stdout));
	table_free(listing.table);
	return r;
}

static json_t *id_of(const char *id)
{
	json_t *request = need_memory(json_object());

	json_object_set_new(request, "id", text_value(id));
	return request;
}

/* The arguments with the Arm that is named by id or name as their key. */
static int name_arm(struct context *context, json_t *request, const char *key, const char *name)
{
	char *id;
	int r = arm_find(context, "arm", name, &id);

	if (r)
		return r;
	json_object_set_new(request, key, text_value(id));
	free(id);
	return 0;
}

static int show(struct context *context, const char *id)
{
	json_t *request = need_memory(json_object()), *reply;
	int r = name_arm(context, request, "id", id);

	if (r)
		json_decref(request);
	else
		r = context_call(context, "arm_show", request, &reply);

	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else
		arm_print(reply);
	json_decref(reply);
	return 0;
}

static int diff(struct context *context, const char *id, const char *other)
{
	json_t *request = need_memory(json_object()), *reply;
	int r = name_arm(context, request, "id", id);

	if (r == 0)
		r = name_arm(context, request, "other", other);
	if (r)
		json_decref(request);
	else
		r = context_call(context, "arm_diff", request, &reply);
	if (r)
		return r;
	if (context->json)
		context_print(context, reply);
	else if (json_array_size(json_object_get(reply, "changes")) == 0)
		printf("nothing differs\n");
	else
		arm_print_changes(reply, NULL);
	json_decref(reply);
	return 0;
}

/* With the paths of what it is of, which only the Arm itself has. */
static int print_verified(struct context *context, const json_t *reply)
{
	bool verified = json_flag(reply, "verified");
	json_t *shown = NULL;
	int r = verified ? 0
			 : context_call(context, "arm_show", id_of(json_text(reply, "id")), &shown);

	if (r)
		return r;
	arm_print_changes(reply, verified ? json_null() : json_object_get(shown, "arm"));
	if (verified)
		printf("nothing has changed%s\n",
		       json_array_size(json_object_get(reply, "missing")) > 0
			       ? ", and a launch would be void for what is missing"
			       : "");
	json_decref(shown);
	return 0;
}

static int verify(struct context *context, const char *id)
{
	json_t *request = need_memory(json_object()), *reply = NULL;
	uint64_t number;
	bool verified;
	int r = name_arm(context, request, "id", id);

	if (r)
		json_decref(request);
	else
		r = send(context, "arm_verify", request, &number);
	if (r == 0)
		r = context_receive_late(context, number, "trialsd went away meanwhile",
					 "trialctl arm verify once more", &reply);
	if (r)
		return r;
	verified = json_flag(reply, "verified");
	if (context->json)
		context_print(context, reply);
	else
		r = print_verified(context, reply);
	json_decref(reply);
	return r ? r : verified ? 0 : EXIT_CHANGED;
}

static int remove_arm(struct context *context, const char *id)
{
	json_t *request = need_memory(json_object()), *reply = NULL, *warning;
	char size[64], *name;
	uint64_t number;
	size_t i;
	int r = name_arm(context, request, "id", id);

	if (r)
		json_decref(request);
	else
		r = send(context, "arm_remove", request, &number);
	/* It waits for what is being prepared. */
	if (r == 0)
		r = context_receive_late(context, number, "trialsd went away meanwhile",
					 "trialctl arm list shows whether it is there", &reply);
	if (r)
		return r;
	if (context->json) {
		context_print(context, reply);
	} else {
		name = json_display(json_object_get(reply, "name"));
		printf("%.*s%s%s removed, with %lld files of its own (%s)\n", ID_SHOWN,
		       json_text(reply, "id"), *name ? " " : "", name,
		       (long long)json_whole(reply, "files", 0),
		       quantity_format_size((uint64_t)json_whole(reply, "bytes", 0), size,
					    sizeof(size)));
		json_array_foreach(json_object_get(reply, "warnings"), i, warning)
			context_warn(context, "%s", json_string_value(warning));
		free(name);
	}
	json_decref(reply);
	return 0;
}

static int run(struct context *context, const struct arguments *arguments)
{
	const char *const *words = arguments->operands;
	size_t count = arguments->operand_count;

	if (arguments_given(arguments, "allow-secret-file") && strcmp(words[0], "prepare") != 0)
		return context_refuse(context, EXIT_USED_WRONG, "trialctl help arm",
				      "--allow-secret-file: only of arm prepare");
	if (strcmp(words[0], "prepare") == 0 && count == 2)
		return prepare(context, arguments, words[1]);
	if (strcmp(words[0], "list") == 0 && count == 1)
		return list(context);
	if (strcmp(words[0], "show") == 0 && count == 2)
		return show(context, words[1]);
	if (strcmp(words[0], "diff") == 0 && count == 3)
		return diff(context, words[1], words[2]);
	if (strcmp(words[0], "verify") == 0 && count == 2)
		return verify(context, words[1]);
	if (strcmp(words[0], "remove") == 0 && count == 2)
		return remove_arm(context, words[1]);
	return context_refuse(
		context, EXIT_USED_WRONG, "trialctl help arm",
		"arm takes prepare FILE.json, list, show ID, diff ID ID, verify ID or "
		"remove ID");
}

const struct command command_arm = {
	.name = "arm",
	.summary = "ways of doing the work, frozen: prepare, compare and verify them",
	.synopsis = "{prepare FILE.json | list | show ID | diff ID ID | verify ID | remove ID}",
	.operands = OPERANDS_THREE_WORDS,
	.options = options,
	.more = keys_help,
	.run = run,
};
