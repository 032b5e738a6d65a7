/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "allow.h"
#include "base/loop.h"

/*
 * getaddrinfo off the loop: at most eight look-ups at once, each on a thread that leaves when there
 * has been nothing to look up for a while; who asks for a name that is being looked up waits for the
 * same answer. Answers are kept for 30 seconds, failures for 5, of at most 64 names.
 *
 * What is asked for beyond that waits for as long as somebody waits for it: there are never more names
 * than callers and those 72. Exact names, of which there are as many as somebody wrote down, go before
 * those of a suffix, of which there are as many as somebody makes up; and those get six of the threads,
 * so that they cannot hold up the others, though nobody answers them.
 */
#define RESOLVE_THREADS_MAX 8
#define RESOLVE_SUFFIX_THREADS_MAX 6
#define RESOLVE_ADDRESSES_MAX 16
#define RESOLVE_NAMES_MAX 64
#define RESOLVE_KEEP_SECONDS 30
#define RESOLVE_KEEP_FAILURE_SECONDS 5

struct resolve_answer {
	int error;	  /* of getaddrinfo; 0: there is at least one address */
	int system_error; /* errno when error is EAI_SYSTEM */
	size_t count;	  /* the first ones, in getaddrinfo's order; without ports */
	struct sockaddr_storage addresses[RESOLVE_ADDRESSES_MAX];
};

struct resolve_name;

/* Embedded in who waits. */
struct resolve_wait {
	struct resolve_name *name; /* NULL: it waits for nothing */
	TAILQ_ENTRY(resolve_wait) entry;
	/* Called once, unless it was canceled. The answer is good for as long as the call. */
	void (*done)(struct resolve_wait *wait, const struct resolve_answer *answer);
};

#define RESOLVE_WAIT_INIT ((struct resolve_wait){0})

enum resolve_state {
	RESOLVE_KNOWN,	       /* answered, the oldest first */
	RESOLVE_HANDED,	       /* given to a thread */
	RESOLVE_WANTED,	       /* not yet, and exact */
	RESOLVE_WANTED_SUFFIX, /* not yet, and else */
	RESOLVE_STATES,
};

TAILQ_HEAD(resolve_names, resolve_name);

struct resolver {
	struct loop *loop;
	struct source source;
	int event_fd;
	struct resolve_pool *pool; /* NULL until the first look-up */
	struct resolve_names names[RESOLVE_STATES];
	size_t known;
	size_t handed;
	size_t handed_suffix; /* of them */
};

#define RESOLVER_INIT ((struct resolver){.source = SOURCE_INIT, .event_fd = -1})

/* Makes nothing yet. */
void resolver_init(struct resolver *resolver, struct loop *loop);

/*
 * Calls wait->done, at once when the answer is known. -errno when the look-up cannot be begun; done
 * is then not called. exact: see above.
 */
int resolve(struct resolver *resolver, const char *name, bool exact, struct resolve_wait *wait);
/* A name that nobody waits for any more is not looked up, unless a thread has begun. */
void resolve_cancel(struct resolve_wait *wait);

/*
 * Nobody may be waiting any more. Threads that look nothing up are ended; one that does is left
 * behind, since getaddrinfo cannot be called off, and touches nothing that others use: see resolve.c.
 */
void resolver_done(struct resolver *resolver);
