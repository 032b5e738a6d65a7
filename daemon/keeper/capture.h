/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/loop.h"
#include "proto/message.h"
#include "record.h"

/*
 * One stream's capture: from the read end of a pipe to the files that record.h describes. The
 * pipe is drained whatever happens to the files; what cannot be stored is counted.
 */
struct capture {
	struct source source;
	struct loop *loop;
	int folder_fd; /* borrowed */
	enum stream stream;
	uint64_t head_bytes;	/* of the cap */
	uint64_t segment_bytes; /* of the cap */
	uint64_t bytes;		/* produced */
	uint64_t kept;		/* in the files that are there */
	uint64_t unstored;	/* could not be written */
	int error;		/* the first reason of those, -errno */
	int file;		/* appended to; -1: the next byte begins a segment */
	uint64_t file_offset;
	uint64_t file_size;
	size_t segments; /* ring of those that are there, oldest at `oldest` */
	size_t oldest;
	struct record_segment ring[RECORD_SEGMENTS_MAX];
};

/*
 * Creates the head file; it must not be there yet. Then capture_start watches the pipe's read end
 * (made non-blocking, taken over).
 */
int capture_init(struct capture *capture, int folder_fd, enum stream stream, uint64_t cap);
int capture_start(struct capture *capture, struct loop *loop, int *pipe_fd);
void capture_done(struct capture *capture);

/*
 * Takes what the pipe holds now, when nobody that matters can write any more, and closes it.
 * Bounded by that: somebody outside who was handed the pipe cannot hold up the end.
 */
void capture_drain(struct capture *capture);

/* What capture_start's callback does with bytes; exposed for tests. */
void capture_store(struct capture *capture, const char *bytes, size_t size);
