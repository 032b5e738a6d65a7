/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

#include "base/fault.h"
#include "plan/bar.h"

/*
 * Bars as they are kept: STATE/bars/NAME.bar has the canonical form with its digest; STATE/bars/NAME.used
 * is there once a launch has named it, and says which Bar that was and when. Each comes under its name
 * with all of its bytes, by a rename, and is durable once the call is over. A Bar that was used is never
 * replaced by one that asks for something else; nor is one of the older form, of which nobody wrote down
 * whether it was used.
 *
 * By descriptor, no link followed, on any thread: one lock is held around a change.
 */
#define BAR_STORE_BARS_MAX 1000
#define BAR_STORE_BYTES_MAX (640u << 10) /* of a file, standard and all */

struct bar_store {
	int fd; /* STATE/bars */
	pthread_mutex_t lock;
};

#define BAR_STORE_INIT                                                                             \
	{                                                                                          \
		.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER                                        \
	}

/* Makes the folder where it is missing, and clears what a crash left half written. */
int bar_store_open(struct bar_store *store, int state_fd, const char *state_folder,
		   struct fault *ret_fault);
void bar_store_close(struct bar_store *store);

/* One that is kept; bar_kept_done. */
struct bar_kept {
	struct bar_held held;
	char id[BAR_ID_BYTES + 1];
	uint64_t created_at; /* microseconds UTC */
	bool used;	     /* also of the older form, of which it is not known */
	uint64_t used_at;    /* 0: not known */
};

#define BAR_KEPT_INIT ((struct bar_kept){0})

void bar_kept_done(struct bar_kept *kept);

/* -ENOENT; -EBADMSG: it is damaged, or not the one that was used. */
int bar_store_read(const struct bar_store *store, const char *name, struct bar_kept *ret_kept);

/* Their names, in order; owned. -E2BIG beyond BAR_STORE_BARS_MAX. */
int bar_store_list(const struct bar_store *store, struct text_list *ret_names);

enum bar_put {
	BAR_PUT_NEW,	 /* it is kept now */
	BAR_PUT_EXISTED, /* one that asks for the same is, and stays */
};

/*
 * Keeps the Bar of these bytes (bar_encode), unless one of its name asks for the same. only_existing: it
 * is the one that was there a moment ago, to be compared: -ESTALE where it would have to be kept. -EPERM: another
 * one of this name was used, or may have been; -EUCLEAN: likewise, and what is kept of that is damaged or
 * gone; -E2BIG: there are BAR_STORE_BARS_MAX.
 */
int bar_store_put(struct bar_store *store, const void *bytes, size_t size, uint64_t now,
		  bool only_existing, enum bar_put *ret_put);

/*
 * A launch is about to name it. Marked before that is answered: a crash in between leaves a Bar that
 * counts as used, by nobody, which costs a new name. -ENOENT, -EBADMSG; -ESTALE: it is not this one.
 */
int bar_store_use(struct bar_store *store, const char *name, const char *id, uint64_t now);
