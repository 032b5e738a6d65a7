/* SPDX-License-Identifier: MIT */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/message.h"

/*
 * What a Trial connected to, and what became of it: one entry for each host, port and verdict, of
 * the first thousand; what came after these is summed. Names are at most 253 bytes long, so that the
 * whole never takes more than half a megabyte.
 *
 * A Trial can ask for as many names as it likes. So what was refused on its request alone has half of them
 * at most, and all that was not allowed in the end three quarters: whatever was looked up or connected to
 * finds room behind any number of refusals, and what was spoken to behind any number of failures.
 */
#define EGRESS_ENTRIES_MAX 1000
#define EGRESS_REFUSED_MAX (EGRESS_ENTRIES_MAX / 2)
#define EGRESS_NOT_ALLOWED_MAX (EGRESS_ENTRIES_MAX * 3 / 4)
#define EGRESS_ADDRESSES_MAX 4

struct egress_address {
	sa_family_t family; /* AF_INET, AF_INET6 */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	};
};

struct egress_entry {
	char *host; /* as allow_host has it; "" for what was not understood */
	uint16_t port;
	enum verdict verdict;
	int64_t first_at; /* microseconds UTC */
	uint64_t count;
	uint64_t sent_bytes; /* from the Trial */
	uint64_t received_bytes;
	struct egress_address addresses[EGRESS_ADDRESSES_MAX]; /* the first ones that were used */
	size_t address_count;
	uint32_t hash;
};

struct egress {
	struct egress_entry *entries; /* in the order of first_at */
	size_t count;
	size_t refused_count;	  /* of them */
	size_t not_allowed_count; /* of them, with the refused */
	size_t capacity;
	/* Of host, port and verdict beyond the thousand, or beyond what their kind may have of it. */
	uint64_t more_count;
	uint64_t more_sent_bytes;
	uint64_t more_received_bytes;
	/* Verdicts that were not told one by one (egress_event), since there were too many at once. */
	uint64_t untold;
};

/* What is told while it happens. Everything is borrowed. */
struct egress_event {
	bool opened;	 /* it was decided; else a tunnel that was opened has ended */
	uint64_t tunnel; /* numbers both */
	int64_t at;	 /* microseconds UTC */
	const char *host;
	uint16_t port;
	enum verdict verdict;
	const char *detail; /* or NULL */
	/* Decided: those that were used or refused, in the order of trying. */
	const struct sockaddr_storage *addresses;
	size_t address_count;
	/* Ended. */
	uint64_t sent_bytes;
	uint64_t received_bytes;
};

#define EGRESS_INIT ((struct egress){0})
#define EGRESS_MORE SIZE_MAX

/* One more of them. Its entry's number; EGRESS_MORE: it is summed with others. */
size_t egress_count(struct egress *egress, const struct egress_event *event);
/* Adds to an entry's bytes. */
void egress_add_bytes(struct egress *egress, size_t entry, uint64_t sent, uint64_t received);
void egress_done(struct egress *egress);

/* An address as inet_ntop spells it. */
void egress_address_text(const struct egress_address *address, char text[INET6_ADDRSTRLEN]);
