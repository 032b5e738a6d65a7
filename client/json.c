/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "json.h"
#include "neutralise.h"
#include "print.h"

void *need_memory(void *memory)
{
	if (memory)
		return memory;
	fputs("trialctl: out of memory\n", stderr);
	exit(EXIT_SYSTEM);
}

const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

int64_t json_whole(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double json_float(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool json_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

char *json_display(const json_t *value)
{
	size_t size = 0;
	char *bytes = NULL;
	char *line;

	if (json_is_integer(value)) {
		if (asprintf(&line, "%lld", (long long)json_integer_value(value)) < 0)
			line = NULL;
		return need_memory(line);
	}
	if (!value || json_to_bytes(value, &bytes, &size) < 0)
		return need_memory(strdup(""));
	line = need_memory(neutralise_line(bytes, size));
	free(bytes);
	return line;
}

void json_print_field(const json_t *object, const char *key, const char *name)
{
	char *value = json_display(json_object_get(object, key));

	print_field(stdout, name, value);
	free(value);
}

static const char plain_characters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+";

static void print_word(FILE *file, const char *word)
{
	if (*word && strspn(word, plain_characters) == strlen(word)) {
		fputs(word, file);
		return;
	}
	fputc('\'', file);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", file);
		else
			fputc(*word, file);
	}
	fputc('\'', file);
}

char *json_display_command(const json_t *list)
{
	char *text = NULL;
	size_t size = 0, i;
	json_t *item;
	FILE *file = need_memory(open_memstream(&text, &size));

	json_array_foreach(list, i, item)
	{
		char *word = json_display(item);

		if (i)
			fputc(' ', file);
		print_word(file, word);
		free(word);
	}
	fclose(file);
	return need_memory(text);
}

char *json_display_pairs(const json_t *map)
{
	char *text = NULL;
	const char *name;
	size_t size = 0;
	json_t *value;
	FILE *file = need_memory(open_memstream(&text, &size));

	json_object_foreach((json_t *)map, name, value)
	{
		char *shown_name = need_memory(neutralise_line(name, strlen(name)));
		char *shown_value = json_display(value);

		if (ftell(file) > 0)
			fputc(' ', file);
		print_word(file, shown_name);
		fputc('=', file);
		if (*shown_value)
			print_word(file, shown_value);
		free(shown_name);
		free(shown_value);
	}
	fclose(file);
	return need_memory(text);
}

json_t *json_load_text(const char *text, size_t size, size_t flags, json_error_t *ret_error)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t skipped = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

	return json_loadb(text + skipped, size - skipped, flags, ret_error);
}
