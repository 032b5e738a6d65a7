/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <stdio.h>
#include <string.h>

#include "proto/protocol.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* One word from *at on, which is left behind it. */
static int word_next(const char **at, FILE *word)
{
	while (**at && **at != ' ' && **at != '\t') {
		char quote = **at;

		(*at)++;
		if (quote != '\'' && quote != '"') {
			fputc(quote, word);
			continue;
		}
		for (; **at != quote; (*at)++) {
			if (quote == '"' && **at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
				(*at)++;
			if (**at == '\0')
				return -EINVAL;
			fputc(**at, word);
		}
		(*at)++;
	}
	return 0;
}

int words_split(struct text_list *list, const char *value, size_t max)
{
	int r;

	for (;;) {
		_cleanup_free_ char *text = NULL;
		size_t size = 0;
		FILE *word;

		value += strspn(value, " \t");
		if (*value == '\0')
			return 0;
		if (list->count >= max)
			return -E2BIG;
		word = open_memstream(&text, &size);
		if (!word)
			return -ENOMEM;
		r = word_next(&value, word);
		if (fclose(word) != 0)
			return -ENOMEM;
		if (r == 0)
			r = text_list_add(list, text);
		if (r < 0)
			return r;
	}
}

bool words_have(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static bool text_uses(const char *text, char letter)
{
	for (; (text = strchr(text, '%')); text += 2) {
		if (text[1] == letter)
			return true;
		if (text[1] == '\0')
			return false;
	}
	return false;
}

bool words_use(const struct text_list *list, char letter)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_uses(list->items[i], letter))
			return true;
	return false;
}

bool specifiers_valid(const char *text, const char *letters)
{
	for (; (text = strchr(text, '%')); text += 2)
		if (text[1] == '\0' || (text[1] != '%' && !strchr(letters, text[1])))
			return false;
	return true;
}

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
}

static void put_value(FILE *file, const struct specifier *specifiers, char letter, bool escape)
{
	for (; specifiers->letter; specifiers++)
		if (specifiers->letter == letter && specifiers->value) {
			if (escape)
				put_escaped(file, specifiers->value);
			else
				fputs(specifiers->value, file);
		}
}

int specifiers_expand(const char *text, const struct specifier *specifiers, bool escape,
		      char **ret_text)
{
	_cleanup_free_ char *made = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&made, &size);

	if (!file)
		return -ENOMEM;
	for (; *text; text++) {
		if (*text != '%' || text[1] == '\0') {
			fputc(*text, file);
			continue;
		}
		text++;
		if (*text == '%')
			fputc('%', file);
		else
			put_value(file, specifiers, *text, escape);
	}
	if (fclose(file) != 0)
		return -ENOMEM;
	*ret_text = steal(&made);
	return 0;
}

bool home_path_valid(const char *path, bool absolute)
{
	if (strlen(path) > PATH_BYTES_MAX)
		return false;
	if (path[0] == '~')
		path++;
	else if (!absolute)
		return false;
	do {
		size_t length;

		if (*path != '/')
			return false;
		path++;
		length = strcspn(path, "/");
		if (length == 0 || (length == 1 && path[0] == '.') ||
		    (length == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += length;
	} while (*path);
	return true;
}

bool file_name_valid(const char *name)
{
	return name[0] && strlen(name) <= 255 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

bool plain_word_valid(const char *text, size_t max)
{
	size_t length = strspn(text, LETTERS DIGITS "._-");

	return length > 0 && length <= max && text[length] == '\0';
}

bool variable_valid(const char *name, size_t length)
{
	static const char *const own[] = {"HOME", "USER", "LOGNAME"};
	char first[2] = {name[0], '\0'};

	if (length == 0 || length > MESSAGE_DATA_KEY_BYTES_MAX || strspn(first, LETTERS "_") == 0 ||
	    strspn(name, LETTERS DIGITS "_") < length)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strlen(own[i]) == length && strncmp(own[i], name, length) == 0)
			return false;
	return true;
}
