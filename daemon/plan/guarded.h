/* SPDX-License-Identifier: MIT */
#pragma once

#include "mounts.h"
#include "place.h"
#include "plan/plan.h"
#include "stamp.h"

/* Places that a writable bind must not touch, as policy.c wants them: rules 2, 4 and 5. */
enum guard_reach {
	GUARD_WRITABLE_ABOVE,  /* a writable source that is or contains it */
	GUARD_WRITABLE_AROUND, /* or lies in it */
	GUARD_ANY_MODE_AROUND, /* in any mode */
};

struct guard {
	const char *what;
	bool secret; /* it holds what logs in somewhere */
	enum guard_reach reach;
	struct place place; /* the deepest part that exists; not kept open */
	char *rest;	    /* what of it does not exist, or NULL */
	struct ancestry ancestry;
	struct mount_position position;
};

/*
 * All of them with the host's mounts, kept from one launch to the next. Nothing is kept open: a
 * descriptor would hold somebody's encrypted or remote folder in its place.
 */
struct guards {
	char *mounts_text; /* mountinfo, that the table is of */
	size_t mounts_size;
	struct mount_table mounts;
	struct guard *items;
	size_t count;
	struct stamps stamps;
	bool valid;
};

/*
 * Makes them true of now: looks again at everything that could have changed them, and learns them
 * anew when something has. 0 or -errno.
 */
int guards_refresh(struct guards *guards, const struct plan_host *host);
void guards_done(struct guards *guards);
