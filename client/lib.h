/* SPDX-License-Identifier: MIT */
#pragma once

/* What the library's own files share. Nothing of it is exported. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "trials.h"

/* What one connection keeps for callers that wait for something else. */
#define QUEUE_BYTES_MAX (16u * 1024u * 1024u)

/* A terminated copy of a str of the message, made on demand and freed with it. */
struct text_copy {
	struct text_copy *next;
	const msgpack_object *object;
	char text[];
};

struct trials_message {
	struct message *message; /* owns the bytes that body, event and error point into */
	const msgpack_object *body;
	enum envelope_kind kind;
	uint64_t number;
	const char *event;
	bool failed;
	struct error_body error;
	size_t size;
	void *map; /* of arguments: the encoded map, as it is sent */
	size_t map_size;
	struct text_copy *texts;
	struct trials_message *next;
};

struct trials_connection {
	int fd;
	int broken; /* the -errno that ended it */
	struct frame_reader reader;
	uint64_t last_number;
	struct trials_message *queue;
	struct trials_message **queue_end;
	size_t queue_bytes;
	unsigned int version;
	char program[65];
	char *path;
};

/* Monotonic nanoseconds at which the time is over; UINT64_MAX for a negative time. */
uint64_t deadline_after(double seconds);
uint64_t monotonic_now(void);
/* For poll(): milliseconds left, rounded up; -1 for no limit. */
int deadline_milliseconds(uint64_t deadline);

/*
 * Fills *ret_error (may be NULL) and returns number. The word belongs to the number. Texts that
 * are too long are cut.
 */
int error_set(struct trials_error *ret_error, int number, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* For a request that no frame holds. Returns -EMSGSIZE. */
int error_too_long(struct trials_error *ret_error);

/* From one frame's body. */
int message_from_frame(struct trials_message **ret_message, const void *bytes, size_t size);

/* Arguments: from one encoded map, and from a structure of that type. */
int message_from_map(struct trials_message **ret_message, const void *bytes, size_t size);
int message_from_structure(struct trials_message **ret_message, const struct message_type *type,
			   const void *structure);
