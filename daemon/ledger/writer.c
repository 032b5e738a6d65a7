/* SPDX-License-Identifier: MIT */
/*
 * The writer thread. It takes all that waits, runs it in one transaction, commits once, and only
 * then hands the answers back: the calls that arrive during one commit share the next. Nothing
 * spins; the thread sleeps on a condition until there is work, and the loop is woken once for each
 * transaction. One thing is timed: calls that are patient, and nothing else, wait a moment for the
 * next one.
 *
 * A transaction is bounded in calls, so that a burst neither delays its first answers until its
 * last call nor makes a write-ahead log without bound.
 *
 * No savepoints. A call that is refused (the row is in another state, the key was used, the id is
 * taken) has changed nothing when it learns so: store.c asks first and writes after, and its first
 * write is the only one that can meet a constraint. Anything else that goes wrong half-way undoes
 * the whole transaction. If it was the storage, each change in it gets the error; the reads, which
 * owe nothing to them, are run again by themselves. If it was something about one call (a damaged
 * row, want of memory), each is run again by itself, so that only that one fails.
 *
 * When SQLite finds the file itself damaged nothing is written to it any more: what it still says of
 * other Trials may be read, until the next start sets it aside.
 */
#include "writer.h"

#include "events.h"

#define TRANSACTION_CALLS_MAX 1024
/* A Trial of no more than this has its start and its end in one transaction. */
#define PATIENCE_NANOSECONDS 10000000u

void work_queue_init(struct work_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

void work_queue_push(struct work_queue *queue, struct ledger_work *work)
{
	work->next = NULL;
	*queue->last = work;
	queue->last = &work->next;
}

void work_queue_move(struct work_queue *to, struct work_queue *from)
{
	if (!from->first)
		return;
	*to->last = from->first;
	to->last = from->last;
	work_queue_init(from);
}

/* The first calls of queue, as many as one transaction takes, to the end of ret_batch. */
static void take_batch(struct work_queue *queue, struct work_queue *ret_batch)
{
	for (size_t i = 0; i < TRANSACTION_CALLS_MAX && queue->first; i++) {
		struct ledger_work *work = queue->first;

		queue->first = work->next;
		work_queue_push(ret_batch, work);
	}
	if (!queue->first)
		queue->last = &queue->first;
}

static bool work_writes(const struct ledger_work *work)
{
	switch (work->type) {
	case WORK_INSERT:
	case WORK_CHANGE:
	case WORK_SET:
	case WORK_PRUNE:
	case WORK_PRUNED:
	case WORK_PRUNE_EVENTS:
		return true;
	default:
		return false;
	}
}

static int run_work(Store *store, struct ledger_work *work)
{
	work->result = 0;
	switch (work->type) {
	case WORK_INSERT:
		return store_insert(store, &work->trial, &work->result, &work->row, &work->number,
				    &work->at);
	case WORK_CHANGE:
		return store_change(store, work->id, work->from, &work->change, &work->result,
				    &work->row, &work->number, &work->at);
	case WORK_GET:
		return store_get(store, work->id, &work->result, &work->row);
	case WORK_LIST:
		return store_list(store, &work->filter, &work->rows, &work->count, &work->number);
	case WORK_EVENTS:
		return store_events(store, work->after, work->id, &work->events, &work->count,
				    &work->number, &work->newest);
	case WORK_NEWEST_EVENT:
		return store_newest_event(store, &work->newest);
	case WORK_SET:
		return store_set(store, work->setting.name, work->setting.value);
	case WORK_LIST_ENDED:
		return store_list_ended(store, &work->filter, &work->ended, &work->count,
					&work->number);
	case WORK_PRUNE:
		return store_prune(store, work->ids.items, work->ids.count, &work->ended,
				   &work->count);
	case WORK_LIST_PRUNED:
		return store_list_pruned(store, work->ids.count, &work->ended, &work->count);
	case WORK_PRUNED:
		return store_pruned(store, work->ids.items, work->ids.count);
	case WORK_PRUNE_EVENTS:
		return store_prune_events(store, work->after, &work->number);
	case WORK_COUNT_ENDED:
		work->number = store_ended(store);
		return 0;
	case WORK_SINCE_END:
		return store_since_end(store, work->id, work->since.wanted, work->since.context,
				       &work->rows, &work->count);
	case WORK_COUNT_NAMED:
		return store_count_named(store, work->id, work->named, &work->number, &work->newest,
					 &work->at);
	case WORK_NAMING:
		return store_naming(store, work->id, work->named, &work->rows, &work->count);
	}
	return -EINVAL;
}

static void forget_answer(struct ledger_work *work)
{
	work->row = ledger_row_free(work->row);
	for (size_t i = 0; work->rows && i < work->count; i++)
		ledger_row_free(work->rows[i]);
	free(work->rows);
	work->rows = NULL;
	events_free(work->events, work->count);
	work->events = NULL;
	free(work->ended);
	work->ended = NULL;
	work->count = 0;
	work->number = work->at = work->newest = 0;
}

struct ledger_work *ledger_work_free(struct ledger_work *work)
{
	if (!work)
		return NULL;
	forget_answer(work);
	free(work);
	return NULL;
}

static int run_transaction(struct writer *writer, struct ledger_work *first, bool writes)
{
	Store *store = writer->store;
	int r;

	if (writes && atomic_load(&writer->damaged))
		return -EUCLEAN;
	r = store_begin(store, writes);
	for (struct ledger_work *work = first; work && r == 0; work = work->next)
		r = run_work(store, work);
	if (r == 0)
		r = store_commit(store);
	if (r != 0)
		store_rollback(store);
	if (r == -EUCLEAN)
		atomic_store(&writer->damaged, true);
	return r;
}

/* Whether an error is about the storage as a whole, so that the next call would meet it too. */
static bool storage_failed(int error)
{
	return error == -ENOSPC || error == -EIO || error == -EROFS || error == -EBUSY ||
	       error == -ENOLINK;
}

static void run_alone(struct writer *writer, struct ledger_work *work)
{
	struct ledger_work *next = work->next;
	int r;

	work->next = NULL;
	r = run_transaction(writer, work, work_writes(work));
	work->next = next;
	if (r != 0) {
		forget_answer(work);
		work->result = r;
	}
}

static void run_batch(struct writer *writer, struct work_queue *batch)
{
	bool writes = false;
	int r;

	for (struct ledger_work *work = batch->first; work; work = work->next)
		writes |= work_writes(work);
	r = run_transaction(writer, batch->first, writes);
	if (r == 0)
		return;
	for (struct ledger_work *work = batch->first; work; work = work->next) {
		forget_answer(work);
		if (work_writes(work) && storage_failed(r))
			work->result = r;
		else
			run_alone(writer, work);
	}
}

static bool work_patient(const struct ledger_work *work)
{
	return (work->type == WORK_INSERT && work->trial.patient) ||
	       (work->type == WORK_CHANGE && work->change.patient);
}

/* Until what waits should be taken; with the mutex. */
static void await_work(struct writer *writer)
{
	while (writer->held || (!writer->waiting.first && !writer->stopping))
		uv_cond_wait(&writer->wake, &writer->mutex);
	while (writer->held || (!writer->urgent && !writer->stopping)) {
		uint64_t now = uv_hrtime();

		if (writer->held)
			uv_cond_wait(&writer->wake, &writer->mutex);
		else if (now >= writer->patient)
			break;
		else
			uv_cond_timedwait(&writer->wake, &writer->mutex, writer->patient - now);
	}
	writer->urgent = false;
	writer->patient = 0;
}

/* Hands batch's answers to the loop and waits until there is something to do. */
static bool next_batch(struct writer *writer, struct work_queue *taken, struct work_queue *batch)
{
	uv_mutex_lock(&writer->mutex);
	if (batch->first) {
		work_queue_move(&writer->answers, batch);
		uv_async_send(writer->answered);
	}
	writer->busy = taken->first != NULL;
	if (!taken->first)
		await_work(writer);
	work_queue_move(taken, &writer->waiting);
	writer->busy = taken->first != NULL;
	uv_mutex_unlock(&writer->mutex);
	take_batch(taken, batch);
	return batch->first != NULL;
}

static void writer_thread(void *context)
{
	struct writer *writer = context;
	struct work_queue taken, batch;

	work_queue_init(&taken);
	work_queue_init(&batch);
	while (next_batch(writer, &taken, &batch))
		run_batch(writer, &batch);
	writer->store = store_free(writer->store);
	/* Sent under the mutex: the loop, once it sees `stopped`, may close the handle. */
	uv_mutex_lock(&writer->mutex);
	writer->stopped = true;
	uv_async_send(writer->answered);
	uv_mutex_unlock(&writer->mutex);
}

int writer_start(struct writer *writer, Store *store, uv_async_t *answered)
{
	int r;

	*writer = (struct writer){.store = store, .answered = answered};
	work_queue_init(&writer->waiting);
	work_queue_init(&writer->answers);
	r = uv_mutex_init(&writer->mutex);
	if (r < 0)
		return r;
	r = uv_cond_init(&writer->wake);
	if (r < 0)
		goto fail_mutex;
	r = uv_thread_create(&writer->thread, writer_thread, writer);
	if (r < 0)
		goto fail_cond;
	return 0;

fail_cond:
	uv_cond_destroy(&writer->wake);
fail_mutex:
	uv_mutex_destroy(&writer->mutex);
	return r;
}

void writer_submit(struct writer *writer, struct ledger_work *work)
{
	uv_mutex_lock(&writer->mutex);
	work_queue_push(&writer->waiting, work);
	if (!work_patient(work))
		writer->urgent = true;
	else if (!writer->patient)
		writer->patient = uv_hrtime() + PATIENCE_NANOSECONDS;
	uv_cond_signal(&writer->wake);
	uv_mutex_unlock(&writer->mutex);
}

bool writer_collect(struct writer *writer, struct work_queue *ret_answers)
{
	bool stopped;

	uv_mutex_lock(&writer->mutex);
	work_queue_move(ret_answers, &writer->answers);
	stopped = writer->stopped;
	uv_mutex_unlock(&writer->mutex);
	return stopped;
}

int writer_hold(struct writer *writer)
{
	int r = 0;

	uv_mutex_lock(&writer->mutex);
	if (writer->busy || writer->waiting.first || writer->held || writer->stopping)
		r = -EBUSY;
	else
		writer->held = true;
	uv_mutex_unlock(&writer->mutex);
	return r;
}

void writer_release(struct writer *writer)
{
	uv_mutex_lock(&writer->mutex);
	writer->held = false;
	uv_cond_signal(&writer->wake);
	uv_mutex_unlock(&writer->mutex);
}

void writer_stop(struct writer *writer)
{
	uv_mutex_lock(&writer->mutex);
	writer->stopping = true;
	uv_cond_signal(&writer->wake);
	uv_mutex_unlock(&writer->mutex);
}

void writer_join(struct writer *writer)
{
	uv_thread_join(&writer->thread);
	uv_cond_destroy(&writer->wake);
	uv_mutex_destroy(&writer->mutex);
}
