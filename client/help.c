/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "help.h"

static void print_option(FILE *file, const struct option *option)
{
	char letter[8] = "    ";
	size_t width;

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	width = 8 + strlen(option->name);
	fprintf(file, "  %s--%s", letter, option->name);
	if (option->argument) {
		fprintf(file, " %s", option->argument);
		width += 1 + strlen(option->argument);
	}
	if (width > 28)
		fprintf(file, "\n%*s", 30, "");
	else
		fprintf(file, "%*s", (int)(30 - width), "");
	fprintf(file, "%s%s\n", option->help, option->repeatable ? " (repeatable)" : "");
	if (option->words)
		fprintf(file, "%*sone of: %.*s\n", 30, "", (int)strlen(option->words) - 1,
			option->words);
}

static void print_options(FILE *file, const char *title, const struct option *options)
{
	if (!options || !options->name)
		return;
	fprintf(file, "\n%s:\n", title);
	for (; options->name; options++)
		print_option(file, options);
}

void help_program(FILE *file)
{
	fputs("usage: trialctl [--socket PATH] COMMAND [OPTIONS] ...\n\nCommands:\n", file);
	for (const struct command *const *command = commands; *command; command++)
		fprintf(file, "  %-10s %s\n", (*command)->name, (*command)->summary);
	print_options(file, "Options of every command", global_options);
	fputs("\ntrialctl help COMMAND tells more of a command; so does trialctl(1).\n", file);
}

void help_command(FILE *file, const struct command *command)
{
	fprintf(file, "usage: trialctl %s%s%s%s\n\n%s\n", command->name,
		command->options ? " [OPTIONS]" : "", *command->synopsis ? " " : "",
		command->synopsis, command->summary);
	print_options(file, "Options", command->options);
	print_options(file, "Options of every command", global_options);
	if (command->more)
		fprintf(file, "\n%s", command->more);
}

static void list_line(FILE *file, const char *const *fields)
{
	for (size_t i = 0; i < 7; i++)
		fprintf(file, "%s%s", i ? "\t" : "", fields[i] && *fields[i] ? fields[i] : "-");
	fputc('\n', file);
}

static void list_options(FILE *file, const char *command, const struct option *option)
{
	static const char *const completions[] = {
		[COMPLETE_NOTHING] = NULL,
		[COMPLETE_FILE] = "file",
		[COMPLETE_FOLDER] = "folder",
	};

	for (; option && option->name; option++) {
		char name[64], words[256] = "", letter[] = {'-', option->letter, 0};

		snprintf(name, sizeof(name), "--%s", option->name);
		/* Without the blank at the end. */
		if (option->words)
			snprintf(words, sizeof(words), "%.*s", (int)strlen(option->words) - 1,
				 option->words);
		list_line(file,
			  (const char *const[]){
				  command, name, option->letter ? letter : NULL, option->argument,
				  option->words ? "words" : completions[option->completion], words,
				  option->help});
	}
}

void help_options(FILE *file)
{
	static const char *const operands[] = {
		[OPERANDS_NONE] = NULL,		 [OPERANDS_ID] = "id",
		[OPERANDS_OPTIONAL_ID] = "id",	 [OPERANDS_IDS] = "ids",
		[OPERANDS_OPTIONAL_TEXT] = NULL, [OPERANDS_COMMAND] = "command",
		[OPERANDS_VERB] = "verb",	 [OPERANDS_WORDS] = NULL,
		[OPERANDS_THREE_WORDS] = NULL,
	};

	list_options(file, "-", global_options);
	for (const struct command *const *command = commands; *command; command++) {
		list_line(file, (const char *const[]){(*command)->name, NULL, NULL, NULL,
						      operands[(*command)->operands], NULL,
						      (*command)->summary});
		list_options(file, (*command)->name, (*command)->options);
	}
}
