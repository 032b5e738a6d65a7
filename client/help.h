/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "command.h"

/* Made from the commands' tables; nothing is told twice. */
void help_program(FILE *file);
void help_command(FILE *file, const struct command *command);

/*
 * For completions, one option to a line, fields between tabs:
 * command, --name, letter, value's name, completion (words, file, folder or nothing), words, help.
 * Global options stand under the command "-". A line with a command and nothing else tells its
 * operands (id, verb, command) and summary: command, "", "", operands, "", "", summary.
 */
void help_options(FILE *file);
