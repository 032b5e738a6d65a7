/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/mem.h"
#include "proto/protocol.h"

/*
 * Descriptors that came with a client's bytes, the oldest first, until a frame takes them. Two
 * frames at most can be waiting: one that is not whole yet, and the next, which came with its end.
 */
#define DESCRIPTORS_MAX (2 * FRAME_DESCRIPTORS_MAX)

struct descriptors {
	int fds[DESCRIPTORS_MAX];
	size_t count;
};

/*
 * Receives bytes once, without waiting, and keeps what descriptors come with them, close-on-exec.
 * The number of bytes, 0 at the end, -EAGAIN, -errno. -EPROTO: more than fit came, or the kernel
 * could not give us all; then none is kept.
 */
ssize_t descriptors_receive(struct descriptors *descriptors, int socket, void *buffer, size_t size);

/* The oldest, now the caller's; -1 when there is none. */
int descriptors_take(struct descriptors *descriptors);

/* Closes all. */
void descriptors_done(struct descriptors *descriptors);
