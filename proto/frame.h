/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of a stream into frames. No I/O: the owner reads, gives the bytes, and takes the frames.
 * The buffer grows with the bytes that came, never with what a header claims; a length of 0 or
 * over FRAME_BYTES_MAX is -EBADMSG at once and for ever (the stream cannot be trusted again).
 */
struct frame_reader {
	uint8_t *buffer;
	size_t size;	 /* bytes held */
	size_t capacity; /* bytes allocated */
	size_t taken;	 /* bytes of it given out already */
	bool broken;
};

void frame_reader_init(struct frame_reader *reader);
void frame_reader_done(struct frame_reader *reader);

/* Adds bytes. -EBADMSG, -ENOMEM. */
int frame_reader_feed(struct frame_reader *reader, const void *bytes, size_t size);

/*
 * The next whole frame's body: 1 and *ret_body (valid until the next call), 0 when there is none
 * yet, -EBADMSG.
 */
int frame_reader_next(struct frame_reader *reader, const uint8_t **ret_body, size_t *ret_size);

/* Whether a frame has begun and is not whole: the owner runs FRAME_DEADLINE_SECONDS on it. */
bool frame_reader_partial(const struct frame_reader *reader);
