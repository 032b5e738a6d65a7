/* SPDX-License-Identifier: MIT */
/*
 * What each key's value may be, and where it goes: one setter for each TYPE of harness_keys.h.
 * A setter never leaves a member half-written in a way that freeing it would mind; what a refused
 * file had so far is thrown away as a whole.
 */
#include "harness_keys.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness_words.h"
#include "keeper/allow.h"
#include "keeper/verdict.h"
#include "plan/plan.h"
#include "proto/quantity.h"

#define PRODUCT_BYTES_MAX 64
#define SEED_BYTES_MAX 65536
#define SECONDS_AHEAD_MAX (30.0 * 24 * 3600)

static void *member_of(void *section, const struct harness_key *key)
{
	return (char *)section + key->offset;
}

static int put_text(char **member, const char *value, size_t length)
{
	char *copy = strndup(value, length);

	if (!copy)
		return -ENOMEM;
	free(*member);
	*member = copy;
	return 0;
}

static int set_string(void *section, const struct harness_key *key, const char *value, bool valid)
{
	return valid ? put_text(member_of(section, key), value, strlen(value)) : -EINVAL;
}

static int set_TEXT(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value, value[0] && strlen(value) <= PRODUCT_BYTES_MAX);
}

static int set_LINE(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value,
			  value[0] && strlen(value) <= SEED_BYTES_MAX &&
				  specifiers_valid(value, key->specifiers));
}

static int set_NAME(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value, file_name_valid(value) && value[0] != '-');
}

static int set_WORD(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value, plain_word_valid(value, HARNESS_NAME_BYTES_MAX));
}

static int set_PATH(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value, home_path_valid(value, false));
}

static int set_VARIABLE(void *section, const struct harness_key *key, const char *value)
{
	return set_string(section, key, value, variable_valid(value, strlen(value)));
}

static int set_CREDENTIAL(void *section, const struct harness_key *key, const char *value)
{
	size_t table = strcspn(value, "."), rest;

	if (value[table] == '\0' || table > MESSAGE_KEY_BYTES_MAX)
		return -EINVAL;
	rest = strlen(value + table + 1);
	return set_string(section, key, value,
			  rest <= MESSAGE_KEY_BYTES_MAX && json_path_valid(value, table, false) &&
				  json_path_valid(value + table + 1, rest, false) &&
				  !strpbrk(value, "*$") && !strchr(value + table + 1, '.'));
}

/* --- Lists ---------------------------------------------------------------------------------------- */

typedef bool (*word_check)(const char *word);

static bool is_path(const char *word)
{
	return home_path_valid(word, false);
}

static bool is_pattern(const char *word)
{
	return home_path_valid(word, true);
}

static bool is_relative(const char *word)
{
	_cleanup_free_ char *below = NULL;

	/* Up first, then down. */
	while (strncmp(word, "../", 3) == 0)
		word += 3;
	return asprintf(&below, "/%s", word) >= 0 && home_path_valid(below, true);
}

static bool is_effort(const char *word)
{
	return plain_word_valid(word, HARNESS_NAME_BYTES_MAX);
}

static bool is_json_path(const char *word)
{
	return json_path_valid(word, strlen(word), false);
}

static bool is_json_claim(const char *word)
{
	return json_path_valid(word, strlen(word), true);
}

static bool is_json_choice(const char *word)
{
	for (;; word++) {
		size_t length = strcspn(word, "|");

		if (!json_path_valid(word, length, false))
			return false;
		word += length;
		if (*word == '\0')
			return true;
	}
}

static bool is_host(const char *word)
{
	struct allow_rule rule;
	const char *reason;

	return allow_rule_parse(word, &rule, &reason) == 0;
}

/* Words that were not in the list, each of which passes the check. */
static int add_words(void *section, const struct harness_key *key, const char *value,
		     word_check check)
{
	struct text_list *list = member_of(section, key);
	size_t before = list->count;
	int r = words_split(list, value, HARNESS_ENTRIES_MAX);

	if (r < 0)
		return r;
	if (list->count == before)
		return -EINVAL;
	for (size_t i = before; i < list->count; i++) {
		struct text_list earlier = {.items = list->items, .count = i};

		if (!check(list->items[i]))
			return -EINVAL;
		if (words_have(&earlier, list->items[i]))
			return -EEXIST;
	}
	return 0;
}

#define ADD_WORDS(TYPE, check)                                                                     \
	static int set_##TYPE(void *section, const struct harness_key *key, const char *value)     \
	{                                                                                          \
		return add_words(section, key, value, check);                                      \
	}

ADD_WORDS(PATHS, is_path)
ADD_WORDS(PATTERNS, is_pattern)
ADD_WORDS(RELATIVES, is_relative)
ADD_WORDS(NAMES, file_name_valid)
ADD_WORDS(EFFORTS, is_effort)
ADD_WORDS(JSON_PATHS, is_json_path)
ADD_WORDS(JSON_CLAIMS, is_json_claim)
ADD_WORDS(JSON_CHOICES, is_json_choice)
ADD_WORDS(HOSTS, is_host)

/* Arguments: any words, in order. */
static int set_WORDS(void *section, const struct harness_key *key, const char *value)
{
	struct text_list *list = member_of(section, key);
	int r = words_split(list, value, HARNESS_ENTRIES_MAX);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list->count; i++)
		if (!specifiers_valid(list->items[i], key->specifiers))
			return -EINVAL;
	return list->count > 0 ? 0 : -EINVAL;
}

static int set_ARGUMENTS(void *section, const struct harness_key *key, const char *value)
{
	const struct text_list *list = member_of(section, key);
	bool seen[HARNESS_GROUPS] = {false};
	int r = set_WORDS(section, key, value);

	for (size_t i = 0; r == 0 && i < list->count; i++) {
		int group = harness_group_of(list->items[i]);

		if (group == HARNESS_GROUPS)
			return -EINVAL;
		if (group >= 0 && seen[group])
			return -EEXIST;
		if (group >= 0)
			seen[group] = true;
	}
	return r == 0 && !seen[HARNESS_GROUP_extra] ? -EINVAL : r;
}

/* Takes the words NAME=VALUE of a value, if each is as it must be. */
static int add_pairs(void *section, const struct harness_key *key, const char *value,
		     bool (*check)(const char *name, size_t length, const char *value,
				   const char *specifiers))
{
	struct pair_list *pairs = member_of(section, key);
	_cleanup_(text_list_done) struct text_list words = {0};
	int r = words_split(&words, value, HARNESS_ENTRIES_MAX);

	if (r == 0 && words.count == 0)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < words.count; i++) {
		const char *equals = strchrnul(words.items[i], '=');
		size_t length = (size_t)(equals - words.items[i]);
		_cleanup_free_ char *name = strndup(words.items[i], length);

		if (!name)
			return -ENOMEM;
		if (*equals == '\0' || !check(name, length, equals + 1, key->specifiers))
			return -EINVAL;
		if (pair_list_get(pairs, name))
			return -EEXIST;
		if (pairs->count >= HARNESS_ENTRIES_MAX)
			return -E2BIG;
		r = pair_list_set(pairs, name, equals + 1);
	}
	return r;
}

static bool is_assignment(const char *name, size_t length, const char *value,
			  const char *specifiers)
{
	return variable_valid(name, length) && specifiers_valid(value, specifiers);
}

static bool is_provider(const char *name, size_t length, const char *value, const char *specifiers)
{
	(void)length;
	(void)specifiers;
	return plain_word_valid(name, HARNESS_NAME_BYTES_MAX) && is_host(value);
}

static bool is_provider_name(const char *name, size_t length, const char *value,
			     const char *specifiers)
{
	(void)length;
	(void)specifiers;
	return plain_word_valid(name, PROVIDER_NAME_BYTES_MAX) &&
	       plain_word_valid(value, PROVIDER_NAME_BYTES_MAX);
}

static int set_PROVIDER_NAMES(void *section, const struct harness_key *key, const char *value)
{
	return add_pairs(section, key, value, is_provider_name);
}

static int set_VARIABLES(void *section, const struct harness_key *key, const char *value)
{
	return add_pairs(section, key, value, is_assignment);
}

static int set_PROVIDER_HOSTS(void *section, const struct harness_key *key, const char *value)
{
	return add_pairs(section, key, value, is_provider);
}

/* --- Files ---------------------------------------------------------------------------------------- */

static struct harness_seed *seed_for(struct harness_seed_list *list, const char *path)
{
	struct harness_seed *items;

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return &list->items[i];
	if (list->count >= HARNESS_ENTRIES_MAX)
		return NULL;
	items = realloc(list->items, (list->count + 1) * sizeof(*items));
	if (!items)
		return NULL;
	list->items = items;
	items[list->count] = (struct harness_seed){.path = strdup(path), .text = strdup("")};
	list->count++;
	return &items[list->count - 1];
}

static int set_SEED(void *section, const struct harness_key *key, const char *value)
{
	struct harness_seed_list *list = member_of(section, key);
	size_t length = strcspn(value, " \t");
	_cleanup_free_ char *path = strndup(value, length);
	_cleanup_free_ char *text = NULL;
	struct harness_seed *seed;

	if (!path)
		return -ENOMEM;
	value += length + strspn(value + length, " \t");
	if (!home_path_valid(path, false) || *value == '\0' ||
	    !specifiers_valid(value, key->specifiers))
		return -EINVAL;
	if (list->count >= HARNESS_ENTRIES_MAX)
		return -E2BIG;
	seed = seed_for(list, path);
	if (!seed || !seed->path || !seed->text)
		return -ENOMEM;
	if (strlen(seed->text) + strlen(value) > SEED_BYTES_MAX)
		return -E2BIG;
	if (asprintf(&text, "%s%s\n", seed->text, value) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	free(seed->text);
	seed->text = steal(&text);
	return 0;
}

/* PATH REST, where REST is what a check says. */
static int split_in_two(const char *value, char **ret_first, const char **ret_rest)
{
	size_t length = strcspn(value, " \t");

	*ret_rest = value + length + strspn(value + length, " \t");
	*ret_first = strndup(value, length);
	return *ret_first ? 0 : -ENOMEM;
}

static int set_VERSION_FILE(void *section, const struct harness_key *key, const char *value)
{
	struct harness_program *program = section;
	_cleanup_free_ char *file = NULL, *path = NULL;
	const char *rest;

	(void)key;
	if (split_in_two(value, &file, &rest) < 0 || asprintf(&path, "~/%s", file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!home_path_valid(path, false) || !json_path_valid(rest, strlen(rest), false))
		return -EINVAL;
	free(program->version_file);
	program->version_file = steal(&file);
	return put_text(&program->version_path, rest, strlen(rest));
}

static int set_INTERPRETER(void *section, const struct harness_key *key, const char *value)
{
	struct harness_program *program = section;
	_cleanup_free_ char *name = NULL;
	const char *rest;

	(void)key;
	if (split_in_two(value, &name, &rest) < 0)
		return -ENOMEM;
	if (!plain_word_valid(name, HARNESS_NAME_BYTES_MAX) || name[0] == '-' ||
	    (*rest && rest[strspn(rest, "0123456789.")]) || *rest == '.')
		return -EINVAL;
	free(program->interpreter);
	program->interpreter = steal(&name);
	return *rest ? put_text(&program->interpreter_version, rest, strlen(rest)) : 0;
}

static int word_index(const char *const *words, size_t count, const char *value)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && strcmp(words[i], value) == 0)
			return (int)i;
	return -EINVAL;
}

static int set_EXPIRY(void *section, const struct harness_key *key, const char *value)
{
	static const char *const units[] = {[HARNESS_EXPIRY_s] = "s",
					    [HARNESS_EXPIRY_ms] = "ms",
					    [HARNESS_EXPIRY_rfc3339] = "rfc3339"};
	struct harness_login *login = section;
	_cleanup_free_ char *path = NULL;
	const char *rest;
	int unit;

	(void)key;
	if (split_in_two(value, &path, &rest) < 0)
		return -ENOMEM;
	unit = word_index(units, ARRAY_SIZE(units), rest);
	if (unit < 0 || !is_json_claim(path))
		return -EINVAL;
	free(login->expiry);
	login->expiry = steal(&path);
	login->expiry_unit = (enum harness_expiry_unit)unit;
	return 0;
}

/* --- Words and numbers ---------------------------------------------------------------------------- */

static int set_RELEASE(void *section, const struct harness_key *key, const char *value)
{
	unsigned int *release = member_of(section, key);

	if (strcmp(value, "file") == 0)
		*release = 0;
	else if (strcmp(value, "folder") == 0)
		*release = 1;
	else if (strncmp(value, "prefix ", 7) == 0 && value[7] >= '1' &&
		 value[7] <= '0' + HARNESS_RELEASE_LEVELS_MAX && value[8] == '\0')
		*release = (unsigned int)(value[7] - '0');
	else
		return -EINVAL;
	return 0;
}

static int set_SIGNAL(void *section, const struct harness_key *key, const char *value)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, value) == 0) {
			*(int *)member_of(section, key) = signals[i].number;
			return 0;
		}
	return -EINVAL;
}

static int set_BOOLEAN(void *section, const struct harness_key *key, const char *value)
{
	bool *member = member_of(section, key);

	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return -EINVAL;
	*member = value[0] == 'y';
	return 0;
}

static int set_TIME(void *section, const struct harness_key *key, const char *value)
{
	double *member = member_of(section, key);

	return quantity_time(value, member) < 0 || *member > SECONDS_AHEAD_MAX ? -EINVAL : 0;
}

static int set_SIZE(void *section, const struct harness_key *key, const char *value)
{
	uint64_t *member = member_of(section, key);

	return quantity_size(value, member) < 0 || *member < 1 || *member > PROMPT_FILE_BYTES_MAX
		       ? -EINVAL
		       : 0;
}

static const char *const saves_names[] = {
	[HARNESS_SAVES_in_place] = "in-place",
	[HARNESS_SAVES_rename] = "rename",
	[HARNESS_SAVES_rename_or_in_place] = "rename-or-in-place",
};

static const char *const concurrency_names[] = {
	[HARNESS_CONCURRENCY_auto] = "auto",
	[HARNESS_CONCURRENCY_shared] = "shared",
	[HARNESS_CONCURRENCY_exclusive] = "exclusive",
};

static const char *const prompt_names[] = {
	[HARNESS_PROMPT_argument] = "argument",
	[HARNESS_PROMPT_stdin] = "stdin",
	[HARNESS_PROMPT_file] = "file",
};

const char *harness_saves_name(enum harness_saves saves)
{
	return (size_t)saves < ARRAY_SIZE(saves_names) ? saves_names[saves] : NULL;
}

const char *harness_concurrency_name(enum harness_concurrency concurrency)
{
	return (size_t)concurrency < ARRAY_SIZE(concurrency_names) ? concurrency_names[concurrency]
								   : NULL;
}

const char *harness_prompt_name(enum harness_prompt prompt)
{
	return (size_t)prompt < ARRAY_SIZE(prompt_names) ? prompt_names[prompt] : NULL;
}

static int set_SAVES(void *section, const struct harness_key *key, const char *value)
{
	int saves = word_index(saves_names, ARRAY_SIZE(saves_names), value);

	if (saves >= 0)
		*(enum harness_saves *)member_of(section, key) = (enum harness_saves)saves;
	return saves < 0 ? -EINVAL : 0;
}

static int set_CONCURRENCY(void *section, const struct harness_key *key, const char *value)
{
	int concurrency = word_index(concurrency_names, ARRAY_SIZE(concurrency_names), value);

	if (concurrency >= 0)
		*(enum harness_concurrency *)member_of(section,
						       key) = (enum harness_concurrency)concurrency;
	return concurrency < 0 ? -EINVAL : 0;
}

static int set_PROMPTS(void *section, const struct harness_key *key, const char *value)
{
	struct harness_session *session = section;
	_cleanup_(text_list_done) struct text_list words = {0};
	int r = words_split(&words, value, HARNESS_PROMPT_WAYS);

	(void)key;
	if (r == 0 && words.count == 0)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < words.count; i++) {
		struct text_list earlier = {.items = words.items, .count = i};
		int way = word_index(prompt_names, ARRAY_SIZE(prompt_names), words.items[i]);

		if (way < 0)
			return -EINVAL;
		if (words_have(&earlier, words.items[i]))
			return -EEXIST;
		session->prompts[session->prompt_count++] = (enum harness_prompt)way;
	}
	return r;
}

static int set_ANSWER(void *section, const struct harness_key *key, const char *value)
{
	struct text_list *answers = member_of(section, key);

	if (!verdict_rule_valid(value))
		return -EINVAL;
	if (words_have(answers, value))
		return -EEXIST;
	return answers->count < VERDICT_RULES_MAX ? text_list_add(answers, value) : -E2BIG;
}

/* --- The table ------------------------------------------------------------------------------------ */

enum {
	MANY_TEXT = false,
	MANY_NAME = false,
	MANY_WORD = false,
	MANY_PATTERNS = true,
	MANY_RELATIVES = true,
	MANY_RELEASE = false,
	MANY_INTERPRETER = false,
	MANY_VERSION_FILE = false,
	MANY_WORDS = false,
	MANY_VARIABLES = true,
	MANY_SIGNAL = false,
	MANY_BOOLEAN = false,
	MANY_PATH = false,
	MANY_SAVES = false,
	MANY_NAMES = true,
	MANY_JSON_CHOICES = true,
	MANY_JSON_CLAIMS = true,
	MANY_JSON_PATHS = true,
	MANY_EXPIRY = false,
	MANY_TIME = false,
	MANY_CONCURRENCY = false,
	MANY_CREDENTIAL = false,
	MANY_VARIABLE = false,
	MANY_HOSTS = true,
	MANY_PATHS = true,
	MANY_SEED = true,
	MANY_ARGUMENTS = false,
	MANY_EFFORTS = true,
	MANY_PROMPTS = false,
	MANY_SIZE = false,
	MANY_PROVIDER_HOSTS = true,
	MANY_PROVIDER_NAMES = true,
	MANY_LINE = false,
	MANY_ANSWER = true,
};

typedef struct harness_program struct_of_Harness;
typedef struct harness_login struct_of_Login;
typedef struct harness_home struct_of_Home;
typedef struct harness_session struct_of_Session;
typedef struct harness_web struct_of_Web;
typedef struct harness_network struct_of_Network;
typedef struct harness_providers struct_of_Providers;

#define KEY_(SECTION, KEY, TYPE, member, kinds_, needed_, specifiers_, allowed_)                   \
	{                                                                                          \
		.section = HARNESS_SECTION_##SECTION,                                              \
		.name = #KEY,                                                                      \
		.set = set_##TYPE,                                                                 \
		.many = MANY_##TYPE,                                                               \
		.offset = offsetof(struct_of_##SECTION, member),                                   \
		.kinds = kinds_,                                                                   \
		.needed = needed_,                                                                 \
		.specifiers = specifiers_,                                                         \
		.allowed = allowed_,                                                               \
	},

const struct harness_key harness_keys[] = {HARNESS_KEYS(KEY_)};
const size_t harness_key_count = ARRAY_SIZE(harness_keys);

_Static_assert(ARRAY_SIZE(harness_keys) <= 64, "harness.c notes in 64 bits which keys were given");
