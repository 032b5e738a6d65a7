/* SPDX-License-Identifier: MIT */
/*
 * The loop's side of the ledger: copies each call, queues it for the writer thread, and calls it
 * back on the loop when its transaction has been committed.
 *
 * A call and the thread share nothing: the thread sees a copy (struct ledger_work, one
 * allocation), and the answer is carried into the call here, on the loop. So the caller's memory
 * is never touched by the thread, and may go in `done`.
 *
 * Fresh ids come from a counter in memory, begun after the largest id that was ever committed.
 * Ids need not reach the ledger in the order they were drawn, or at all: one that was drawn for a
 * launch that failed was never told to anybody.
 */
#include "ledger.h"

#include <stddef.h>
#include <string.h>

#include "writer.h"

struct Ledger {
	uv_async_t answered;
	struct writer writer;
	uint64_t next_id;
	struct ledger_call *unqueued; /* that could not be copied, to be answered from the loop */
	struct ledger_call **unqueued_last;
	bool closing;
	void (*closed)(void *context);
	void *closed_context;
};

/* How many bytes a copy needs after the structure, and then where the next of them goes. */
struct copier {
	size_t size;
	char *at; /* NULL while counting */
};

/* Space for something that is aligned like a pointer when aligned is true. */
static void *copy_space(struct copier *copier, size_t size, bool aligned)
{
	size_t rest = copier->size % _Alignof(max_align_t);
	void *space;

	if (aligned && rest)
		copier->size += _Alignof(max_align_t) - rest;
	space = copier->at ? copier->at + copier->size : NULL;
	copier->size += size;
	return space;
}

static void copy_text(struct copier *copier, const char **text)
{
	size_t size;
	char *space;

	if (!*text)
		return;
	size = strlen(*text) + 1;
	space = copy_space(copier, size, false);
	if (space)
		*text = memcpy(space, *text, size);
}

static void copy_blob(struct copier *copier, struct blob *blob)
{
	void *space;

	if (blob->size == 0) {
		blob->data = NULL;
		return;
	}
	space = copy_space(copier, blob->size, false);
	if (space)
		blob->data = memcpy(space, blob->data, blob->size);
}

static void copy_numbers(struct copier *copier, const uint64_t **numbers, size_t count)
{
	void *space = copy_space(copier, count * sizeof(**numbers), true);

	if (space && count > 0)
		*numbers = memcpy(space, *numbers, count * sizeof(**numbers));
}

static void copy_pairs(struct copier *copier, struct pair_list *pairs)
{
	struct pair *items;

	if (pairs->count == 0) {
		pairs->items = NULL;
		return;
	}
	items = copy_space(copier, pairs->count * sizeof(*items), true);
	if (items)
		pairs->items = memcpy(items, pairs->items, pairs->count * sizeof(*items));
	for (size_t i = 0; i < pairs->count; i++) {
		/* While counting, the caller's own items are only read. */
		struct pair item = pairs->items[i];

		copy_text(copier, &item.name);
		copy_text(copier, &item.value);
		if (items)
			items[i] = item;
	}
}

/* Makes all that work points to part of the copy; run twice, to count and to copy. */
static void copy_work(struct copier *copier, struct ledger_work *work)
{
	switch (work->type) {
	case WORK_INSERT:
		copy_text(copier, &work->trial.uuid);
		copy_text(copier, &work->trial.key);
		copy_blob(copier, &work->trial.body);
		copy_blob(copier, &work->trial.spec);
		copy_pairs(copier, &work->trial.labels);
		break;
	case WORK_CHANGE:
		copy_text(copier, &work->change.uuid);
		copy_text(copier, &work->change.unit);
		copy_text(copier, &work->change.boot_id);
		copy_text(copier, &work->change.canceled_by);
		copy_text(copier, &work->change.plan_digest);
		copy_blob(copier, &work->change.facts);
		copy_blob(copier, &work->change.record);
		break;
	case WORK_LIST:
		copy_pairs(copier, &work->filter.labels);
		break;
	case WORK_SET:
		copy_text(copier, &work->setting.name);
		copy_text(copier, &work->setting.value);
		break;
	case WORK_LIST_ENDED:
		copy_pairs(copier, &work->filter.labels);
		break;
	case WORK_PRUNE:
	case WORK_PRUNED:
		copy_numbers(copier, &work->ids.items, work->ids.count);
		break;
	case WORK_LIST_PRUNED:
	case WORK_PRUNE_EVENTS:
	case WORK_GET:
	case WORK_EVENTS:
	case WORK_NEWEST_EVENT:
	case WORK_COUNT_ENDED:
		break;
	}
}

static void answer_unqueued(Ledger *ledger, struct ledger_call *call, int result)
{
	call->result = result;
	call->next = NULL;
	*ledger->unqueued_last = call;
	ledger->unqueued_last = &call->next;
	uv_async_send(&ledger->answered);
}

static void submit(Ledger *ledger, struct ledger_call *call, struct ledger_work *original)
{
	struct copier copier = {.size = sizeof(*original)};
	struct ledger_work *work;

	call->row = NULL;
	call->rows = NULL;
	call->events = NULL;
	call->ended = NULL;
	call->count = 0;
	call->number = call->at = call->newest = 0;
	call->work = NULL;
	if (ledger->closing) {
		answer_unqueued(ledger, call, -ESHUTDOWN);
		return;
	}
	original->call = call;
	copy_work(&copier, original);
	work = malloc(copier.size);
	if (!work) {
		answer_unqueued(ledger, call, -ENOMEM);
		return;
	}
	*work = *original;
	copier = (struct copier){.size = sizeof(*work), .at = (char *)work};
	copy_work(&copier, work);
	call->work = work;
	writer_submit(&ledger->writer, work);
}

void ledger_insert(Ledger *ledger, struct ledger_call *call, const struct ledger_new *trial)
{
	struct ledger_work work = {.type = WORK_INSERT, .trial = *trial};

	/* Only what is compared is carried; without a key nothing is. */
	if (!trial->key)
		work.trial.body = (struct blob){0};
	submit(ledger, call, &work);
}

void ledger_change(Ledger *ledger, struct ledger_call *call, uint64_t id, unsigned int from,
		   const struct ledger_change *change)
{
	struct ledger_work work = {.type = WORK_CHANGE, .id = id, .from = from, .change = *change};

	submit(ledger, call, &work);
}

void ledger_get(Ledger *ledger, struct ledger_call *call, uint64_t id)
{
	struct ledger_work work = {.type = WORK_GET, .id = id};

	submit(ledger, call, &work);
}

void ledger_list(Ledger *ledger, struct ledger_call *call, const struct ledger_filter *filter)
{
	struct ledger_work work = {.type = WORK_LIST, .filter = *filter};

	submit(ledger, call, &work);
}

void ledger_events(Ledger *ledger, struct ledger_call *call, uint64_t after, uint64_t trial)
{
	struct ledger_work work = {.type = WORK_EVENTS, .id = trial, .after = after};

	submit(ledger, call, &work);
}

void ledger_newest_event(Ledger *ledger, struct ledger_call *call)
{
	struct ledger_work work = {.type = WORK_NEWEST_EVENT};

	submit(ledger, call, &work);
}

void ledger_set(Ledger *ledger, struct ledger_call *call, const char *name, const char *value)
{
	struct ledger_work work = {.type = WORK_SET, .setting = {.name = name, .value = value}};

	submit(ledger, call, &work);
}

int ledger_setting(Ledger *ledger, const char *name, char **ret_value)
{
	int r = writer_hold(&ledger->writer);

	if (r < 0)
		return r;
	r = store_setting(ledger->writer.store, name, ret_value);
	writer_release(&ledger->writer);
	return r;
}

void ledger_list_ended(Ledger *ledger, struct ledger_call *call, const struct ledger_filter *filter)
{
	struct ledger_work work = {.type = WORK_LIST_ENDED, .filter = *filter};

	work.filter.state = STATE_ended;
	work.filter.outcome = -1;
	work.filter.since = 0;
	if (work.filter.limit == 0 || work.filter.limit > LEDGER_ENDED_MAX)
		work.filter.limit = LEDGER_ENDED_MAX;
	submit(ledger, call, &work);
}

void ledger_prune(Ledger *ledger, struct ledger_call *call, const uint64_t *ids, size_t count)
{
	struct ledger_work work = {.type = WORK_PRUNE, .ids = {.items = ids, .count = count}};

	submit(ledger, call, &work);
}

void ledger_list_pruned(Ledger *ledger, struct ledger_call *call, size_t most)
{
	struct ledger_work work = {.type = WORK_LIST_PRUNED, .ids = {.count = most}};

	submit(ledger, call, &work);
}

int ledger_any_pruned(Ledger *ledger, bool *ret_any)
{
	struct ledger_ended *pruned = NULL;
	size_t count = 0;
	int r = writer_hold(&ledger->writer);

	if (r < 0)
		return r;
	r = store_list_pruned(ledger->writer.store, 1, &pruned, &count);
	writer_release(&ledger->writer);
	*ret_any = count > 0;
	free(pruned);
	return r;
}

void ledger_pruned(Ledger *ledger, struct ledger_call *call, const uint64_t *ids, size_t count)
{
	struct ledger_work work = {.type = WORK_PRUNED, .ids = {.items = ids, .count = count}};

	submit(ledger, call, &work);
}

void ledger_prune_events(Ledger *ledger, struct ledger_call *call, uint64_t after)
{
	struct ledger_work work = {.type = WORK_PRUNE_EVENTS, .after = after};

	submit(ledger, call, &work);
}

void ledger_count_ended(Ledger *ledger, struct ledger_call *call)
{
	struct ledger_work work = {.type = WORK_COUNT_ENDED};

	submit(ledger, call, &work);
}

static void answer(struct ledger_work *work)
{
	struct ledger_call *call = work->call;

	call->result = work->result;
	call->row = work->row;
	call->rows = work->rows;
	call->events = work->events;
	call->ended = work->ended;
	call->count = work->count;
	call->number = work->number;
	call->at = work->at;
	call->newest = work->newest;
	call->done(call);
	/* The call may be gone. */
	ledger_work_free(work);
}

static void answer_all_unqueued(Ledger *ledger)
{
	struct ledger_call *unqueued = ledger->unqueued;

	ledger->unqueued = NULL;
	ledger->unqueued_last = &ledger->unqueued;
	while (unqueued) {
		struct ledger_call *call = unqueued;

		unqueued = call->next;
		call->done(call);
	}
}

static void on_closed(uv_handle_t *handle)
{
	Ledger *ledger = container_of((uv_async_t *)handle, Ledger, answered);
	void (*closed)(void *context) = ledger->closed;
	void *context = ledger->closed_context;

	while (ledger->unqueued)
		answer_all_unqueued(ledger);
	free(ledger);
	if (closed)
		closed(context);
}

static void on_answered(uv_async_t *async)
{
	Ledger *ledger = container_of(async, Ledger, answered);
	struct work_queue answers;
	bool stopped;

	work_queue_init(&answers);
	stopped = writer_collect(&ledger->writer, &answers);
	while (answers.first) {
		struct ledger_work *work = answers.first;

		answers.first = work->next;
		answer(work);
	}
	answer_all_unqueued(ledger);
	/* A call made by one of those is answered first; its wake-up is on its way. */
	if (stopped && !ledger->unqueued && !uv_is_closing((uv_handle_t *)async)) {
		writer_join(&ledger->writer);
		uv_close((uv_handle_t *)async, on_closed);
	}
}

static void on_abandoned(uv_handle_t *handle)
{
	free(container_of((uv_async_t *)handle, Ledger, answered));
}

int ledger_open(Ledger **ret_ledger, uv_loop_t *loop, const char *state_folder,
		struct fault *ret_fault)
{
	Ledger *ledger = NULL;
	Store *store = NULL;
	int r;

	ledger = calloc(1, sizeof(*ledger));
	if (!ledger)
		return -ENOMEM;
	ledger->unqueued_last = &ledger->unqueued;
	r = store_open(&store, state_folder, ret_fault);
	if (r != 0)
		goto fail;
	ledger->next_id = store_last_id(store) + 1;
	r = uv_async_init(loop, &ledger->answered, on_answered);
	if (r < 0)
		goto fail;
	r = writer_start(&ledger->writer, store, &ledger->answered);
	if (r < 0) {
		store_free(store);
		uv_close((uv_handle_t *)&ledger->answered, on_abandoned);
		return r;
	}
	*ret_ledger = ledger;
	return 0;

fail:
	store_free(store);
	free(ledger);
	return r;
}

void ledger_close(Ledger *ledger, void (*closed)(void *context), void *context)
{
	ledger->closing = true;
	ledger->closed = closed;
	ledger->closed_context = context;
	writer_stop(&ledger->writer);
}

uint64_t ledger_next_id(Ledger *ledger)
{
	return ledger->next_id++;
}

void ledger_reserve_ids(Ledger *ledger, uint64_t last)
{
	if (ledger->next_id <= last)
		ledger->next_id = last + 1;
}

int ledger_each_unended(Ledger *ledger, int (*each)(const struct ledger_row *row, void *context),
			void *context)
{
	int r;

	r = writer_hold(&ledger->writer);
	if (r < 0)
		return r;
	r = store_each_unended(ledger->writer.store, each, context);
	writer_release(&ledger->writer);
	return r;
}

struct ledger_row *ledger_steal_row(struct ledger_call *call)
{
	if (call->work)
		call->work->row = NULL;
	return steal(&call->row);
}

struct ledger_row *ledger_row_free(struct ledger_row *row)
{
	if (!row)
		return NULL;
	free(row->key);
	free(row->unit);
	free(row->boot_id);
	free(row->canceled_by);
	free(row->plan_digest);
	free((void *)row->spec.data);
	free((void *)row->facts.data);
	free((void *)row->record.data);
	free(row);
	return NULL;
}
