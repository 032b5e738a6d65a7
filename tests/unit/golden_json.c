/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

static void print_text(FILE *file, const char *text, size_t size)
{
	fputc('"', file);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

static void print_base64(FILE *file, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	fputs("{\"base64\": \"", file);
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t group = (uint32_t)bytes[i] << 16;

		if (left > 1)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (left > 2)
			group |= bytes[i + 2];
		fputc(digits[group >> 18], file);
		fputc(digits[group >> 12 & 63], file);
		fputc(left > 1 ? digits[group >> 6 & 63] : '=', file);
		fputc(left > 2 ? digits[group & 63] : '=', file);
	}
	fputs("\"}", file);
}

/* The shortest form that is read back as the same number, and as no integer. */
static void print_float(FILE *file, double number)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	fprintf(file, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void new_line(FILE *file, unsigned int depth)
{
	fputc('\n', file);
	for (unsigned int i = 0; i < depth; i++)
		fputs("  ", file);
}

static void print_value(FILE *file, const msgpack_object *object, unsigned int depth);

static void print_list(FILE *file, const msgpack_object_array *list, unsigned int depth)
{
	fputc('[', file);
	for (uint32_t i = 0; i < list->size; i++) {
		new_line(file, depth + 1);
		print_value(file, &list->ptr[i], depth + 1);
		if (i + 1 < list->size)
			fputc(',', file);
	}
	if (list->size)
		new_line(file, depth);
	fputc(']', file);
}

static void print_map(FILE *file, const msgpack_object_map *map, unsigned int depth)
{
	fputc('{', file);
	for (uint32_t i = 0; i < map->size; i++) {
		new_line(file, depth + 1);
		print_text(file, map->ptr[i].key.via.str.ptr, map->ptr[i].key.via.str.size);
		fputs(": ", file);
		print_value(file, &map->ptr[i].val, depth + 1);
		if (i + 1 < map->size)
			fputc(',', file);
	}
	if (map->size)
		new_line(file, depth);
	fputc('}', file);
}

static void print_value(FILE *file, const msgpack_object *object, unsigned int depth)
{
	switch (object->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		fputs(object->via.boolean ? "true" : "false", file);
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		fprintf(file, "%" PRIu64, object->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		fprintf(file, "%" PRId64, object->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		print_float(file, object->via.f64);
		break;
	case MSGPACK_OBJECT_STR:
		if (utf8_valid(object->via.str.ptr, object->via.str.size))
			print_text(file, object->via.str.ptr, object->via.str.size);
		else
			print_base64(file, (const unsigned char *)object->via.str.ptr,
				     object->via.str.size);
		break;
	case MSGPACK_OBJECT_BIN:
		print_base64(file, (const unsigned char *)object->via.bin.ptr,
			     object->via.bin.size);
		break;
	case MSGPACK_OBJECT_ARRAY:
		print_list(file, &object->via.array, depth);
		break;
	case MSGPACK_OBJECT_MAP:
		print_map(file, &object->via.map, depth);
		break;
	default:
		fputs("null", file);
	}
}

void golden_print_json(FILE *file, const msgpack_object *object)
{
	print_value(file, object, 0);
	fputc('\n', file);
}
