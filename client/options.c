/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"

int usage_error(struct trials_error *ret_error, const char *hint, const char *format, ...)
{
	va_list list;

	memset(ret_error, 0, sizeof(*ret_error));
	snprintf(ret_error->code, sizeof(ret_error->code), "usage");
	va_start(list, format);
	vsnprintf(ret_error->message, sizeof(ret_error->message), format, list);
	va_end(list);
	if (hint)
		snprintf(ret_error->hint, sizeof(ret_error->hint), "%s", hint);
	return -EINVAL;
}

static int out_of_memory(struct trials_error *ret_error)
{
	usage_error(ret_error, NULL, "out of memory");
	return -ENOMEM;
}

static const struct option *find_in(const struct option *table, const char *name, size_t length)
{
	for (; table && table->name; table++)
		if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
			return table;
	return NULL;
}

static const struct option *find_long(const struct command *command, const char *name,
				      size_t length)
{
	const struct option *found = find_in(global_options, name, length);

	return found || !command ? found : find_in(command->options, name, length);
}

static const struct option *find_letter(const struct command *command, char letter)
{
	const struct option *tables[] = {global_options, command ? command->options : NULL};

	for (size_t i = 0; i < 2; i++)
		for (const struct option *option = tables[i]; option && option->name; option++)
			if (option->letter && option->letter == letter)
				return option;
	return NULL;
}

static int check_words(const struct option *option, const char *value,
		       struct trials_error *ret_error)
{
	const char *at = option->words;
	size_t length = strlen(value);

	while (at && *at) {
		size_t word = strcspn(at, " ");

		if (word == length && memcmp(at, value, length) == 0)
			return 0;
		at += word + 1;
	}
	return usage_error(ret_error, NULL, "--%s takes one of: %.*s; not \"%s\"", option->name,
			   (int)strlen(option->words) - 1, option->words, value);
}

static int add_given(struct arguments *arguments, const struct option *option, const char *value,
		     struct trials_error *ret_error)
{
	struct given *grown;
	int r;

	if (option->words) {
		r = check_words(option, value, ret_error);
		if (r < 0)
			return r;
	}
	grown = realloc(arguments->given, (arguments->given_count + 1) * sizeof(*grown));
	if (!grown)
		return out_of_memory(ret_error);
	grown[arguments->given_count++] = (struct given){option, value};
	arguments->given = grown;
	return 0;
}

static int help_hint(const struct command *command, struct trials_error *error)
{
	if (command)
		snprintf(error->hint, sizeof(error->hint), "trialctl help %s", command->name);
	else
		snprintf(error->hint, sizeof(error->hint), "trialctl help");
	return -EINVAL;
}

/* One word that starts with two dashes. *ret_used: 1, or 2 when its value is the next word. */
static int parse_long(const struct command *command, const char *const *words,
		      struct arguments *arguments, size_t *ret_used, struct trials_error *ret_error)
{
	const char *name = words[0] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	const struct option *option = find_long(command, name, length);

	*ret_used = 1;
	if (!option) {
		usage_error(ret_error, NULL, "there is no option --%.*s", (int)length, name);
		return help_hint(command, ret_error);
	}
	if (!option->argument) {
		if (value)
			return usage_error(ret_error, NULL, "--%s takes no value", option->name);
		return add_given(arguments, option, "", ret_error);
	}
	if (!value) {
		value = words[1];
		*ret_used = 2;
	}
	if (!value) {
		usage_error(ret_error, NULL, "--%s needs a value: --%s %s", option->name,
			    option->name, option->argument);
		return help_hint(command, ret_error);
	}
	return add_given(arguments, option, value, ret_error);
}

/* Letters behind one dash; the last may take a value: the rest of the word, or the next. */
static int parse_letters(const struct command *command, const char *const *words,
			 struct arguments *arguments, size_t *ret_used,
			 struct trials_error *ret_error)
{
	*ret_used = 1;
	for (const char *letter = words[0] + 1; *letter; letter++) {
		const struct option *option = find_letter(command, *letter);
		const char *value = "";
		int r;

		if (!option) {
			usage_error(ret_error, NULL, "there is no option -%c",
				    isgraph((unsigned char)*letter) ? *letter : '?');
			return help_hint(command, ret_error);
		}
		if (option->argument) {
			value = letter[1] ? letter + 1 : words[1];
			*ret_used = letter[1] ? 1 : 2;
			if (!value) {
				usage_error(ret_error, NULL, "-%c needs a value: -%c %s", *letter,
					    *letter, option->argument);
				return help_hint(command, ret_error);
			}
		}
		r = add_given(arguments, option, value, ret_error);
		if (r < 0 || option->argument)
			return r;
	}
	return 0;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static int parse_option(const struct command *command, const char *const *words,
			struct arguments *arguments, size_t *ret_used,
			struct trials_error *ret_error)
{
	if (words[0][1] == '-')
		return parse_long(command, words, arguments, ret_used, ret_error);
	return parse_letters(command, words, arguments, ret_used, ret_error);
}

int options_parse_global(const char *const *words, struct arguments *ret_arguments,
			 size_t *ret_used, struct trials_error *ret_error)
{
	size_t used = 0;

	*ret_arguments = (struct arguments){0};
	while (words[used] && is_option(words[used]) && strcmp(words[used], "--") != 0) {
		size_t taken;
		int r = parse_option(NULL, words + used, ret_arguments, &taken, ret_error);

		if (r < 0) {
			arguments_done(ret_arguments);
			return r;
		}
		used += taken;
	}
	*ret_used = used;
	return 0;
}

static int add_operand(struct arguments *arguments, const char *word,
		       struct trials_error *ret_error)
{
	const char **grown;

	grown = realloc(arguments->operands, (arguments->operand_count + 1) * sizeof(*grown));
	if (!grown)
		return out_of_memory(ret_error);
	grown[arguments->operand_count++] = word;
	arguments->operands = grown;
	return 0;
}

static int check_operands(const struct command *command, const struct arguments *arguments,
			  struct trials_error *ret_error)
{
	static const struct {
		size_t least, most;
	} counts[] = {
		[OPERANDS_NONE] = {0, 0},
		[OPERANDS_ID] = {1, 1},
		[OPERANDS_OPTIONAL_ID] = {0, 1},
		[OPERANDS_IDS] = {1, SIZE_MAX},
		[OPERANDS_OPTIONAL_TEXT] = {0, 1},
		/* A --spec may bring the command. */
		[OPERANDS_COMMAND] = {0, SIZE_MAX},
		[OPERANDS_VERB] = {0, 1},
		[OPERANDS_WORDS] = {1, 2},
		[OPERANDS_THREE_WORDS] = {1, 3},
	};

	if (arguments_given(arguments, "help"))
		return 0;
	if (arguments->operand_count > counts[command->operands].most)
		usage_error(ret_error, NULL, "too many operands: \"%s\"",
			    arguments->operands[counts[command->operands].most]);
	else if (arguments->operand_count < counts[command->operands].least)
		usage_error(ret_error, NULL, "%s is missing", command->synopsis);
	else
		return 0;
	return help_hint(command, ret_error);
}

int options_parse(const struct command *command, const char *const *words,
		  struct arguments *arguments, struct trials_error *ret_error)
{
	bool ended = false;

	for (size_t i = 0; words[i];) {
		size_t used = 1;
		int r;

		if (!ended && strcmp(words[i], "--") == 0) {
			ended = true;
			arguments->dashes = true;
			i++;
			continue;
		}
		if (!ended && is_option(words[i])) {
			r = parse_option(command, words + i, arguments, &used, ret_error);
		} else {
			r = add_operand(arguments, words[i], ret_error);
			ended = ended || command->operands == OPERANDS_COMMAND;
		}
		if (r < 0)
			return r;
		i += used;
	}
	return check_operands(command, arguments, ret_error);
}

void arguments_done(struct arguments *arguments)
{
	free(arguments->given);
	free(arguments->operands);
	*arguments = (struct arguments){0};
}

const char *arguments_value(const struct arguments *arguments, const char *name)
{
	for (size_t i = arguments->given_count; i > 0; i--)
		if (strcmp(arguments->given[i - 1].option->name, name) == 0)
			return arguments->given[i - 1].value;
	return NULL;
}

bool arguments_given(const struct arguments *arguments, const char *name)
{
	return arguments_value(arguments, name) != NULL;
}

bool arguments_name_repeated(const struct arguments *arguments, size_t index)
{
	const struct given *given = &arguments->given[index];
	size_t length = strcspn(given->value, "=");

	for (size_t i = 0; i < index; i++) {
		const struct given *before = &arguments->given[i];

		if (before->option == given->option && strcspn(before->value, "=") == length &&
		    memcmp(before->value, given->value, length) == 0)
			return true;
	}
	return false;
}

int parse_unsigned(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (value > (max - digit) / 10 || digit > max)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return 0;
}

int parse_trial_id(const char *text, uint64_t *ret_id, struct trials_error *ret_error)
{
	if (parse_unsigned(text, INT64_MAX, ret_id) < 0 || *ret_id == 0)
		return usage_error(ret_error, "trialctl list shows the numbers",
				   "a Trial is named by its number, not \"%s\"", text);
	return 0;
}
