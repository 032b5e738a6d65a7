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

#include "check.h"
#include "files.h"
#include "opening.h"
#include "writer.h"

struct Ledger {
	uv_async_t answered;
	struct writer writer;
	struct check check;
	int folder_fd;
	char *note;
	bool news;
	bool told; /* of damage */
	void (*damaged)(void *context);
	void *damaged_context;
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

	if (space && *numbers)
		*numbers = memcpy(space, *numbers, count * sizeof(**numbers));
}

static void copy_pairs(struct copier *copier, struct pair_list *pairs)
{
	struct pair *items;

	if (pairs->count == 0 || !pairs->items) {
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
		copy_blob(copier, &work->trial.facts);
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
	case WORK_COUNT_NAMED:
	case WORK_NAMING:
		copy_blob(copier, &work->named);
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
	case WORK_SINCE_END:
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

void ledger_list_since_end(Ledger *ledger, struct ledger_call *call, uint64_t id,
			   ledger_wanted wanted, const void *context)
{
	struct ledger_work work = {.type = WORK_SINCE_END,
				   .id = id,
				   .since = {.wanted = wanted, .context = context}};

	submit(ledger, call, &work);
}

void ledger_count_named(Ledger *ledger, struct ledger_call *call, uint64_t before,
			struct blob named)
{
	struct ledger_work work = {.type = WORK_COUNT_NAMED, .id = before, .named = named};

	submit(ledger, call, &work);
}

void ledger_list_naming(Ledger *ledger, struct ledger_call *call, uint64_t id, struct blob named)
{
	struct ledger_work work = {.type = WORK_NAMING, .id = id, .named = named};

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

static void ledger_free(Ledger *ledger)
{
	fd_close(ledger->folder_fd);
	free(ledger->note);
	free(ledger);
}

/*
 * That the file is damaged is found by a call or by the check. The word for the next start is left
 * here, once; without it that would not look further than this one did.
 */
static void look_for_damage(Ledger *ledger)
{
	const char *what = "SQLite met damage in it while it was in use";

	if (ledger->check.started && atomic_load(&ledger->check.result) == -EUCLEAN) {
		atomic_store(&ledger->writer.damaged, true);
		what = ledger->check.what;
	}
	if (ledger->told || !atomic_load(&ledger->writer.damaged))
		return;
	ledger->told = true;
	files_mark_damaged(ledger->folder_fd, what);
	if (ledger->damaged && !ledger->closing)
		ledger->damaged(ledger->damaged_context);
}

static void on_closed(uv_handle_t *handle)
{
	Ledger *ledger = container_of((uv_async_t *)handle, Ledger, answered);
	void (*closed)(void *context) = ledger->closed;
	void *context = ledger->closed_context;

	while (ledger->unqueued)
		answer_all_unqueued(ledger);
	ledger_free(ledger);
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
	look_for_damage(ledger);
	/* A call made by one of those is answered first; its wake-up is on its way. */
	if (stopped && !ledger->unqueued && !uv_is_closing((uv_handle_t *)async)) {
		writer_join(&ledger->writer);
		uv_close((uv_handle_t *)async, on_closed);
	}
}

static void on_abandoned(uv_handle_t *handle)
{
	ledger_free(container_of((uv_async_t *)handle, Ledger, answered));
}

int ledger_new(Ledger **ret_ledger, const struct ledger_options *options, struct fault *ret_fault)
{
	struct opening opening;
	Ledger *ledger = NULL;
	int r;

	ledger = calloc(1, sizeof(*ledger));
	if (!ledger)
		return -ENOMEM;
	ledger->unqueued_last = &ledger->unqueued;
	ledger->damaged = options->damaged;
	ledger->damaged_context = options->context;
	r = opening_open(&opening, options->state_folder, options->witness, ret_fault);
	if (r != 0) {
		free(ledger);
		return r;
	}
	ledger->folder_fd = opening.folder_fd;
	ledger->note = opening.note;
	ledger->news = opening.news;
	ledger->next_id = opening.last_id + 1;
	r = uv_async_init(options->loop, &ledger->answered, on_answered);
	if (r < 0) {
		store_free(opening.store);
		ledger_free(ledger);
		return r;
	}
	r = writer_start(&ledger->writer, opening.store, &ledger->answered);
	if (r < 0) {
		store_free(opening.store);
		uv_close((uv_handle_t *)&ledger->answered, on_abandoned);
		return r;
	}
	/* A check that cannot be made is no reason not to serve: damage is found where it is met. */
	if (store_is_large(opening.store))
		check_start(&ledger->check, store_place(opening.store)->path, &ledger->answered);
	*ret_ledger = ledger;
	return 0;
}

int ledger_open(Ledger **ret_ledger, uv_loop_t *loop, const char *state_folder,
		struct fault *ret_fault)
{
	const struct ledger_options options = {.loop = loop, .state_folder = state_folder};

	return ledger_new(ret_ledger, &options, ret_fault);
}

void ledger_close(Ledger *ledger, void (*closed)(void *context), void *context)
{
	ledger->closing = true;
	ledger->closed = closed;
	ledger->closed_context = context;
	/* The writer closes the file last. */
	check_stop(&ledger->check);
	writer_stop(&ledger->writer);
}

const char *ledger_note(const Ledger *ledger, bool *ret_news)
{
	if (ret_news)
		*ret_news = ledger->news;
	return ledger->note;
}

int ledger_fault(const Ledger *ledger, int error, struct fault *ret_fault)
{
	/* Once it is closing, the file is its thread's. */
	const struct files_place *place = ledger->closing ? NULL
							  : store_place(ledger->writer.store);
	const char *path = place ? place->path : LEDGER_FILE;

	if (error == 0 && place && files_place_check(place) < 0)
		error = -ENOLINK;
	if (error == 0 && atomic_load(&ledger->writer.damaged))
		error = -EUCLEAN;
	switch (error) {
	case 0:
		return 0;
	case -ENOMEM:
		return error;
	case -ENOLINK:
		fault_set(
			ret_fault, ERROR_unavailable,
			"the ledger could not be written: %s is not the file any more that trialsd "
			"opened: it, or its -wal, was deleted, moved or replaced",
			path);
		return fault_hint(
			ret_fault,
			"put it back; or: trialctl shutdown, and start trialsd again, which "
			"rebuilds what it can");
	case -EUCLEAN:
	case -EBADMSG:
		fault_set(ret_fault, ERROR_unavailable, "the ledger is damaged: %s", path);
		return fault_hint(
			ret_fault,
			"start trialsd again: it sets the file aside and rebuilds what it "
			"can");
	default:
		return fault_set(ret_fault, ERROR_unavailable,
				 "the ledger could not be read or written: %s", strerror(-error));
	}
}

uint64_t ledger_next_id(Ledger *ledger)
{
	return ledger->next_id++;
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
	/* A Trial that has not ended cannot be left out. */
	if (r == -EUCLEAN || r == -EBADMSG)
		files_mark_damaged(ledger->folder_fd, "a Trial that has not ended cannot be read");
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
