/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "libjson.h"

/*
 * From the wire to JSON, and JSON as text.
 *
 * The text is made safe to print: jansson escapes what JSON demands (below U+0020), and here also
 * DEL, C1 and the marks that reorder text, since agent-made text ends up on terminals through
 * --json as well. Such characters can only stand inside JSON strings, so \uXXXX is always legal.
 */

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static json_t *base64_object(const uint8_t *bytes, size_t size)
{
	char *text = malloc((size + 2) / 3 * 4 + 1);
	json_t *object;
	size_t at = 0;

	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t group = (uint32_t)bytes[i] << 16;

		if (left > 1)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (left > 2)
			group |= bytes[i + 2];
		text[at++] = base64_digits[group >> 18];
		text[at++] = base64_digits[group >> 12 & 63];
		text[at++] = (char)(left > 1 ? base64_digits[group >> 6 & 63] : '=');
		text[at++] = (char)(left > 2 ? base64_digits[group & 63] : '=');
	}
	text[at] = 0;
	object = json_pack("{s:s}", "base64", text);
	free(text);
	return object;
}

json_t *json_from_bytes(const void *bytes, size_t size)
{
	if (utf8_valid(bytes, size))
		return json_stringn_nocheck(bytes, size);
	return base64_object(bytes, size);
}

/* Strict: whole groups of four, padding only at the end, no spare bits. */
static int base64_decode(const char *text, size_t length, char **ret_bytes, size_t *ret_size)
{
	size_t padding = 0, size = 0;
	uint32_t group = 0;
	char *bytes;

	if (length % 4)
		return -EINVAL;
	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	bytes = calloc(1, length / 4 * 3 + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		const char *digit = NULL;

		if (i < length - padding)
			digit = text[i] ? strchr(base64_digits, text[i]) : NULL;
		if (!digit && i < length - padding) {
			free(bytes);
			return -EINVAL;
		}
		group = group << 6 | (digit ? (uint32_t)(digit - base64_digits) : 0);
		if (i % 4 == 3) {
			bytes[size++] = (char)(group >> 16);
			bytes[size++] = (char)(group >> 8);
			bytes[size++] = (char)group;
			group = 0;
		}
	}
	for (size_t i = 0; i < padding; i++) {
		if (bytes[--size] != 0) {
			free(bytes);
			return -EINVAL;
		}
	}
	bytes[size] = 0;
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int json_to_bytes(const json_t *value, char **ret_bytes, size_t *ret_size)
{
	const json_t *text = value;
	size_t size;
	char *bytes;

	if (json_is_object(value)) {
		text = json_object_get(value, "base64");
		if (json_object_size(value) != 1 || !json_is_string(text))
			return -EINVAL;
		return base64_decode(json_string_value(text), json_string_length(text), ret_bytes,
				     ret_size);
	}
	if (!json_is_string(value))
		return -EINVAL;
	size = json_string_length(text);
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, json_string_value(text), size);
	bytes[size] = 0;
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

/* The code point of a character that must not reach a terminal, and its bytes; else 0. */
static unsigned int unsafe_character(const uint8_t *text, size_t *ret_bytes)
{
	unsigned int point = 0;

	*ret_bytes = 1;
	if (text[0] == 0x7f)
		return 0x7f;
	if ((text[0] & 0xe0) == 0xc0 && text[1]) {
		*ret_bytes = 2;
		point = (unsigned int)(text[0] & 0x1f) << 6 | (text[1] & 0x3f);
		return (point >= 0x80 && point <= 0x9f) || point == 0x61c ? point : 0;
	}
	if (text[0] == 0xe2 && text[1] && text[2]) {
		*ret_bytes = 3;
		point = 0x2000u | (unsigned int)(text[1] & 0x3f) << 6 | (text[2] & 0x3f);
		return point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
				       (point >= 0x2066 && point <= 0x2069)
			       ? point
			       : 0;
	}
	return 0;
}

char *json_line(const json_t *value)
{
	char *plain = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	const uint8_t *from = (const uint8_t *)plain;
	char *line, *to;

	if (!plain)
		return NULL;
	to = line = malloc(strlen(plain) * 6 + 1);
	while (line && *from) {
		size_t bytes;
		unsigned int point = unsafe_character(from, &bytes);

		if (point)
			to += sprintf(to, "\\u%04X", point);
		else
			to = (char *)memcpy(to, from, bytes) + bytes;
		from += bytes;
	}
	if (line)
		*to = 0;
	free(plain);
	return line;
}

static json_t *from_object(const msgpack_object *object);

/*
 * Microseconds are what clocks here tell; the digits of a double behind them are noise. Durations
 * stay written as fractions, so that a reader with types finds one type under one name; any other
 * number that is whole is written as one.
 */
static json_t *from_float(double value, bool duration)
{
	if (!isfinite(value))
		return json_null();
	if (fabs(value) < 1e9)
		value = round(value * 1e6) / 1e6;
	if (!duration && fabs(value) < 9e15 && trunc(value) == value)
		return json_integer((json_int_t)value);
	return json_real(value);
}

static bool is_float(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_FLOAT32 || object->type == MSGPACK_OBJECT_FLOAT64;
}

static json_t *from_value(const char *name, const msgpack_object *object)
{
	static const char end[] = "_seconds";
	size_t length = strlen(name);

	if (is_float(object) && length >= strlen(end) &&
	    strcmp(name + length - strlen(end), end) == 0)
		return from_float(object->via.f64, true);
	return from_object(object);
}

static json_t *from_map(const msgpack_object_map *map)
{
	json_t *object = json_object();

	for (uint32_t i = 0; object && i < map->size; i++) {
		const msgpack_object *key = &map->ptr[i].key;
		char name[MESSAGE_DATA_KEY_BYTES_MAX + 1];

		if (key->type != MSGPACK_OBJECT_STR || key->via.str.size >= sizeof(name))
			continue;
		memcpy(name, key->via.str.ptr, key->via.str.size);
		name[key->via.str.size] = 0;
		/* A key that is not text cannot be said in JSON. */
		if (!utf8_valid(name, key->via.str.size))
			continue;
		if (json_object_set_new_nocheck(object, name, from_value(name, &map->ptr[i].val)) <
		    0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *from_array(const msgpack_object_array *array)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < array->size; i++) {
		if (json_array_append_new(list, from_object(&array->ptr[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Recursion ends with MESSAGE_DEPTH_MAX, which was checked before the object was made. */
static json_t *from_object(const msgpack_object *object)
{
	switch (object->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return json_boolean(object->via.boolean);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		if (object->via.u64 > INT64_MAX)
			return json_real((double)object->via.u64);
		return json_integer((json_int_t)object->via.u64);
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return json_integer(object->via.i64);
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return from_float(object->via.f64, false);
	case MSGPACK_OBJECT_STR:
		return json_from_bytes(object->via.str.ptr, object->via.str.size);
	case MSGPACK_OBJECT_BIN:
		return json_from_bytes(object->via.bin.ptr, object->via.bin.size);
	case MSGPACK_OBJECT_ARRAY:
		return from_array(&object->via.array);
	case MSGPACK_OBJECT_MAP:
		return from_map(&object->via.map);
	default:
		return json_null();
	}
}

json_t *json_from_message(const struct trials_message *message)
{
	return message->body ? from_object(message->body) : json_object();
}

int trials_message_json(const struct trials_message *message, char **ret_text)
{
	json_t *object = json_from_message(message);
	char *text = object ? json_line(object) : NULL;

	json_decref(object);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
