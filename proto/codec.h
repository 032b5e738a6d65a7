/* SPDX-License-Identifier: MIT */
#pragma once

#include "message.h"

/* What the halves of the codec share. Not for users of message.h. */

struct message {
	msgpack_zone zone;
	msgpack_object root;
	uint8_t *bytes; /* our copy; strings of root point into it */
};

/* The closed set of words that a field type takes; NULL for other types. */
struct word_set {
	const char *const *words;
	size_t count;
};
const struct word_set *field_words(enum field_type type);

/* The message type that a field type nests, alone or in a list; NULL for other types. */
const struct message_type *field_inner_type(enum field_type type);

/* The shape that every LIST_TYPE_ has. */
struct any_list {
	size_t count;
	void *items;
};

/* The largest value of an unsigned field: a limit of 0 stands for what a signed 64-bit holds. */
static inline uint64_t field_max(const struct field *field)
{
	return field->limit ? field->limit : INT64_MAX;
}

/* The bytes of the whole UTF-8 sequence that stands first; 0 when there is none. */
size_t utf8_sequence(const uint8_t *bytes, size_t size);
