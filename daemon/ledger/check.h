/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <uv.h>

#include "damage.h"

struct sqlite3;

/*
 * The check of a ledger that was too large to be read before it is served: by a thread of its own,
 * over a connection of its own, at the lowest priority.
 */
struct check {
	uv_thread_t thread;
	uv_async_t *answered; /* sent when it is over */
	struct sqlite3 *database;
	atomic_bool stop;
	atomic_int result; /* 1 while it runs; then 0, -EUCLEAN with what, -errno: it could not */
	char what[DAMAGE_BYTES];
	bool started;
};

/* path is used during the call. */
int check_start(struct check *check, const char *path, uv_async_t *answered);
/* At once, whatever it is at; also when none was started. */
void check_stop(struct check *check);
