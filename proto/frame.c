/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "protocol.h"

/*
 * Length-prefixed frames out of a byte stream. Memory follows the bytes that came: a header that
 * claims a mebibyte costs its own four bytes until the rest arrives. Frames are given out where
 * they lie; the room of those given out is taken back at the next feed. After a bad length the
 * stream has no frame boundary left to find, so nothing is read from it again.
 */

/* What an empty reader keeps; a bigger buffer goes back, as 512 idle clients would hold it. */
#define KEPT_BYTES 4096

void frame_reader_init(struct frame_reader *reader)
{
	*reader = (struct frame_reader){0};
}

void frame_reader_done(struct frame_reader *reader)
{
	free(reader->buffer);
	*reader = (struct frame_reader){0};
}

static int break_stream(struct frame_reader *reader)
{
	frame_reader_done(reader);
	reader->broken = true;
	return -EBADMSG;
}

/* The body length of the frame at `at`: 1, 0 when its header is not whole, -EBADMSG. */
static int body_size(const struct frame_reader *reader, size_t at, size_t *ret_size)
{
	uint32_t size = 0;

	if (reader->size - at < FRAME_HEADER_BYTES)
		return 0;
	for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
		size = size << 8 | reader->buffer[at + i];
	if (size == 0 || size > FRAME_BYTES_MAX)
		return -EBADMSG;
	*ret_size = size;
	return 1;
}

static void drop_taken(struct frame_reader *reader)
{
	if (reader->taken == 0)
		return;
	reader->size -= reader->taken;
	memmove(reader->buffer, reader->buffer + reader->taken, reader->size);
	reader->taken = 0;
	if (reader->size == 0 && reader->capacity > KEPT_BYTES) {
		free(reader->buffer);
		reader->buffer = NULL;
		reader->capacity = 0;
	}
}

static int reserve(struct frame_reader *reader, size_t size)
{
	size_t capacity = reader->capacity ? reader->capacity : KEPT_BYTES;
	uint8_t *buffer;

	if (size > SIZE_MAX / 2 - reader->size)
		return -ENOMEM;
	size += reader->size;
	if (size <= reader->capacity)
		return 0;
	while (capacity < size)
		capacity *= 2;
	buffer = realloc(reader->buffer, capacity);
	if (!buffer)
		return -ENOMEM;
	reader->buffer = buffer;
	reader->capacity = capacity;
	return 0;
}

int frame_reader_feed(struct frame_reader *reader, const void *bytes, size_t size)
{
	size_t body;
	int r;

	if (reader->broken)
		return -EBADMSG;
	if (size == 0)
		return 0;
	drop_taken(reader);
	r = reserve(reader, size);
	if (r < 0)
		return r;
	memcpy(reader->buffer + reader->size, bytes, size);
	reader->size += size;
	return body_size(reader, 0, &body) < 0 ? break_stream(reader) : 0;
}

int frame_reader_next(struct frame_reader *reader, const uint8_t **ret_body, size_t *ret_size)
{
	size_t size;
	int r;

	if (reader->broken)
		return -EBADMSG;
	r = body_size(reader, reader->taken, &size);
	if (r < 0)
		return break_stream(reader);
	if (r == 0 || reader->size - reader->taken - FRAME_HEADER_BYTES < size) {
		drop_taken(reader);
		return 0;
	}
	*ret_body = reader->buffer + reader->taken + FRAME_HEADER_BYTES;
	*ret_size = size;
	reader->taken += FRAME_HEADER_BYTES + size;
	return 1;
}

bool frame_reader_partial(const struct frame_reader *reader)
{
	size_t at = reader->taken, size;

	while (at < reader->size) {
		if (body_size(reader, at, &size) <= 0 ||
		    reader->size - at - FRAME_HEADER_BYTES < size)
			return true;
		at += FRAME_HEADER_BYTES + size;
	}
	return false;
}
