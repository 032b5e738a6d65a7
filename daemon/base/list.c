/* SPDX-License-Identifier: MIT */
#include "base/list.h"
#include "base/text.h"
#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int text_list_take(struct text_list *list, char *text)
{
	const char **items;

	if (!text)
		return -ENOMEM;
	items = realloc(list->items, (list->count + 1) * sizeof(*items));
	if (!items) {
		free(text);
		return -ENOMEM;
	}
	items[list->count++] = text;
	list->items = items;
	return 0;
}

int text_list_add(struct text_list *list, const char *text)
{
	return text_list_take(list, strdup(text));
}

int text_list_add_format(struct text_list *list, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	return text_list_take(list, text);
}

int text_list_merge(struct text_list *list, const struct text_list *more)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->count; i++)
		if (!words_have(list, more->items[i]))
			r = text_list_add(list, more->items[i]);
	return r;
}

void text_list_done(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->items[i]);
	free(list->items);
	*list = (struct text_list){0};
}

int pair_list_set(struct pair_list *list, const char *name, const char *value)
{
	_cleanup_free_ char *copy = strdup(value);
	struct pair *items;
	char *key;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, name)) {
			free((char *)list->items[i].value);
			list->items[i].value = steal(&copy);
			return 0;
		}
	items = realloc(list->items, (list->count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	key = strdup(name);
	if (!key)
		return -ENOMEM;
	items[list->count++] = (struct pair){.name = key, .value = steal(&copy)};
	return 0;
}

const char *pair_list_get(const struct pair_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, name))
			return list->items[i].value;
	return NULL;
}

void pair_list_done(struct pair_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free((char *)list->items[i].name);
		free((char *)list->items[i].value);
	}
	free(list->items);
	*list = (struct pair_list){0};
}

/* Bytes of the UTF-8 character at bytes, 0 when there is no valid one. */
static size_t character_bytes(const unsigned char *bytes, size_t size)
{
	size_t length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;

	return length <= size && utf8_valid(bytes, length) ? length : 0;
}

/* C0, DEL and C1: no use in a message and able to move a terminal's cursor. */
static bool is_control(const unsigned char *bytes, size_t length)
{
	if (length == 1)
		return bytes[0] < 0x20 || bytes[0] == 0x7f;
	return length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

char *display(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t size = strlen(text), at = 0, out = 0;
	char *shown = malloc(DISPLAY_BYTES_MAX + 1);

	if (!shown)
		return NULL;
	while (at < size) {
		size_t length = character_bytes(bytes + at, size - at);

		if (out + 16 > DISPLAY_BYTES_MAX) {
			memcpy(shown + out, "…", 3);
			out += 3;
			break;
		}
		if (length > 0 && !is_control(bytes + at, length)) {
			memcpy(shown + out, bytes + at, length);
			out += length;
			at += length;
		} else if (bytes[at] == '\n') {
			memcpy(shown + out, "\\n", 2);
			out += 2;
			at++;
		} else {
			length = length > 0 ? length : 1;
			for (size_t i = 0; i < length; i++)
				out += (size_t)snprintf(shown + out, 5, "\\x%02x", bytes[at + i]);
			at += length;
		}
	}
	shown[out] = '\0';
	return shown;
}
