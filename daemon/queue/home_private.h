/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/home.h"

/* Shared by home.c and home_view.c only. */

RB_HEAD(home_waiters, home_waiter);
RB_HEAD(homes_by_inode, Home);

struct Home {
	RB_ENTRY(Home) by_inode;
	Homes *homes;
	struct home_folder folder;
	unsigned int references;
	unsigned int users; /* more than one only where a restart found it so */
	uint64_t user;	    /* the id of the last that took it, for people */
	int lock_fd;	    /* -1: not locked by us */
	struct home_waiters waiting;
	size_t waiting_count;
	struct home_waiter *called;
	uv_timer_t timer;
	uint64_t pause; /* milliseconds until the next look */
	unsigned int looks;
	struct home_holder holder; /* as of the last look */
	bool held_by_other;
	bool ending;
	int lock_error;	  /* of the last try, when it was another than that it is held */
	char *hold;	  /* the reason, or NULL */
	char *unfinished; /* why it could not be emptied, or NULL */
	struct home_where *retry;
	struct wipe_job *job;
	struct home_deletion *deletion;
	struct text_list leftovers; /* for the next deletion */
	int deletion_result;
	char *left; /* what that means, for people */
};

struct Homes {
	uv_loop_t *loop;
	int locks_fd;
	struct homes_by_inode by_inode;
	uv_async_t async; /* a deletion is over */
	int handles;
	bool closing;
	void (*closed)(void *context);
	void *context;
};

RB_PROTOTYPE(home_waiters, home_waiter, by_turn, home_compare_turn)
RB_PROTOTYPE(homes_by_inode, Home, by_inode, home_compare_inode)

static inline bool home_is_ours(const Home *home)
{
	return home->users > 0 || home->job;
}

static inline bool home_is_held(const Home *home)
{
	return home->hold || home->unfinished;
}
