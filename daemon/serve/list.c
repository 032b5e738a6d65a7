/* SPDX-License-Identifier: MIT */

/*
 * The list verb: a page of Trials. Rows come from the ledger a page at a time; a page of large
 * launches may not fit a frame, and is then halved until it does, with a cursor for the rest.
 *
 * A row says `queued` of a Trial that is held (queue/hold.c): what a list of one state is of is looked
 * at again when a row has become a Trial.
 */
#include "serve/request.h"

#include <string.h>

#include "queue/prune.h"

#define PAGE_DEFAULT 50

/* For the one Trial whose launch alone fills a frame: show tells the rest. */
void view_shorten(struct trial_view *view)
{
	view->command = (struct text_list){0};
	view->has.command = false;
	view->labels = (struct pair_list){0};
	view->has.labels = false;
	view->harness.executable = view->harness.release = NULL;
	view->harness.interpreter = view->harness.file = NULL;
}

static int list_write(struct request *request, struct list_reply *reply)
{
	msgpack_sbuffer *output = &request->session->output;
	int r;

	for (;;) {
		r = frame_write_reply(output, request->number, &list_reply_type, reply);
		if (r != -EMSGSIZE || reply->trials.count == 0)
			return r;
		if (reply->trials.count == 1) {
			if (!reply->trials.items[0].has.command)
				return r;
			view_shorten(&reply->trials.items[0]);
			continue;
		}
		reply->trials.count /= 2;
		reply->cursor = reply->trials.items[reply->trials.count - 1].id;
		reply->has.cursor = true;
	}
}

/* A page whose Trials are measured on a thread before it is written. */
struct sized_page {
	uv_work_t work;
	struct request *request;
	struct ledger_row **rows;
	uint64_t *bytes;
	size_t count;
	uint64_t cursor;
};

/* bytes: what each takes on disk, or NULL. */
static void list_answer(struct request *request, struct ledger_row *const *rows, size_t count,
			uint64_t cursor, const uint64_t *bytes)
{
	Queue *queue = request->session->server->options.queue;
	struct list_reply reply = {.has = {.trials = true, .cursor = cursor > 0}, .cursor = cursor};
	char(*reasons)[QUEUE_REASON_BYTES];
	struct view *views;
	int r = -ENOMEM;

	views = calloc(count + 1, sizeof(*views));
	reasons = calloc(count + 1, sizeof(*reasons));
	reply.trials.items = calloc(count + 1, sizeof(*reply.trials.items));
	if (views && reasons && reply.trials.items)
		r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = view_make(&views[i], rows[i], queue_trials_folder(queue), false);
		view_add_queue(&views[i].trial, queue, reasons[i]);
		if (request->only >= 0 && (int)views[i].trial.state != request->only)
			continue;
		views[i].trial.disk_bytes = bytes ? bytes[i] : 0;
		views[i].trial.has.disk_bytes = bytes != NULL;
		reply.trials.items[reply.trials.count++] = views[i].trial;
	}
	if (r == 0 && !request->session->closing)
		r = list_write(request, &reply);
	if (r == 0)
		session_flush_later(request->session);
	else
		session_error(request->session, request->number, ERROR_internal, strerror(-r),
			      NULL);
	for (size_t i = 0; views && i < count; i++)
		view_done(&views[i]);
	free(views);
	free(reasons);
	free(reply.trials.items);
	request_done(request);
}

static void page_free(struct sized_page *page)
{
	for (size_t i = 0; page->rows && i < page->count; i++)
		ledger_row_free(page->rows[i]);
	free(page->rows);
	free(page->bytes);
	free(page);
}

static void measure_page(uv_work_t *work)
{
	struct sized_page *page = container_of(work, struct sized_page, work);

	for (size_t i = 0; i < page->count; i++)
		page->bytes[i] = queue_disk_bytes(page->request->session->server->options.queue,
						  page->rows[i]->id);
}

static void on_page_measured(uv_work_t *work, int status)
{
	struct sized_page *page = container_of(work, struct sized_page, work);

	(void)status;
	list_answer(page->request, page->rows, page->count, page->cursor, page->bytes);
	page_free(page);
}

static void list_measure(struct request *request)
{
	struct ledger_call *call = &request->call;
	struct sized_page *page = calloc(1, sizeof(*page));
	int r = -ENOMEM;

	if (page) {
		page->request = request;
		page->cursor = call->number;
		page->rows = calloc(call->count + 1, sizeof(struct ledger_row *));
		page->bytes = calloc(call->count + 1, sizeof(*page->bytes));
	}
	if (page && page->rows && page->bytes) {
		page->count = call->count;
		for (size_t i = 0; i < call->count; i++)
			page->rows[i] = steal(&call->rows[i]);
		r = uv_queue_work(request->session->server->loop, &page->work, measure_page,
				  on_page_measured);
	}
	if (r == 0)
		return;
	if (page)
		page_free(page);
	request_refuse(request, ERROR_internal, strerror(-r), NULL);
}

static void on_listed(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);

	if (request_ledger_failed(request))
		return;
	if (request->with_sizes)
		list_measure(request);
	else
		list_answer(request, call->rows, call->count, call->number, NULL);
}

void handle_list(struct request *request, const void *arguments)
{
	const struct list_request *list = arguments;
	struct ledger_filter filter = {
		.state = list->has.state ? (int)list->state : -1,
		.outcome = list->has.outcome ? (int)list->outcome : -1,
		.since = list->since,
		.before = list->before,
		.labels = list->labels,
		.limit = list->limit ? list->limit : PAGE_DEFAULT,
	};

	request->with_sizes = list->sizes;
	request->only = filter.state;
	if (filter.state == STATE_held || filter.state == STATE_queued) {
		/*
		 * The ledger has one word for both. Where the queue is held all that wait are held; else
		 * some may be, by their logins.
		 */
		if (filter.state == STATE_queued &&
		    queue_hold(request->session->server->options.queue, NULL)) {
			list_answer(request, NULL, 0, 0, NULL);
			return;
		}
		filter.state = STATE_queued;
	}
	request->call.done = on_listed;
	ledger_list(request->session->server->options.ledger, &request->call, &filter);
}
