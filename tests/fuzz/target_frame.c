/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "proto/frame.h"
#include "proto/protocol.h"

/*
 * A byte stream into frames. The input is the stream; it is fed twice, whole and in pieces whose
 * sizes come from its own bytes, and both ways must give the same frames and the same end.
 */

struct tally {
	size_t frames;
	size_t bytes;
	uint64_t sum;
	int end;
};

static void take(struct frame_reader *reader, struct tally *tally)
{
	const uint8_t *body;
	size_t size;

	while ((tally->end = frame_reader_next(reader, &body, &size)) == 1) {
		if (size == 0 || size > FRAME_BYTES_MAX)
			abort();
		tally->frames++;
		tally->bytes += size;
		for (size_t i = 0; i < size; i++)
			tally->sum = tally->sum * 31 + body[i];
	}
}

static struct tally read_stream(const uint8_t *data, size_t size, bool pieces)
{
	struct frame_reader reader;
	struct tally tally = {0};

	frame_reader_init(&reader);
	for (size_t at = 0; at < size && tally.end >= 0;) {
		size_t piece = pieces ? 1 + data[at] % 7u : size;

		if (piece > size - at)
			piece = size - at;
		if (frame_reader_feed(&reader, data + at, piece) < 0)
			tally.end = -1;
		/* Twice the bytes, and what any reader has. */
		if (reader.capacity > 2 * size + 4096)
			abort();
		at += piece;
		if (tally.end >= 0)
			take(&reader, &tally);
	}
	tally.end = tally.end < 0 ? -1 : frame_reader_partial(&reader);
	frame_reader_done(&reader);
	return tally;
}

int fuzz_frame(const uint8_t *data, size_t size)
{
	struct tally whole = read_stream(data, size, false);
	struct tally pieces = read_stream(data, size, true);

	if (whole.frames != pieces.frames || whole.bytes != pieces.bytes ||
	    whole.sum != pieces.sum || whole.end != pieces.end)
		abort();
	return 0;
}
