/* SPDX-License-Identifier: MIT */
#include "codec.h"

/* How many bytes follow the first one of a sequence, or -1 when none starts with it. */
static int continuation_count(uint8_t first)
{
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first < 0xe0)
		return 1;
	if (first >= 0xe0 && first < 0xf0)
		return 2;
	if (first >= 0xf0 && first < 0xf5)
		return 3;
	return -1;
}

/* The second byte's range is narrower after some first bytes: overlong, surrogate, too large. */
static bool second_fits(uint8_t first, uint8_t second)
{
	uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

	return second >= least && second <= most;
}

size_t utf8_sequence(const uint8_t *bytes, size_t size)
{
	int following;

	if (size == 0)
		return 0;
	following = continuation_count(bytes[0]);
	if (following < 0 || (size_t)following >= size)
		return 0;
	for (int i = 1; i <= following; i++) {
		if (i == 1 && !second_fits(bytes[0], bytes[1]))
			return 0;
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	}
	return (size_t)following + 1;
}

bool utf8_valid(const void *text, size_t size)
{
	const uint8_t *bytes = text;

	while (size > 0) {
		size_t length = utf8_sequence(bytes, size);

		if (length == 0)
			return false;
		bytes += length;
		size -= length;
	}
	return true;
}
