/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "command.h"

/* Made from the commands' tables; nothing is told twice. */
void help_program(FILE *file);
void help_command(FILE *file, const struct command *command);

/*
 * For completions, one option to a line, seven fields between tabs, a dash where there is nothing:
 *   command, --name, -letter, the value's name, its completion (words, file, folder), words, help
 * Options of every command have a dash for the command. A line without an option's name describes
 * the command: its operands (id, ids, command, verb) in the fifth field, its summary in the last.
 */
void help_options(FILE *file);
