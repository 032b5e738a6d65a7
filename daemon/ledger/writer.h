/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

#include "store.h"

/* One call, copied: it and all that it points to are one allocation. */
enum work_type {
	WORK_INSERT,
	WORK_CHANGE,
	WORK_GET,
	WORK_LIST,
	WORK_EVENTS,
	WORK_NEWEST_EVENT,
	WORK_SET,
	WORK_LIST_ENDED,
	WORK_PRUNE,
	WORK_LIST_PRUNED,
	WORK_PRUNED,
	WORK_PRUNE_EVENTS,
	WORK_COUNT_ENDED,
	WORK_SINCE_END,
	WORK_COUNT_NAMED,
	WORK_NAMING
};

struct ledger_work {
	struct ledger_work *next;
	struct ledger_call *call; /* only the loop looks into it */
	enum work_type type;
	uint64_t id;
	uint64_t after;
	unsigned int from;
	union {
		struct ledger_new trial;
		struct ledger_change change;
		struct ledger_filter filter;
		struct pair setting;
		struct blob named;
		struct {
			ledger_wanted wanted;
			const void *context;
		} since;
		struct {
			const uint64_t *items;
			size_t count;
		} ids;
	};

	int result;
	struct ledger_row *row;
	struct ledger_row **rows;
	struct ledger_event *events;
	struct ledger_ended *ended;
	size_t count;
	uint64_t number;
	uint64_t at;
	uint64_t newest;
};

/* With the answer, as far as it is still there. */
struct ledger_work *ledger_work_free(struct ledger_work *work);

struct work_queue {
	struct ledger_work *first;
	struct ledger_work **last;
};

void work_queue_init(struct work_queue *queue);
void work_queue_push(struct work_queue *queue, struct ledger_work *work);
/* Moves all of from to the end of to. */
void work_queue_move(struct work_queue *to, struct work_queue *from);

/* The thread and what it shares with the loop. */
struct writer {
	Store *store;	      /* the thread's, but while held */
	uv_async_t *answered; /* sent when there are answers, or the thread is over */
	uv_thread_t thread;
	uv_mutex_t mutex; /* guards all below */
	uv_cond_t wake;
	struct work_queue waiting;
	struct work_queue answers;
	bool urgent;	  /* something that waits is not patient */
	uint64_t patient; /* until when the rest is, uv_hrtime; 0: nothing waits */
	bool busy;	  /* between taking work and answering it */
	bool held;
	bool stopping;
	bool stopped;	     /* store is gone; the thread can be joined */
	atomic_bool damaged; /* the file: nothing is written any more */
};

/* Takes the store. */
int writer_start(struct writer *writer, Store *store, uv_async_t *answered);
void writer_submit(struct writer *writer, struct ledger_work *work);
/* Moves what has been answered to the end of ret_answers; returns whether the thread is over. */
bool writer_collect(struct writer *writer, struct work_queue *ret_answers);
/* Lends the store to the loop, for which no work may be waiting: -EBUSY. */
int writer_hold(struct writer *writer);
void writer_release(struct writer *writer);
/* The thread ends when all is answered; after writer_collect said so, join. */
void writer_stop(struct writer *writer);
void writer_join(struct writer *writer);
