/* SPDX-License-Identifier: MIT */
#include "field_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "proto/codec.h"

/* Where the last whole character of text begins that ends by size: what is cut stays UTF-8. */
static size_t character_start(const char *text, size_t size)
{
	while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

char *value_part(const char *text, size_t from, size_t most)
{
	size_t size = strlen(text);
	char *copy;

	if (size <= most)
		return strdup(text);
	from = character_start(text, from > 32 ? from - 32 : 0);
	size -= from;
	if (size > most)
		size = character_start(text + from, most);
	if (asprintf(&copy, "%s%.*s%s", from ? "…" : "", (int)size, text + from,
		     text[from + size] ? "…" : "") < 0)
		return NULL;
	return copy;
}

size_t value_same(const char *a, const char *b)
{
	size_t same = 0;

	while (a[same] && a[same] == b[same])
		same++;
	return same;
}

char *value_shown(const char *text)
{
	char *line = display(text ?: "absent");
	size_t size = line ? strlen(line) : 0;

	/* display gives no control characters, and "…" has three bytes. */
	if (size > VALUE_SHOWN_BYTES) {
		size = character_start(line, VALUE_SHOWN_BYTES - 3);
		memcpy(line + size, "…", sizeof("…"));
	}
	return line;
}

/* As a shell would take it, so that no two lists are one text. */
static void put_word(FILE *stream, const char *word)
{
	if (*word && !strpbrk(word, " \t\n'\"\\")) {
		fputs(word, stream);
		return;
	}
	fputc('\'', stream);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", stream);
		else
			fputc(*word, stream);
	fputc('\'', stream);
}

static char *joined(const struct text_list *list)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			fputc(' ', stream);
		put_word(stream, list->items[i]);
	}
	if (ferror(stream) | (fclose(stream) != 0)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *number_text(const struct field *field, const void *member)
{
	const struct word_set *words = field_words(field->type);
	char *text = NULL;
	int r;

	if (words) {
		int word = *(const int *)member;

		return strdup(word >= 0 && (size_t)word < words->count ? words->words[word] : "?");
	}
	if (field->type == FIELD_SECONDS || field->type == FIELD_FLOAT)
		r = asprintf(&text, "%.15g", *(const double *)member);
	else if (field->type == FIELD_BOOL)
		r = asprintf(&text, "%s", *(const bool *)member ? "true" : "false");
	else if (field->type == FIELD_INT)
		r = asprintf(&text, "%lld", (long long)*(const int64_t *)member);
	else if (field->limit == 0777) /* permission bits */
		r = asprintf(&text, "%04llo", (unsigned long long)*(const uint64_t *)member);
	else
		r = asprintf(&text, "%llu", (unsigned long long)*(const uint64_t *)member);
	return r < 0 ? NULL : text;
}

bool field_there(const struct field *field, const void *structure)
{
	const char *member = (const char *)structure + field->offset;

	switch (field->type) {
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_PATH:
		return *(const char *const *)(const void *)member != NULL;
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
		return ((const struct text_list *)(const void *)member)->count > 0;
	default:
		return *(const bool *)((const char *)structure + field->has_offset);
	}
}

int field_text(const struct field *field, const void *structure, char **ret_text)
{
	const char *member = (const char *)structure + field->offset;

	*ret_text = NULL;
	if (!field_there(field, structure))
		return 0;
	switch (field->type) {
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_PATH:
		*ret_text = strdup(*(const char *const *)(const void *)member);
		break;
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
		*ret_text = joined((const void *)member);
		break;
	default:
		*ret_text = number_text(field, member);
		break;
	}
	return *ret_text ? 0 : -ENOMEM;
}
