/* SPDX-License-Identifier: MIT */

/*
 * The list verb: a page of Trials. Rows come from the ledger a page at a time; a page of large
 * launches may not fit a frame, and is then halved until it does, with a cursor for the rest.
 */
#include "serve/request.h"

#include <string.h>

#define PAGE_DEFAULT 50

/* The one Trial whose launch alone fills a frame: show tells the rest. */
static void view_shorten(struct trial_view *view)
{
	view->command = (struct text_list){0};
	view->has.command = false;
	view->labels = (struct pair_list){0};
	view->has.labels = false;
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

static void on_listed(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);
	Queue *queue = request->session->server->options.queue;
	struct list_reply reply = {.has = {.trials = true, .cursor = call->number > 0},
				   .cursor = call->number};
	char(*reasons)[QUEUE_REASON_BYTES];
	struct view *views;
	int r = -ENOMEM;

	if (request_ledger_failed(request))
		return;
	views = calloc(call->count + 1, sizeof(*views));
	reasons = calloc(call->count + 1, sizeof(*reasons));
	reply.trials.items = calloc(call->count + 1, sizeof(*reply.trials.items));
	if (views && reasons && reply.trials.items)
		r = 0;
	for (size_t i = 0; r == 0 && i < call->count; i++) {
		r = view_make(&views[i], call->rows[i], queue_trials_folder(queue), false);
		view_add_queue(&views[i].trial, queue, reasons[i]);
		reply.trials.items[i] = views[i].trial;
		reply.trials.count++;
	}
	if (r == 0 && !request->session->closing)
		r = list_write(request, &reply);
	if (r == 0)
		session_flush_later(request->session);
	else
		session_error(request->session, request->number, ERROR_internal, strerror(-r),
			      NULL);
	for (size_t i = 0; views && i < call->count; i++)
		view_done(&views[i]);
	free(views);
	free(reasons);
	free(reply.trials.items);
	request_done(request);
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

	request->call.done = on_listed;
	ledger_list(request->session->server->options.ledger, &request->call, &filter);
}
