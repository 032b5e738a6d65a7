/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "message.h"

/*
 * The structure of untrusted bytes, walked before msgpack-c sees them. msgpack-c allocates what a
 * count claims before it looks at the elements; here every count is first held against the bytes
 * that remain. Nothing is allocated and nothing recurses deeper than MESSAGE_DEPTH_MAX.
 *
 * Duplicate keys are found by sorting the keys of a map by their bytes: two readers that differ
 * on which of two values counts are a hole, and a sort, unlike a hash table, has no input that
 * makes it slow. The sort's room is on the stack, which is why MESSAGE_MAP_KEYS_MAX exists.
 *
 * Here a key may be as long as a data key (MESSAGE_DATA_KEY_BYTES_MAX), as bytes alone do not
 * tell a map of data from a message. Decoding holds a message's keys to MESSAGE_KEY_BYTES_MAX.
 */

enum kind { KIND_SCALAR, KIND_STR, KIND_BIN, KIND_ARRAY, KIND_MAP };

struct item {
	enum kind kind;
	uint32_t count; /* payload bytes, or elements */
};

struct reader {
	const uint8_t *bytes;
	size_t size;
	size_t at;
};

static size_t remaining(const struct reader *reader)
{
	return reader->size - reader->at;
}

static int read_count(struct reader *reader, size_t width, uint32_t *ret_count)
{
	uint32_t count = 0;

	if (remaining(reader) < width)
		return -EBADMSG;
	for (size_t i = 0; i < width; i++)
		count = count << 8 | reader->bytes[reader->at++];
	*ret_count = count;
	return 0;
}

/* The first bytes with a type of their own: how wide the count is, or the scalar's payload. */
struct lead {
	enum kind kind;
	uint8_t width;
	bool allowed;
};

static const struct lead leads[] = {
	/* 0xc0 */ {KIND_SCALAR, 0, true},  /* nil */
	/* 0xc1 */ {KIND_SCALAR, 0, false}, /* never used */
	/* 0xc2 */ {KIND_SCALAR, 0, true},  /* false */
	/* 0xc3 */ {KIND_SCALAR, 0, true},  /* true */
	/* 0xc4 */ {KIND_BIN, 1, true},
	/* 0xc5 */ {KIND_BIN, 2, true},
	/* 0xc6 */ {KIND_BIN, 4, true},
	/* 0xc7 */ {KIND_SCALAR, 0, false}, /* ext */
	/* 0xc8 */ {KIND_SCALAR, 0, false},
	/* 0xc9 */ {KIND_SCALAR, 0, false},
	/* 0xca */ {KIND_SCALAR, 4, true}, /* float */
	/* 0xcb */ {KIND_SCALAR, 8, true},
	/* 0xcc */ {KIND_SCALAR, 1, true}, /* unsigned */
	/* 0xcd */ {KIND_SCALAR, 2, true},
	/* 0xce */ {KIND_SCALAR, 4, true},
	/* 0xcf */ {KIND_SCALAR, 8, true},
	/* 0xd0 */ {KIND_SCALAR, 1, true}, /* signed */
	/* 0xd1 */ {KIND_SCALAR, 2, true},
	/* 0xd2 */ {KIND_SCALAR, 4, true},
	/* 0xd3 */ {KIND_SCALAR, 8, true},
	/* 0xd4 */ {KIND_SCALAR, 0, false}, /* fixed ext */
	/* 0xd5 */ {KIND_SCALAR, 0, false},
	/* 0xd6 */ {KIND_SCALAR, 0, false},
	/* 0xd7 */ {KIND_SCALAR, 0, false},
	/* 0xd8 */ {KIND_SCALAR, 0, false},
	/* 0xd9 */ {KIND_STR, 1, true},
	/* 0xda */ {KIND_STR, 2, true},
	/* 0xdb */ {KIND_STR, 4, true},
	/* 0xdc */ {KIND_ARRAY, 2, true},
	/* 0xdd */ {KIND_ARRAY, 4, true},
	/* 0xde */ {KIND_MAP, 2, true},
	/* 0xdf */ {KIND_MAP, 4, true},
};

/* Reads the next item up to its payload; a scalar, which has no count, whole. */
static int read_item(struct reader *reader, struct item *ret_item)
{
	const struct lead *lead;
	uint8_t first;

	if (remaining(reader) == 0)
		return -EBADMSG;
	first = reader->bytes[reader->at++];

	if (first < 0x80 || first >= 0xe0) {
		*ret_item = (struct item){KIND_SCALAR, 0};
		return 0;
	}
	if (first < 0xc0) {
		if (first < 0x90)
			*ret_item = (struct item){KIND_MAP, first & 0x0f};
		else if (first < 0xa0)
			*ret_item = (struct item){KIND_ARRAY, first & 0x0f};
		else
			*ret_item = (struct item){KIND_STR, first & 0x1f};
		return 0;
	}

	lead = &leads[first - 0xc0];
	if (!lead->allowed)
		return -EBADMSG;
	*ret_item = (struct item){lead->kind, 0};
	if (lead->kind != KIND_SCALAR)
		return read_count(reader, lead->width, &ret_item->count);
	if (remaining(reader) < lead->width)
		return -EBADMSG;
	reader->at += lead->width;
	return 0;
}

/* Passes over the payload of a string. */
static int read_payload(struct reader *reader, uint32_t size)
{
	if (size > remaining(reader))
		return -EBADMSG;
	reader->at += size;
	return 0;
}

static int read_key(struct reader *reader)
{
	struct item item;
	int r;

	r = read_item(reader, &item);
	if (r < 0)
		return r;
	if (item.kind != KIND_STR || item.count > MESSAGE_DATA_KEY_BYTES_MAX)
		return -EBADMSG;
	return read_payload(reader, item.count);
}

/* Passes over one value whose structure was checked before. */
static void skip(struct reader *reader)
{
	for (uint64_t left = 1; left > 0; left--) {
		struct item item;

		if (read_item(reader, &item) < 0)
			return;
		if (item.kind == KIND_STR || item.kind == KIND_BIN)
			reader->at += item.count;
		else if (item.kind == KIND_ARRAY)
			left += item.count;
		else if (item.kind == KIND_MAP)
			left += (uint64_t)item.count * 2;
	}
}

/* Orders two checked keys, given by where they start; 0 when they are equal. */
static int compare_keys(const struct reader *reader, uint32_t left, uint32_t right)
{
	struct reader a = {reader->bytes, reader->size, left};
	struct reader b = {reader->bytes, reader->size, right};
	struct item left_item, right_item;

	if (read_item(&a, &left_item) < 0 || read_item(&b, &right_item) < 0)
		return 0;
	if (left_item.count != right_item.count)
		return left_item.count < right_item.count ? -1 : 1;
	return memcmp(a.bytes + a.at, b.bytes + b.at, left_item.count);
}

static void sift_down(const struct reader *reader, uint32_t *keys, size_t root, size_t count)
{
	for (;;) {
		size_t child = 2 * root + 1;
		uint32_t moved;

		if (child >= count)
			return;
		if (child + 1 < count && compare_keys(reader, keys[child], keys[child + 1]) < 0)
			child++;
		if (compare_keys(reader, keys[root], keys[child]) >= 0)
			return;
		moved = keys[root];
		keys[root] = keys[child];
		keys[child] = moved;
		root = child;
	}
}

/* Heap sort: qsort may allocate, and its worst case is not stated. */
static void sort_keys(const struct reader *reader, uint32_t *keys, size_t count)
{
	for (size_t i = count / 2; i > 0; i--)
		sift_down(reader, keys, i - 1, count);
	for (size_t end = count; end > 1; end--) {
		uint32_t greatest = keys[0];

		keys[0] = keys[end - 1];
		keys[end - 1] = greatest;
		sift_down(reader, keys, 0, end - 1);
	}
}

/* The entries of a map, which start at reader->at, are checked. */
static int check_keys_differ(struct reader reader, uint32_t count)
{
	uint32_t keys[MESSAGE_MAP_KEYS_MAX];

	for (uint32_t i = 0; i < count; i++) {
		keys[i] = (uint32_t)reader.at;
		skip(&reader);
		skip(&reader);
	}
	sort_keys(&reader, keys, count);
	for (uint32_t i = 1; i < count; i++)
		if (compare_keys(&reader, keys[i - 1], keys[i]) == 0)
			return -EBADMSG;
	return 0;
}

static int check_value(struct reader *reader, unsigned int depth);

static int check_array(struct reader *reader, uint32_t count, unsigned int depth)
{
	/* The smallest element is one byte. */
	if (count > MESSAGE_ELEMENTS_MAX || count > remaining(reader))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		int r = check_value(reader, depth);

		if (r < 0)
			return r;
	}
	return 0;
}

static int check_map(struct reader *reader, uint32_t count, unsigned int depth)
{
	struct reader entries = *reader;

	if (count > MESSAGE_MAP_KEYS_MAX || count > remaining(reader) / 2)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		int r = read_key(reader);

		if (r >= 0)
			r = check_value(reader, depth);
		if (r < 0)
			return r;
	}
	return count > 1 ? check_keys_differ(entries, count) : 0;
}

/* depth: how many maps and lists hold this value. */
static int check_value(struct reader *reader, unsigned int depth)
{
	struct item item;
	int r;

	r = read_item(reader, &item);
	if (r < 0)
		return r;
	if (item.kind == KIND_SCALAR)
		return 0;
	if (item.kind == KIND_STR || item.kind == KIND_BIN)
		return read_payload(reader, item.count);
	if (depth >= MESSAGE_DEPTH_MAX)
		return -EBADMSG;
	if (item.kind == KIND_ARRAY)
		return check_array(reader, item.count, depth + 1);
	return check_map(reader, item.count, depth + 1);
}

int message_check(const void *bytes, size_t size)
{
	struct reader reader = {bytes, size, 0};
	struct reader peek = reader;
	struct item item;
	int r;

	/* Also keeps every offset within 32 bits. */
	if (size > FRAME_BYTES_MAX)
		return -EBADMSG;
	r = read_item(&peek, &item);
	if (r < 0)
		return r;
	if (item.kind != KIND_MAP)
		return -EBADMSG;
	r = check_value(&reader, 0);
	if (r < 0)
		return r;
	return remaining(&reader) == 0 ? 0 : -EBADMSG;
}
