/* SPDX-License-Identifier: MIT */
/*
 * The reader of [Toolchain NAME]: what each key may be, and where it goes. The sections stand among
 * others in trialsd.conf (base/config.c) and alone in the file that came with trialsd, so it is
 * driven from outside, one line at a time. The lines themselves are kept beside what they mean: to
 * copy a toolchain is to read them again, and to write one down needs no rules of quoting.
 */
#include "base/toolchain.h"

#include <string.h>

#include "base/words.h"
#include "proto/protocol.h"

#define PREFIX "Toolchain "
#define DIGITS "0123456789"

struct toolchain_key {
	const char *name;
	/* 0, -EINVAL when the value is not what `allowed` says, -E2BIG, -ENOMEM. */
	int (*set)(struct toolchain *toolchain, const char *value);
	const char *allowed;
};

/* --- Values --------------------------------------------------------------------------------------- */

/* %N, or a path below it. */
static bool is_numbered(const char *text)
{
	return text[0] == '%' && text[1] >= '1' && text[1] <= '9' &&
	       (text[2] == '\0' || home_path_valid(text + 2, true));
}

/* [-]ALTERNATIVE[|ALTERNATIVE]… */
static int check_word(const char *word, bool numbered)
{
	_cleanup_free_ char *copy = strdup(word + (word[0] == '-'));
	char *rest = copy, *text;
	size_t count = 0;

	if (!copy)
		return -ENOMEM;
	while ((text = strsep(&rest, "|"))) {
		if (!home_path_valid(text, true) && !(numbered && is_numbered(text)))
			return -EINVAL;
		if (++count > TOOLCHAIN_ALTERNATIVES_MAX)
			return -E2BIG;
	}
	return 0;
}

/* Adds the words of value from the first to the last, each of which check says is right. */
static int add_words(struct text_list *list, const char *value, int (*check)(const char *word))
{
	size_t before = list->count;
	int r = words_split(list, value, TOOLCHAIN_ENTRIES_MAX);

	if (r == 0 && list->count == before)
		return -EINVAL;
	for (size_t i = before; r == 0 && i < list->count; i++)
		r = check(list->items[i]);
	return r;
}

static int check_read_only(const char *word)
{
	return check_word(word, false);
}

static int check_path(const char *word)
{
	return check_word(word, true);
}

static int check_program(const char *word)
{
	return file_name_valid(word) && word[0] != '-' ? 0 : -EINVAL;
}

static int set_read_only(struct toolchain *toolchain, const char *value)
{
	return add_words(&toolchain->read_only, value, check_read_only);
}

/* A folder with a colon in it cannot be one of PATH. */
static int set_path(struct toolchain *toolchain, const char *value)
{
	return strchr(value, ':') ? -EINVAL : add_words(&toolchain->path, value, check_path);
}

static int set_programs(struct toolchain *toolchain, const char *value)
{
	return add_words(&toolchain->programs, value, check_program);
}

static int set_environment(struct toolchain *toolchain, const char *value)
{
	_cleanup_(text_list_done) struct text_list words = {0};
	int r = words_split(&words, value, TOOLCHAIN_ENTRIES_MAX);

	if (r == 0 && words.count == 0)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < words.count; i++) {
		_cleanup_free_ char *name = NULL;
		size_t length = strcspn(words.items[i], "=");
		const char *text = words.items[i] + length;

		name = strndup(words.items[i], length);
		if (!name)
			return -ENOMEM;
		if (*text != '=' || !variable_valid(name, length) || !strcmp(name, "PATH") ||
		    !specifiers_valid(text, "h123456789"))
			return -EINVAL;
		if (toolchain->environment.count >= TOOLCHAIN_ENTRIES_MAX)
			return -E2BIG;
		r = pair_list_set(&toolchain->environment, name, text + 1);
	}
	return r;
}

#define ALTERNATIVES "; alternatives with | between them, a * for a part of a name, - in front of "

static const struct toolchain_key keys[] = {
	{"ReadOnly", set_read_only,
	 "paths that begin with ~/ or /, without . and .." ALTERNATIVES "what may be missing"},
	{"Environment", set_environment,
	 "assignments NAME=VALUE other than HOME, USER, LOGNAME and PATH, in quotes where they "
	 "hold blanks, with no % but %%, %h and %1 to %9"},
	{"Path", set_path,
	 "folders that begin with ~/, / or %1 to %9, without :, . and .." ALTERNATIVES
	 "what may be missing"},
	{"Programs", set_programs, "names of programs, without a slash"},
};

const char *toolchain_key_name(size_t index)
{
	return index < ARRAY_SIZE(keys) ? keys[index].name : NULL;
}

static int refuse_value(struct ini_text *ini, const struct toolchain_key *key, const char *value,
			int error)
{
	if (error == -EINVAL)
		return ini_refuse(ini, ini->line, key->name, "\"%s\" is not %s", value,
				  key->allowed);
	if (error == -E2BIG)
		return ini_refuse(ini, ini->line, key->name,
				  "more than %d entries, or than %d alternatives",
				  TOOLCHAIN_ENTRIES_MAX, TOOLCHAIN_ALTERNATIVES_MAX);
	return error;
}

static int keep_line(struct toolchain *toolchain, const char *key, const char *value)
{
	return text_list_add_format(&toolchain->given, "%s=%s", key, value);
}

int toolchain_take(struct toolchain *toolchain, struct ini_text *ini, const char *key,
		   const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int r;

		if (strcmp(keys[i].name, key) != 0)
			continue;
		r = keys[i].set(toolchain, value);
		return r < 0 ? refuse_value(ini, &keys[i], value, r)
			     : keep_line(toolchain, key, value);
	}
	return ini_refuse(ini, ini->line, key,
			  "unknown key; this section has ReadOnly Environment Path Programs");
}

/* --- Sections ------------------------------------------------------------------------------------- */

static void toolchain_done(struct toolchain *toolchain)
{
	free(toolchain->name);
	free(toolchain->file);
	text_list_done(&toolchain->read_only);
	text_list_done(&toolchain->path);
	text_list_done(&toolchain->programs);
	pair_list_done(&toolchain->environment);
	text_list_done(&toolchain->given);
}

static struct toolchain *toolchain_add(struct toolchain_list *list, const char *name,
				       const char *file, unsigned int line)
{
	struct toolchain *items = realloc(list->items, (list->count + 1) * sizeof(*items));
	struct toolchain *toolchain;

	if (!items)
		return NULL;
	list->items = items;
	toolchain = &items[list->count++];
	*toolchain = (struct toolchain){0};
	toolchain->name = strdup(name);
	toolchain->file = strdup(file);
	toolchain->line = line;
	return toolchain->name && toolchain->file ? toolchain : NULL;
}

static bool is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz" DIGITS "-_+.");

	return length > 0 && length <= TOOLCHAIN_NAME_BYTES_MAX && name[length] == '\0' &&
	       !strchr("-_+.", name[0]);
}

int toolchain_enter(struct toolchain_list *list, struct ini_text *ini, const char *heading,
		    struct toolchain **ret_toolchain)
{
	const char *name = strncmp(heading, PREFIX, strlen(PREFIX)) ? "" : heading + strlen(PREFIX);

	if (!is_name(name))
		return ini_refuse(
			ini, ini->line, NULL,
			"[%s]: a toolchain is [Toolchain NAME], its name of 1 to %d small "
			"letters, digits, -, _, + and ., beginning with a letter or digit",
			heading, TOOLCHAIN_NAME_BYTES_MAX);
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, name)) {
			*ret_toolchain = &list->items[i];
			return 0;
		}
	if (list->count == TOOLCHAINS_MAX)
		return ini_refuse(ini, ini->line, NULL, "[%s]: more than %d toolchains", heading,
				  TOOLCHAINS_MAX);
	*ret_toolchain = toolchain_add(list, name, ini->path, ini->line);
	return *ret_toolchain ? 0 : -ENOMEM;
}

/* The highest %N of a text. */
static size_t highest_number(const char *text)
{
	size_t highest = 0;

	for (; (text = strchr(text, '%')) && text[1]; text += 2)
		if (text[1] >= '1' && text[1] <= '9' && (size_t)(text[1] - '0') > highest)
			highest = (size_t)(text[1] - '0');
	return highest;
}

/* A number in the middle of a path of Path= is a part of its name. */
static size_t highest_of_word(const char *word)
{
	size_t highest = 0;

	for (word += word[0] == '-'; word; word = strchr(word, '|')) {
		word += *word == '|';
		if (is_numbered(word) && (size_t)(word[1] - '0') > highest)
			highest = (size_t)(word[1] - '0');
	}
	return highest;
}

static int check_number(const struct toolchain *toolchain, struct ini_text *ini, const char *key,
			size_t highest)
{
	if (highest <= toolchain->read_only.count)
		return 0;
	return ini_refuse(ini, toolchain->line, key,
			  "[Toolchain %s]: there is no word %%%zu of ReadOnly=, which has %zu",
			  toolchain->name, highest, toolchain->read_only.count);
}

static int check_whole(const struct toolchain *toolchain, struct ini_text *ini)
{
	int r = 0;

	if (toolchain->given.count == 0)
		return ini_refuse(ini, toolchain->line, NULL, "[Toolchain %s]: it says nothing",
				  toolchain->name);
	for (size_t i = 0; r == 0 && i < toolchain->path.count; i++)
		r = check_number(toolchain, ini, "Path", highest_of_word(toolchain->path.items[i]));
	for (size_t i = 0; r == 0 && i < toolchain->environment.count; i++)
		r = check_number(toolchain, ini, "Environment",
				 highest_number(toolchain->environment.items[i].value));
	return r;
}

int toolchain_list_check(const struct toolchain_list *list, struct ini_text *ini)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = check_whole(&list->items[i], ini);
	return r;
}

/* --- The list ------------------------------------------------------------------------------------- */

struct reading {
	struct ini_text ini;
	struct toolchain_list list;
	struct toolchain *current;
};

static int take_section(struct ini_text *ini, const char *name)
{
	struct reading *reading = container_of(ini, struct reading, ini);

	return toolchain_enter(&reading->list, ini, name, &reading->current);
}

static int take_value(struct ini_text *ini, const char *key, const char *value)
{
	struct reading *reading = container_of(ini, struct reading, ini);

	if (!reading->current)
		return ini_refuse(ini, ini->line, key, "stands before the first [Section]");
	return toolchain_take(reading->current, ini, key, value);
}

int toolchain_list_read(struct toolchain_list *ret_list, const char *path, struct fault *ret_fault)
{
	struct reading reading = {.ini = {.path = path,
					  .manual = "trialsd.conf(5)",
					  .fault = ret_fault,
					  .take_section = take_section,
					  .take_value = take_value}};
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = ini_file_read(path, &text, &size, ret_fault);

	if (r == 0)
		r = ini_text_read(&reading.ini, text, size);
	if (r == 0)
		r = toolchain_list_check(&reading.list, &reading.ini);
	if (r == 0)
		*ret_list = reading.list;
	else
		toolchain_list_done(&reading.list);
	return r;
}

/* What was accepted once is accepted again. */
static int copy_line(struct toolchain *toolchain, const char *line)
{
	size_t length = strcspn(line, "=");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == length && !strncmp(keys[i].name, line, length)) {
			int r = keys[i].set(toolchain, line + length + 1);

			return r < 0 ? r : text_list_add(&toolchain->given, line);
		}
	return -EINVAL;
}

int toolchain_list_copy(const struct toolchain_list *list, struct toolchain_list *ret_copy)
{
	struct toolchain_list copy = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++) {
		const struct toolchain *from = &list->items[i];
		struct toolchain *to = toolchain_add(&copy, from->name, from->file, from->line);

		r = to ? 0 : -ENOMEM;
		for (size_t j = 0; r == 0 && j < from->given.count; j++)
			r = copy_line(to, from->given.items[j]);
	}
	if (r < 0)
		toolchain_list_done(&copy);
	else
		*ret_copy = copy;
	return r;
}

void toolchain_list_done(struct toolchain_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		toolchain_done(&list->items[i]);
	free(list->items);
	*list = (struct toolchain_list){0};
}

const struct toolchain *toolchain_list_find(const struct toolchain_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	return NULL;
}

bool toolchain_equal(const struct toolchain *a, const struct toolchain *b)
{
	if (!a || !b || a->given.count != b->given.count)
		return a == b;
	for (size_t i = 0; i < a->given.count; i++)
		if (strcmp(a->given.items[i], b->given.items[i]) != 0)
			return false;
	return true;
}

void toolchain_list_print(const struct toolchain_list *list, FILE *file)
{
	for (size_t i = 0; i < list->count; i++) {
		fprintf(file, "[" PREFIX "%s]\n", list->items[i].name);
		for (size_t j = 0; j < list->items[i].given.count; j++)
			fprintf(file, "%s\n", list->items[i].given.items[j]);
	}
}
