/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"

/* The arena's first chunk: most messages are small. */
#define ZONE_CHUNK_BYTES 2048

int message_parse(struct message **ret_message, const void *bytes, size_t size)
{
	struct message *message;
	size_t offset = 0;
	int r;

	r = message_check(bytes, size);
	if (r < 0)
		return r;

	message = calloc(1, sizeof(*message));
	if (!message)
		return -ENOMEM;
	if (!msgpack_zone_init(&message->zone, ZONE_CHUNK_BYTES)) {
		free(message);
		return -ENOMEM;
	}
	message->bytes = malloc(size);
	if (!message->bytes) {
		message_free(message);
		return -ENOMEM;
	}
	memcpy(message->bytes, bytes, size);

	/* What message_check passed is well formed, so that anything but success is memory. */
	r = msgpack_unpack((const char *)message->bytes, size, &offset, &message->zone,
			   &message->root);
	if (r != MSGPACK_UNPACK_SUCCESS) {
		message_free(message);
		return r == MSGPACK_UNPACK_PARSE_ERROR ? -EBADMSG : -ENOMEM;
	}

	*ret_message = message;
	return 0;
}

struct message *message_free(struct message *message)
{
	if (!message)
		return NULL;
	msgpack_zone_destroy(&message->zone);
	free(message->bytes);
	free(message);
	return NULL;
}

const msgpack_object *message_root(const struct message *message)
{
	return &message->root;
}
