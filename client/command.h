/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * A command of trialctl: one file, cmd_NAME.c, that ends in one of these. Parsing, help,
 * completions and the test that reads the man page all follow the entry.
 */

struct context;

enum operands {
	OPERANDS_NONE,
	OPERANDS_ID,		/* exactly one Trial */
	OPERANDS_OPTIONAL_ID,	/* none or one */
	OPERANDS_IDS,		/* one or more */
	OPERANDS_OPTIONAL_TEXT, /* none or one, any text */
	OPERANDS_COMMAND,	/* a program and its arguments: options end with the first */
	OPERANDS_VERB,		/* none or one name of a command */
	OPERANDS_WORDS,		/* one or two words, the first of which says what to do */
	OPERANDS_THREE_WORDS,	/* one to three, likewise */
};

struct command {
	const char *name;
	const char *summary;
	const char *synopsis; /* of the operands, for people */
	enum operands operands;
	const struct option *options; /* ends with one without a name; NULL: none of its own */
	const char *more; /* said below the options: lines, the last one ended; or NULL */
	/* The program's exit code. What went wrong has been said. */
	int (*run)(struct context *context, const struct arguments *arguments);
};

/* Every command, ending with NULL. */
extern const struct command *const commands[];

/* Accepted by every command, and before its name. */
extern const struct option global_options[];

const struct command *command_find(const char *name);
