/* SPDX-License-Identifier: MIT */

/*
 * A prune, step by step, none of which blocks the loop:
 *
 *   1 select   pages of ended Trials from the ledger, newest first; by labels, number and age
 *   2 measure  their folders, on a thread of the pool; by bytes
 *   3 for each batch, the oldest first:
 *       rows     the ledger deletes them and notes that their folders are to go: durable
 *       folders  on a thread of the pool, by descriptor
 *       forget   the note
 *   4 changes  of Trials that are no more are deleted from the ledger, part by part
 *
 * A crash between the steps of a batch leaves the note, and the next start goes on from there. One
 * at a time; a daemon that is told to stop ends it after the batch.
 *
 * A keeper may still be on its way out when its Trial goes: it has written all it had to write, and
 * holds nothing but the folder's descriptor. What is still in memory is left alone.
 */
#include "queue/prune.h"

#include <stdio.h>
#include <string.h>

#include "base/disk.h"
#include "base/now.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "queue/queue.h"
#include "queue/reserve.h"

#define BATCH 256
#define BATCH_OF_RESERVE 32 /* what the ledger writes for these fits into the reserve */
#define NAME_BYTES 24

struct candidate {
	uint64_t id;
	uint64_t bytes;
	bool goes;
};

struct prune {
	uv_work_t work;
	struct ledger_call call;
	Queue *queue;
	queue_prune_done done; /* NULL: of an earlier daemon's */
	void *context;
	struct ledger_filter filter; /* its labels are ours */
	bool by_keep, by_age, by_bytes, dry_run;
	uint64_t keep;
	uint64_t ended_before; /* microseconds UTC */
	uint64_t total;
	uint64_t met; /* Trials so far */
	struct candidate *candidates;
	size_t count, room;
	struct candidate batch[BATCH]; /* goes: its folder is gone */
	size_t batch_count;
	size_t batch_most;
	size_t count_before; /* of the batch */
	uint64_t events_after;
	struct queue_pruned pruned;
};

static void prune_batch(struct prune *prune);

static void prune_free(struct prune *prune)
{
	for (size_t i = 0; i < prune->filter.labels.count; i++) {
		free((char *)prune->filter.labels.items[i].name);
		free((char *)prune->filter.labels.items[i].value);
	}
	free(prune->filter.labels.items);
	free(prune->candidates);
	free(prune);
}

static void prune_finish(struct prune *prune, int result)
{
	Queue *queue = prune->queue;

	prune->pruned.result = result;
	queue->prune = NULL;
	reserve_keep(queue->trials_fd);
	if (prune->done)
		prune->done(prune->context, &prune->pruned);
	else if (prune->pruned.count)
		log_notice("removed %llu folders of Trials that were pruned before",
			   (unsigned long long)(prune->pruned.count - prune->pruned.left));
	if (prune->done && prune->pruned.count && !prune->dry_run)
		log_notice("pruned %llu Trials: %llu bytes",
			   (unsigned long long)prune->pruned.count,
			   (unsigned long long)prune->pruned.bytes);
	prune_free(prune);
	queue_check_stopped(queue);
}

/* Whether the call failed, or it is time to go: then it is over. */
static bool prune_over(struct prune *prune)
{
	int r = prune->call.result;

	if (r == 0 && prune->queue->stopping)
		r = -ESHUTDOWN;
	if (r < 0)
		prune_finish(prune, r);
	return r < 0;
}

static int prune_work(struct prune *prune, uv_work_cb work, uv_after_work_cb after)
{
	int r = uv_queue_work(prune->queue->loop, &prune->work, work, after);

	if (r < 0)
		prune_finish(prune, r);
	return r;
}

/* 4: changes. */

static void on_events_pruned(struct ledger_call *call)
{
	struct prune *prune = container_of(call, struct prune, call);

	if (prune_over(prune))
		return;
	if (call->number == 0) {
		prune_finish(prune, 0);
		return;
	}
	prune->events_after = call->number;
	ledger_prune_events(prune->queue->ledger, &prune->call, prune->events_after);
}

static void prune_changes(struct prune *prune)
{
	prune->call.done = on_events_pruned;
	ledger_prune_events(prune->queue->ledger, &prune->call, 0);
}

/* 3: a batch. */

static void on_forgotten(struct ledger_call *call)
{
	struct prune *prune = container_of(call, struct prune, call);

	if (!prune_over(prune))
		prune_batch(prune);
}

static void on_removed(uv_work_t *work, int status)
{
	struct prune *prune = container_of(work, struct prune, work);
	uint64_t ids[BATCH];
	size_t count = 0;

	(void)status;
	FAULT_POINT(prune_removed);
	for (size_t i = 0; i < prune->batch_count; i++) {
		prune->pruned.count++;
		if (prune->batch[i].goes) {
			ids[count++] = prune->batch[i].id;
			prune->pruned.bytes += prune->batch[i].bytes;
		} else {
			prune->pruned.left++;
		}
	}
	prune->call.done = on_forgotten;
	ledger_pruned(prune->queue->ledger, &prune->call, ids, count);
}

static void remove_work(uv_work_t *work)
{
	struct prune *prune = container_of(work, struct prune, work);
	char name[NAME_BYTES];

	for (size_t i = 0; i < prune->batch_count; i++) {
		struct candidate *gone = &prune->batch[i];
		int r;

		snprintf(name, sizeof(name), "%llu", (unsigned long long)gone->id);
		r = disk_remove(prune->queue->trials_fd, name);
		gone->goes = r == 0;
		if (r < 0)
			log_write(LOG_LEVEL_WARNING, NULL, gone->id,
				  "it is pruned, and its folder stays: %s", strerror(-r));
	}
	/* The note is forgotten next: what it stands for must be as durable. */
	if (fsync(prune->queue->trials_fd) < 0)
		for (size_t i = 0; i < prune->batch_count; i++)
			prune->batch[i].goes = false;
}

/* The bytes of a batch's Trials were measured, in the same order, maybe of more than went. */
static void on_rows_gone(struct ledger_call *call)
{
	struct prune *prune = container_of(call, struct prune, call);
	size_t at = 0;

	/* A full disk: what is kept for this, and then what this gives back. */
	if (call->result == -ENOSPC && reserve_release(prune->queue->trials_fd)) {
		prune->batch_most = BATCH_OF_RESERVE;
		prune->count = prune->count_before;
		prune_batch(prune);
		return;
	}
	if (call->result < 0) {
		prune_finish(prune, call->result);
		return;
	}
	FAULT_POINT(prune_marked);
	for (size_t i = 0; i < call->count; i++) {
		while (prune->batch[at].id != call->ended[i].id)
			at++;
		prune->batch[i] = prune->batch[at++];
	}
	prune->batch_count = call->count;
	prune_work(prune, remove_work, on_removed);
}

/* Of an earlier daemon's: nothing was measured. */
static void on_found(struct ledger_call *call)
{
	struct prune *prune = container_of(call, struct prune, call);

	if (prune_over(prune))
		return;
	if (call->count == 0 || prune->pruned.left > 0) {
		prune_changes(prune);
		return;
	}
	for (size_t i = 0; i < call->count; i++)
		prune->batch[i] = (struct candidate){.id = call->ended[i].id};
	prune->batch_count = call->count;
	prune_work(prune, remove_work, on_removed);
}

/* The next one: from the end, where the oldest stand. */
static void prune_batch(struct prune *prune)
{
	uint64_t ids[BATCH];

	if (!prune->done) {
		prune->call.done = on_found;
		ledger_list_pruned(prune->queue->ledger, &prune->call, BATCH);
		return;
	}
	prune->batch_count = 0;
	prune->count_before = prune->count;
	while (prune->count > 0 && prune->batch_count < prune->batch_most) {
		const struct candidate *candidate = &prune->candidates[--prune->count];

		if (!candidate->goes)
			continue;
		ids[prune->batch_count] = candidate->id;
		prune->batch[prune->batch_count++] = *candidate;
	}
	if (prune->batch_count == 0) {
		prune_changes(prune);
		return;
	}
	prune->call.done = on_rows_gone;
	ledger_prune(prune->queue->ledger, &prune->call, ids, prune->batch_count);
}

/* 2: measure. */

uint64_t queue_disk_bytes(const Queue *queue, uint64_t id)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
	return disk_bytes(queue->trials_fd, name);
}

/* Newest first: what comes when the total is used up goes. */
static void measure_work(uv_work_t *work)
{
	struct prune *prune = container_of(work, struct prune, work);
	uint64_t sum = 0;

	for (size_t i = 0; i < prune->count; i++) {
		struct candidate *candidate = &prune->candidates[i];

		candidate->bytes = queue_disk_bytes(prune->queue, candidate->id);
		sum += candidate->bytes;
		if (prune->by_bytes && sum <= prune->total)
			candidate->goes = false;
	}
}

static void on_measured(uv_work_t *work, int status)
{
	struct prune *prune = container_of(work, struct prune, work);

	(void)status;
	prune->call.result = 0;
	if (prune_over(prune))
		return;
	if (!prune->dry_run) {
		prune_batch(prune);
		return;
	}
	for (size_t i = 0; i < prune->count; i++) {
		prune->pruned.count += prune->candidates[i].goes;
		prune->pruned.bytes += prune->candidates[i].goes ? prune->candidates[i].bytes : 0;
	}
	prune_finish(prune, 0);
}

/* 1: select. */

static int candidate_add(struct prune *prune, uint64_t id, bool goes)
{
	if (prune->count == prune->room) {
		size_t room = prune->room ? prune->room * 2 : 256;
		struct candidate *grown = reallocarray(prune->candidates, room,
						       sizeof(*prune->candidates));

		if (!grown)
			return -ENOMEM;
		prune->candidates = grown;
		prune->room = room;
	}
	prune->candidates[prune->count++] = (struct candidate){.id = id, .goes = goes};
	return 0;
}

static void on_selected(struct ledger_call *call)
{
	struct prune *prune = container_of(call, struct prune, call);
	int r = 0;

	if (prune_over(prune))
		return;
	for (size_t i = 0; i < call->count && r == 0; i++) {
		const struct ledger_ended *ended = &call->ended[i];
		bool goes = !(prune->by_keep && prune->met < prune->keep) &&
			    !(prune->by_age && ended->ended_at >= prune->ended_before) &&
			    !queue_find(prune->queue, ended->id);

		prune->met++;
		/* One that stays counts in the bytes all the same. */
		if (goes || prune->by_bytes)
			r = candidate_add(prune, ended->id, goes);
	}
	if (r < 0) {
		prune_finish(prune, r);
	} else if (call->number) {
		prune->filter.before = call->number;
		ledger_list_ended(prune->queue->ledger, &prune->call, &prune->filter);
	} else {
		prune_work(prune, measure_work, on_measured);
	}
}

static int copy_labels(struct prune *prune, const struct pair_list *labels)
{
	struct pair *items;

	if (labels->count == 0)
		return 0;
	items = calloc(labels->count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	prune->filter.labels = (struct pair_list){.count = labels->count, .items = items};
	for (size_t i = 0; i < labels->count; i++) {
		items[i].name = strdup(labels->items[i].name);
		items[i].value = strdup(labels->items[i].value);
		if (!items[i].name || !items[i].value)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t microseconds_ago(double seconds)
{
	uint64_t now = now_microseconds(), ago = (uint64_t)(seconds * 1e6);

	return ago < now ? now - ago : 0;
}

int queue_prune(Queue *queue, const struct prune_request *request, queue_prune_done done,
		void *context)
{
	struct prune *prune;

	if (!request->has.keep && !request->has.older_seconds && !request->has.total_bytes &&
	    request->labels.count == 0)
		return -EINVAL;
	if (queue->stopping)
		return -ESHUTDOWN;
	if (queue->prune)
		return -EBUSY;
	prune = calloc(1, sizeof(*prune));
	if (!prune)
		return -ENOMEM;
	if (copy_labels(prune, &request->labels) < 0) {
		prune_free(prune);
		return -ENOMEM;
	}
	prune->queue = queue;
	prune->batch_most = BATCH;
	prune->done = done;
	prune->context = context;
	prune->by_keep = request->has.keep;
	prune->keep = request->keep;
	prune->by_age = request->has.older_seconds;
	prune->ended_before = microseconds_ago(request->older_seconds);
	prune->by_bytes = request->has.total_bytes;
	prune->total = request->total_bytes;
	prune->dry_run = request->dry_run;
	queue->prune = prune;
	prune->call.done = on_selected;
	ledger_list_ended(queue->ledger, &prune->call, &prune->filter);
	return 0;
}

void queue_prune_resume(Queue *queue)
{
	struct prune *prune = calloc(1, sizeof(*prune));

	if (!prune)
		return;
	prune->queue = queue;
	queue->prune = prune;
	prune_batch(prune);
}
