/* SPDX-License-Identifier: MIT */
#include "login_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "json.h"
#include "print.h"

int logins_ask(struct context *context, const char *verb, const char *name, json_t **ret_logins,
	       json_t **ret_reply)
{
	json_t *request = need_memory(json_object());
	int r;

	if (name)
		json_object_set_new(request, "name", text_value(name));
	r = context_call(context, verb, request, ret_reply);
	if (r == 0)
		*ret_logins = json_object_get(*ret_reply, "logins");
	return r;
}

static bool is(const json_t *object, const char *key, const char *word)
{
	const char *text = json_text(object, key);

	return text && word && strcmp(text, word) == 0;
}

const json_t *logins_pick(const json_t *logins, const char *harness, const char *kind)
{
	const json_t *login, *first = NULL, *command = NULL;
	size_t i;

	json_array_foreach(logins, i, login)
	{
		bool signs_in = json_array_size(json_object_get(login, "sign_in")) > 0;

		if (!is(login, "harness", harness) || (kind && !is(login, "kind", kind)))
			continue;
		if (json_flag(login, "used"))
			return login;
		if (!first)
			first = login;
		if (!command && signs_in)
			command = login;
	}
	return command ? command : first;
}

char *login_sign_in(const json_t *login)
{
	char *text = NULL;
	size_t size = 0, i;
	const json_t *item;
	FILE *file = need_memory(open_memstream(&text, &size));

	json_array_foreach(json_object_get(login, "sign_in"), i, item)
	{
		char *word = json_display(item);

		fprintf(file, "%s%s", i ? " " : "", word);
		free(word);
	}
	fclose(file);
	return need_memory(text);
}

/* --- The table -------------------------------------------------------------------------------------- */

enum {
	COLUMN_HARNESS,
	COLUMN_KIND,
	COLUMN_STATE,
	COLUMN_ENDS,
	COLUMN_CHANGED,
	COLUMN_WHERE,
	COLUMNS
};

static const char *state_of(const json_t *login, enum tone *ret_tone)
{
	static const struct {
		const char *state, *shown;
		enum tone tone;
	} words[] = {
		{"good", "good", TONE_GOOD},	  {"suspect", "suspect", TONE_BAD},
		{"damaged", "damaged", TONE_BAD}, {"absent", "missing", TONE_FAINT},
		{"in_use", "in use", TONE_BUSY},  {"failed", "failed", TONE_BAD},
	};

	*ret_tone = TONE_ODD;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!is(login, "state", words[i].state))
			continue;
		*ret_tone = words[i].tone;
		return words[i].shown;
	}
	return "unknown";
}

static void time_of(const json_t *login, const char *key, char *buffer, size_t size)
{
	int64_t at = json_whole(login, key, 0);

	buffer[0] = '\0';
	if (at > 0)
		format_time(at, buffer, size);
}

/* When it was written, and by which Trial, if it is still that one's. */
static void changed_of(const json_t *login, char *buffer, size_t size)
{
	int64_t changed = json_whole(login, "changed_at", 0);
	int64_t by = json_whole(login, "refreshed_by", 0);
	size_t used;

	/* That of the credentials file says nothing of one key in it. */
	if (is(login, "kind", "env"))
		changed = 0;
	buffer[0] = '\0';
	if (changed <= 0)
		return;
	format_time(changed, buffer, size);
	used = strlen(buffer);
	if (by > 0 && json_whole(login, "refreshed_at", 0) >= changed)
		snprintf(buffer + used, size - used, ", Trial %lld", (long long)by);
}

/* Where it is; where it is not, the command that makes one. */
static char *where_of(const json_t *login)
{
	char *path = json_display(json_object_get(login, "path"));
	char *credential = json_display(json_object_get(login, "credential"));
	char *harness = json_display(json_object_get(login, "harness"));
	char *command = login_sign_in(login), *text = NULL;
	bool missing = is(login, "state", "absent") || is(login, "state", "damaged");
	int r;

	if (missing && *command)
		r = asprintf(&text, "sign in: trialctl login %s", harness);
	else if (*credential)
		r = asprintf(&text, "%s%s in %s", missing ? "put a key as " : "", credential, path);
	else
		r = asprintf(&text, "%s", path);
	free(path);
	free(credential);
	free(harness);
	free(command);
	return need_memory(r < 0 ? NULL : text);
}

static void add_row(struct table *table, const json_t *login)
{
	char *harness = json_display(json_object_get(login, "harness"));
	char *kind = json_display(json_object_get(login, "kind"));
	char *where = where_of(login), ends[64], changed[96];
	enum tone tones[COLUMNS] = {[COLUMN_CHANGED] = TONE_FAINT};
	const char *state = state_of(login, &tones[COLUMN_STATE]);

	time_of(login, "ends_at", ends, sizeof(ends));
	changed_of(login, changed, sizeof(changed));
	table_add(table, (const char *const[]){harness, kind, state, ends, changed, where}, tones);
	free(harness);
	free(kind);
	free(where);
}

/* --- Below it --------------------------------------------------------------------------------------- */

static void print_suspect(const char *harness, const json_t *login)
{
	char *reason = json_display(json_object_get(login, "reason"));
	int64_t by = json_whole(login, "suspect_by", 0);
	char at[64];

	time_of(login, "suspect_at", at, sizeof(at));
	printf("%s: its login is suspect", harness);
	if (by > 0)
		printf(" since Trial %lld", (long long)by);
	printf("%s%s%s%s\n  to go on with the last good one: trialctl login restore %s\n",
	       *at ? ", " : "", at, *reason ? ": " : "", reason, harness);
	free(reason);
}

static void print_holder(const char *harness, const json_t *login)
{
	char *command = json_display(json_object_get(login, "holder"));
	int64_t pid = json_whole(login, "holder_pid", 0);

	if (pid > 0)
		printf("%s: its home is held by %s (pid %lld)\n", harness,
		       *command ? command : "a process", (long long)pid);
	free(command);
}

static void print_turns(const char *harness, const json_t *login)
{
	const json_t *trial;
	size_t i;

	json_array_foreach(json_object_get(login, "users"), i, trial)
		printf("%s: Trial %lld has it\n", harness, (long long)json_whole(trial, "id", 0));
	json_array_foreach(json_object_get(login, "waiters"), i, trial)
	{
		char *why = json_display(json_object_get(trial, "waits_for"));

		printf("%s: Trial %lld waits for %s\n", harness,
		       (long long)json_whole(trial, "id", 0), *why ? why : "it");
		free(why);
	}
	if (json_whole(login, "waiting", 0) > (int64_t)i)
		printf("%s: %lld Trials wait for it in all\n", harness,
		       (long long)json_whole(login, "waiting", 0));
}

static void print_reason(const char *harness, const json_t *login)
{
	char *reason = json_display(json_object_get(login, "reason"));
	char *hint = json_display(json_object_get(login, "hint"));

	if (*reason)
		printf("%s: %s\n", harness, reason);
	if (*hint)
		printf("  to mend it: %s\n", hint);
	if (json_flag(login, "restorable"))
		printf("  to go back to the last good one: trialctl login restore %s%s\n",
		       is(login, "state", "good") ? "--previous " : "", harness);
	free(reason);
	free(hint);
}

static void print_notes(const json_t *login)
{
	char *harness = json_display(json_object_get(login, "harness"));

	if (is(login, "state", "suspect"))
		print_suspect(harness, login);
	else if (!is(login, "state", "absent") || json_flag(login, "restorable"))
		if (!is(login, "state", "good") || json_text(login, "reason"))
			print_reason(harness, login);
	print_holder(harness, login);
	print_turns(harness, login);
	free(harness);
}

void logins_print_table(const struct context *context, const json_t *logins)
{
	static const char *const titles[COLUMNS] = {"harness", "kind",	  "state",
						    "until",   "changed", "where"};
	static const size_t spare[] = {COLUMN_CHANGED, COLUMN_KIND, COLUMN_ENDS};
	struct table *table = table_new(titles, COLUMNS);
	const json_t *login;
	size_t i;

	table_wrap(table);
	table_may_leave_out(table, spare, sizeof(spare) / sizeof(spare[0]));
	json_array_foreach(logins, i,
			   login) if (login == logins_pick(logins, json_text(login, "harness"),
							   NULL)) add_row(table, login);
	table_print(table, stdout, context->colours, terminal_width(stdout));
	table_free(table);
	json_array_foreach(logins, i,
			   login) if (login == logins_pick(logins, json_text(login, "harness"),
							   NULL)) print_notes(login);
}

/* --- One ---------------------------------------------------------------------------------------------- */

void login_print(const json_t *login)
{
	char *command = login_sign_in(login), ends[64], changed[96];
	enum tone tone;

	time_of(login, "ends_at", ends, sizeof(ends));
	changed_of(login, changed, sizeof(changed));
	json_print_field(login, "harness", "harness");
	json_print_field(login, "kind", "kind");
	print_field(stdout, "used", json_flag(login, "used") ? "by the next launch" : NULL);
	print_field(stdout, "state", state_of(login, &tone));
	json_print_field(login, "path", "file");
	json_print_field(login, "credential", "key");
	json_print_field(login, "home", "home");
	print_field(stdout, "until", ends);
	print_field(stdout, "changed", changed);
	print_field(stdout, "sign in", command);
	print_notes(login);
	free(command);
}

void login_print_state(const json_t *login)
{
	char *harness = json_display(json_object_get(login, "harness"));
	char *path = json_display(json_object_get(login, "path")), ends[64];
	char *reason = json_display(json_object_get(login, "reason"));
	enum tone tone;
	const char *state = state_of(login, &tone);

	time_of(login, "ends_at", ends, sizeof(ends));
	if (is(login, "kind", "none"))
		printf("%s: it needs no login\n", harness);
	else
		printf("%s: the login in %s is %s%s%s%s%s\n", harness, path, state,
		       *ends ? ", until " : "", ends, *reason ? ": " : "", reason);
	free(harness);
	free(path);
	free(reason);
}

void login_print_restored(const json_t *login)
{
	char *harness = json_display(json_object_get(login, "harness")), from[64];

	time_of(login, "restored_from", from, sizeof(from));
	if (*from)
		printf("%s: put back: the login that was kept at %s\n", harness, from);
	login_print_state(login);
	free(harness);
}

void login_print_key(const json_t *login)
{
	char *path = json_display(json_object_get(login, "path"));
	char *credential = json_display(json_object_get(login, "credential"));
	char *dot = strchr(credential, '.');

	if (dot) {
		*dot = '\0';
		printf("It goes into %s, which only you may read (mode 0600), as\n\n"
		       "    [%s]\n    %s = \"...\"\n\n",
		       path, credential, dot + 1);
	}
	free(path);
	free(credential);
}
