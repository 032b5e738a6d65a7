/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "origin.h"

/*
 * A message begins with the path of the field it is about, as the decoder and trialsd write it, and
 * some name a second one further on. At the beginning any field is taken; later only one whose path
 * cannot be a word of a sentence: one with a dot or a bracket.
 */

void origins_add(struct origins *origins, const char *field, const char *option)
{
	origins->items = need_memory(
		realloc(origins->items, (origins->count + 1) * sizeof(*origins->items)));
	origins->items[origins->count++] = (struct origin){
		.field = need_memory(strdup(field)),
		.option = need_memory(strdup(option)),
	};
}

void origins_add_usual(struct origins *origins, const char *field, const char *option)
{
	size_t length = strlen(field) - 1;

	for (size_t i = 0; i < origins->count; i++)
		if (strncmp(origins->items[i].field, field, length) == 0 &&
		    origins->items[i].field[length] == '\0')
			return;
	origins_add(origins, field, option);
}

void origins_done(struct origins *origins)
{
	for (size_t i = 0; i < origins->count; i++) {
		free(origins->items[i].field);
		free(origins->items[i].option);
	}
	free(origins->items);
	*origins = (struct origins){0};
}

/* The bytes that a field takes at the start of text, a key inside of it ("binds[0].source") too. */
static size_t field_length(const char *field, const char *text)
{
	size_t length = strlen(field);

	if (strncmp(text, field, length) != 0)
		return 0;
	if (field[length - 1] == ']' && text[length] == '.')
		length += strcspn(text + length, ": ");
	return text[length] == '\0' || strchr(":, ", text[length]) ? length : 0;
}

static const struct origin *find(const struct origins *origins, const char *text, bool first,
				 size_t *ret_length)
{
	const struct origin *found = NULL;

	*ret_length = 0;
	for (size_t i = 0; i < origins->count; i++) {
		const struct origin *origin = &origins->items[i];
		size_t length = field_length(origin->field, text);

		/* Of an option given twice the last counts, as its value does. */
		if (length == 0 || length < *ret_length || !(first || strpbrk(origin->field, ".[")))
			continue;
		found = origin;
		*ret_length = length;
	}
	return found;
}

/* The bytes of text in front of the key of the file that it begins with. */
static size_t within_length(const struct origins *origins, const char *text)
{
	size_t length = origins->within ? strlen(origins->within) : 0;

	if (length == 0 || strncmp(text, origins->within, length) != 0 || text[length] != '.' ||
	    !islower((unsigned char)text[length + 1]))
		return 0;
	return length + 1;
}

char *origins_rewrite(const struct origins *origins, const char *message)
{
	const char *at = message;
	char *text = NULL;
	size_t size = 0, whole;
	FILE *file = need_memory(open_memstream(&text, &size));

	/* What has an origin with all of its path is not to be cut. */
	if (!find(origins, at, true, &whole))
		message = at += within_length(origins, at);
	while (*at) {
		bool start = at == message || at[-1] == ' ';
		size_t length = 0;
		const struct origin *origin = start ? find(origins, at, at == message, &length)
						    : NULL;

		if (origin) {
			fputs(origin->option, file);
			at += length;
		} else {
			fputc(*at++, file);
		}
	}
	fclose(file);
	return need_memory(text);
}
