/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "proto/message.h"

/*
 * A frame's body: structure, envelope, and what it holds as every message type there is. The input
 * is a whole frame, so that the golden vectors are its corpus; the header is passed over. Whatever
 * decodes must encode, and that must decode to the same bytes again.
 */

#define TYPE_POINTER_(c_name, FIELDS) &c_name##_type,
static const struct message_type *const types[] = {PROTOCOL_MESSAGES(TYPE_POINTER_)};

static void encode(msgpack_sbuffer *buffer, const struct message_type *type, const void *structure)
{
	msgpack_packer packer;

	msgpack_sbuffer_init(buffer);
	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	if (message_encode(&packer, type, structure) < 0)
		abort();
}

static void decode_again(const msgpack_sbuffer *first, const struct message_type *type,
			 void *structure)
{
	struct message *message;
	msgpack_sbuffer second;
	int r;

	r = message_parse(&message, first->data, first->size);
	/* What was written differently, and was the largest there may be, may no longer fit. */
	if (r == -EBADMSG && first->size > FRAME_BYTES_MAX)
		return;
	if (r < 0 || message_decode(message, message_root(message), type, UNKNOWN_KEYS_REFUSED,
				    structure, NULL) < 0)
		abort();
	encode(&second, type, structure);
	if (first->size != second.size || memcmp(first->data, second.data, first->size) != 0)
		abort();
	msgpack_sbuffer_destroy(&second);
	message_free(message);
}

static void decode(struct message *message, const msgpack_object *map,
		   const struct message_type *type, enum unknown_keys unknown)
{
	void *structure = malloc(type->size + 1);
	struct decode_error error = {{0}, {0}};
	msgpack_sbuffer buffer;

	if (!structure)
		abort();
	if (message_decode(message, map, type, unknown, structure, &error) < 0) {
		/* A refusal says where and why, as text that can be sent. */
		if (error.field[0] == '\0' || error.reason[0] == '\0' ||
		    !utf8_valid(error.field, strlen(error.field)) ||
		    !utf8_valid(error.reason, strlen(error.reason)))
			abort();
	} else {
		encode(&buffer, type, structure);
		decode_again(&buffer, type, structure);
		msgpack_sbuffer_destroy(&buffer);
	}
	free(structure);
}

static void decode_all(struct message *message, const msgpack_object *map)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		decode(message, map, types[i], UNKNOWN_KEYS_IGNORED);
		decode(message, map, types[i], UNKNOWN_KEYS_REFUSED);
	}
}

int fuzz_message(const uint8_t *data, size_t size)
{
	struct envelope envelope;
	struct decode_error error;
	struct message *message;

	if (size < FRAME_HEADER_BYTES)
		return 0;
	if (message_parse(&message, data + FRAME_HEADER_BYTES, size - FRAME_HEADER_BYTES) < 0)
		return 0;
	decode_all(message, message_root(message));
	if (envelope_decode(message, &envelope, &error) == 0 && envelope.body)
		decode_all(message, envelope.body);
	message_free(message);
	return 0;
}
