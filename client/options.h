/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trials.h"

/*
 * Command lines against tables. Pure: nothing is printed and nothing but memory is touched.
 *
 * Options stand before or after operands, as --name VALUE, --name=VALUE or -x; `--` ends them.
 * Names are never abbreviated: a script keeps its meaning when options are added. An option that
 * is given twice and is not repeatable counts as given last.
 */

enum completion { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_FOLDER };

struct option {
	const char *name;     /* without the dashes; NULL ends a table */
	char letter;	      /* short form, or 0 */
	const char *argument; /* what its value is called; NULL: it takes none */
	const char *words;    /* the values it takes, each followed by a space; NULL: any */
	enum completion completion;
	bool repeatable;
	const char *help;
};

struct given {
	const struct option *option;
	const char *value; /* "" for an option without one */
};

struct arguments {
	struct given *given; /* in the order they stood */
	size_t given_count;
	const char **operands;
	size_t operand_count;
	bool dashes; /* -- stood before them */
};

struct command;

/*
 * Global options that stand before the command's name. words ends with NULL. *ret_used says how
 * many words they took. The strings stay the caller's and must outlive the result.
 * -EINVAL: *ret_error names the option; -ENOMEM.
 */
int options_parse_global(const char *const *words, struct arguments *ret_arguments,
			 size_t *ret_used, struct trials_error *ret_error);

/* What follows the name. Adds to arguments, which is initialised or parsed already. */
int options_parse(const struct command *command, const char *const *words,
		  struct arguments *arguments, struct trials_error *ret_error);

void arguments_done(struct arguments *arguments);

/* The value given last, or NULL. */
const char *arguments_value(const struct arguments *arguments, const char *name);
bool arguments_given(const struct arguments *arguments, const char *name);

/* Whether the NAME of this NAME=VALUE was given to the same option before. */
bool arguments_name_repeated(const struct arguments *arguments, size_t index);

/* Whole string, decimal, at most max. -EINVAL, -ERANGE. */
int parse_unsigned(const char *text, uint64_t max, uint64_t *ret_value);

/* The operand as the number of a Trial. -EINVAL and *ret_error. */
int parse_trial_id(const char *text, uint64_t *ret_id, struct trials_error *ret_error);

/* Fills the error as a mistake in how the command was used. Always -EINVAL. */
int usage_error(struct trials_error *ret_error, const char *hint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
