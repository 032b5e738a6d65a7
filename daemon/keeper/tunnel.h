/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/*
 * Bytes between two connected TCP sockets, until both sides have ended: every byte that one side sent
 * and the other can still take arrives, an end is carried as an end (half-close), and a reset as a
 * reset, once what was sent before it has arrived.
 */
#define TUNNEL_BUFFER_BYTES ((size_t)512 * 1024)
#define TUNNEL_STASHED_MAX (2 * TUNNEL_BUFFER_BYTES)
/* While it begins, what comes next is waited for awake: once for each of its first steps. */
#define TUNNEL_AWAKE_NANOSECONDS 100000

struct tunnel;

/* What all tunnels have in common. */
struct tunnel_shared {
	char *buffer;	/* of TUNNEL_BUFFER_BYTES, for whoever has its turn */
	uint64_t bytes; /* carried so far, both ways */
	size_t stashed; /* bytes, TUNNEL_STASHED_MAX at most */
};

struct tunnel_end {
	struct source source;
	int fd;
	uint32_t events; /* waited for, while it is in the loop */
	bool ended;	 /* its last byte was read */
	bool shut;	 /* and it was told that the other's was */
	bool blocked;	 /* takes no more for now */
	bool lost;	 /* takes no more at all */
	bool hung;	 /* the kernel said that it is over, both ways */
	uint64_t bytes;	 /* of it, that the other took */
	char *stash;	 /* what it did not take yet, though it was read: while blocked alone */
	size_t stash_size;
	size_t stash_at;
};

struct tunnel {
	struct loop *loop;
	struct tunnel_shared *shared;
	struct tunnel_end client;
	struct tunnel_end upstream;
	struct tunnel_end *draining; /* what was sent to it is awaited, and then it is reset */
	int queued;		     /* in bytes, when it was last looked at */
	int64_t active_at;	     /* monotonic, nanoseconds: when bytes last went */
	/* Wants tunnel_drain to be called after TUNNEL_DRAIN_NANOSECONDS. */
	void (*later)(struct tunnel *tunnel);
	/* Both sides are closed. It may be freed here. */
	void (*over)(struct tunnel *tunnel);
};

#define TUNNEL_END_INIT ((struct tunnel_end){.source = SOURCE_INIT, .fd = -1})
#define TUNNEL_INIT ((struct tunnel){.client = TUNNEL_END_INIT, .upstream = TUNNEL_END_INIT})

/*
 * Begins with the first `peeked` bytes that the client sent, which are in the buffer and still in its
 * socket: what was looked at is what goes. loop, shared, the callbacks and both ends' fd are set; the
 * tunnel closes them. May call over.
 */
void tunnel_start(struct tunnel *tunnel, size_t peeked);
/* Looks whether what was sent has arrived. Calls later or over. */
void tunnel_drain(struct tunnel *tunnel);
#define TUNNEL_DRAIN_NANOSECONDS 20000000
/* Closes both ends, without over. */
void tunnel_done(struct tunnel *tunnel);

/*
 * Waits for these events of an end, with the callback that its source has. An end that is over both
 * ways would be told again and again: it leaves the loop while nothing is waited for.
 */
void tunnel_watch(struct tunnel *tunnel, struct tunnel_end *end, uint32_t events);
/* Takes bytes that were looked at out of a socket. */
int tunnel_consume(int fd, size_t size);
