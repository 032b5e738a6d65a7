/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "neutralise.h"

#define ESCAPE_BYTES_MAX 8 /* \u202e and its end */

/*
 * The character that stands first. 1 and up: its bytes, and *ret_point. 0: more bytes are needed
 * to tell. -1: the first byte begins no character.
 */
static int decode(const uint8_t *bytes, size_t size, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = bytes[0] < 0x80	  ? 1
			: bytes[0] < 0xc2 ? 0
			: bytes[0] < 0xe0 ? 2
			: bytes[0] < 0xf0 ? 3
			: bytes[0] < 0xf5 ? 4
					  : 0;
	uint32_t point;

	if (!length)
		return -1;
	point = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (i >= size)
			return 0;
		if ((bytes[i] & 0xc0) != 0x80)
			return -1;
		point = point << 6 | (bytes[i] & 0x3f);
	}
	if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return -1;
	*ret_point = point;
	return (int)length;
}

static bool is_unsafe(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x61c ||
	       point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069);
}

/* Into a buffer of ESCAPE_BYTES_MAX; returns the bytes written. */
static size_t escape_point(uint32_t point, char *buffer)
{
	if (point == '\r')
		return (size_t)sprintf(buffer, "\\r");
	if (point == '\n')
		return (size_t)sprintf(buffer, "\\n");
	if (point == '\t')
		return (size_t)sprintf(buffer, "\\t");
	return point < 0x80 ? (size_t)sprintf(buffer, "\\x%02x", point)
			    : (size_t)sprintf(buffer, "\\u%04x", point);
}

/*
 * What to show for the first character: *ret_used bytes of it became *ret_size bytes in buffer.
 * false: more bytes are needed.
 */
static bool show(const uint8_t *bytes, size_t size, bool lines, char *buffer, size_t *ret_used,
		 size_t *ret_size)
{
	uint32_t point = 0;
	int length = decode(bytes, size, &point);

	if (length == 0)
		return false;
	*ret_used = length < 0 ? 1 : (size_t)length;
	if (length < 0) {
		*ret_size = (size_t)sprintf(buffer, "\\x%02x", bytes[0]);
	} else if (is_unsafe(point) && !(lines && (point == '\n' || point == '\t'))) {
		*ret_size = escape_point(point, buffer);
	} else {
		memcpy(buffer, bytes, *ret_used);
		*ret_size = *ret_used;
	}
	return true;
}

static int write_out(const char *bytes, size_t size, FILE *file)
{
	return fwrite(bytes, 1, size, file) == size ? 0 : -EIO;
}

int neutralise_stream(struct neutraliser *neutraliser, const void *bytes, size_t size, FILE *file)
{
	const uint8_t *at = bytes;

	while (size > 0 || neutraliser->pending_size > 0) {
		char shown[ESCAPE_BYTES_MAX];
		size_t used, shown_size;

		/* One byte at a time joins what was cut, until it can be judged. */
		if (neutraliser->pending_size > 0) {
			bool whole = show(neutraliser->pending, neutraliser->pending_size, true,
					  shown, &used, &shown_size);

			if (!whole && size == 0)
				return 0;
			if (!whole) {
				neutraliser->pending[neutraliser->pending_size++] = *at++;
				size--;
				continue;
			}
			neutraliser->pending_size -= used;
			memmove(neutraliser->pending, neutraliser->pending + used,
				neutraliser->pending_size);
		} else if (show(at, size, true, shown, &used, &shown_size)) {
			at += used;
			size -= used;
		} else {
			memcpy(neutraliser->pending, at, size);
			neutraliser->pending_size = size;
			return 0;
		}
		if (write_out(shown, shown_size, file) < 0)
			return -EIO;
	}
	return 0;
}

int neutralise_end(struct neutraliser *neutraliser, FILE *file)
{
	for (size_t i = 0; i < neutraliser->pending_size; i++) {
		char shown[ESCAPE_BYTES_MAX];
		int length = sprintf(shown, "\\x%02x", neutraliser->pending[i]);

		if (write_out(shown, (size_t)length, file) < 0)
			return -EIO;
	}
	neutraliser->pending_size = 0;
	return 0;
}

char *neutralise_line(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	char *line = malloc(size * 6 + 1);
	size_t length = 0;

	if (!line)
		return NULL;
	while (size > 0) {
		size_t used, shown;

		if (!show(at, size, false, line + length, &used, &shown)) {
			shown = (size_t)sprintf(line + length, "\\x%02x", at[0]);
			used = 1;
		}
		length += shown;
		at += used;
		size -= used;
	}
	line[length] = 0;
	return line;
}

static size_t point_width(uint32_t point)
{
	int width = wcwidth((wchar_t)point);

	return width < 0 ? 1 : (size_t)width;
}

size_t display_width(const char *text)
{
	size_t size = strlen(text), width = 0;

	while (size > 0) {
		uint32_t point = 0;
		int length = decode((const uint8_t *)text, size, &point);

		if (length <= 0)
			length = 1;
		width += point_width(point);
		text += length;
		size -= (size_t)length;
	}
	return width;
}

size_t display_fit(const char *text, size_t columns)
{
	size_t size = strlen(text), used = 0, width = 0;

	while (used < size) {
		uint32_t point = 0;
		int length = decode((const uint8_t *)text + used, size - used, &point);

		if (length <= 0)
			length = 1;
		width += point_width(point);
		if (width > columns)
			break;
		used += (size_t)length;
	}
	return used;
}
