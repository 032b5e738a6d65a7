/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/loop.h"

/*
 * Connecting to whichever of some addresses answers first (RFC 8305): they are tried in turns of the
 * two families, the next one a quarter of a second after the last or as soon as one has failed, and
 * the others are given up once one is connected. It has no clock of its own: its owner calls
 * race_tick when race_next says.
 */
#define RACE_ADDRESSES_MAX 8
#define RACE_OPEN_MAX 4 /* at once */
#define RACE_STAGGER_NANOSECONDS 250000000

struct race;

struct race_attempt {
	struct source source;
	struct race *race;
	struct sockaddr_storage address;
	int fd;
	int error; /* why it failed */
};

struct race {
	struct loop *loop;
	size_t count;
	size_t begun;
	size_t open;
	int64_t next_at; /* monotonic, nanoseconds */
	struct race_attempt attempts[RACE_ADDRESSES_MAX];
	/*
	 * A connected socket, non-blocking, which is then the caller's; or -errno of the last one that
	 * failed. The race is over, and may be freed here. Until race_keep it is reset when closed, as
	 * those are that lost: who closes first keeps a port of the host for a minute otherwise, for
	 * a connection on which nothing was sent.
	 */
	void (*done)(struct race *race, int fd);
};

/* The first of them, in turns of families, all with this port. At least one. */
void race_init(struct race *race, struct loop *loop, const struct sockaddr_storage *addresses,
	       size_t count, uint16_t port);
/* Begins the next one, if it is time: the first at once. False: done was called. */
bool race_tick(struct race *race);
/* When to call race_tick; INT64_MAX: not any more. */
int64_t race_next(const struct race *race);
void race_done(struct race *race);
/* Something will be sent on it: from now on it ends as connections do. */
void race_keep(int fd);

/* What was tried and what came of it, for people: "192.0.2.1 (Connection refused), ...". */
void race_text(const struct race *race, char *buffer, size_t size);

/* An address without its port. */
void race_address_text(const struct sockaddr_storage *address, char *buffer, size_t size);
/*
 * What both legs of a tunnel have: bytes go at once, a peer that is gone is noticed, and an urgent byte is
 * one of the others: -errno when that cannot be.
 */
int race_socket_options(int fd);
