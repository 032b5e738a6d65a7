/* SPDX-License-Identifier: MIT */

/*
 * The watch verb: state changes, from a given number on, none missed and none twice.
 *
 * Every change is a numbered row of the ledger, so there is one source of what was, and the notices
 * of what is happening are only a faster way to the same rows. A watch is in one of two modes. It
 * replays: pages are read from the ledger, one at a time, and notices are ignored, since what they
 * tell is in the ledger too. Or it is live: notices are passed on.
 *
 * It turns live when a page comes back empty. Calls to the ledger are answered in order, and a
 * notice is given when its change is answered; so whatever was noticed before that page had been
 * made was in the ledger for it, and whatever comes later is noticed later.
 *
 * What holds the queue is no change of a Trial and has no number: the reply tells it, and so does an
 * event whenever it changes, of which only the latest is of interest. One that finds no room is sent
 * when there is some.
 *
 * Nothing is read for a client that has not taken what it was sent before. A live watch whose client
 * falls behind turns back to replaying: slow clients cost one page and lose nothing.
 */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

#include "base/now.h"

#define BACKLOG_BYTES (256u * 1024u) /* above this the client is left to catch up */

struct watch {
	struct ledger_call call;
	struct request *request; /* NULL once it is gone and the call is under way */
	uint64_t after;		 /* the last change that was sent or passed over */
	bool asking;		 /* the call is under way */
	bool replied;
	bool live;
	bool tell;	 /* that the replay is over, once */
	bool tell_queue; /* what holds it, when there is room */
};

static void watch_pump(struct watch *watch);

void watch_free(struct request *request)
{
	struct watch *watch = steal(&request->watch);

	if (!watch)
		return;
	watch->request = NULL;
	if (!watch->asking)
		free(watch);
}

/* A Trial whose launch alone fills a frame is told without it: show tells the rest. */
static int watch_write(struct request *request, struct state_event *event)
{
	msgpack_sbuffer *output = &request->session->output;
	int r;

	r = frame_write_event(output, EVENT_state, request->number, &state_event_type, event);
	if (r != -EMSGSIZE)
		return r;
	view_shorten(&event->trial);
	return frame_write_event(output, EVENT_state, request->number, &state_event_type, event);
}

static void watch_send(struct watch *watch, const struct state_event *event)
{
	Session *session = watch->request->session;
	struct state_event copy = *event;

	watch->after = event->number;
	if (session->closing || session->draining)
		return;
	/* What cannot be told must not look as if it had not happened. */
	if (watch_write(watch->request, &copy) < 0)
		session_close(session);
	else
		session_flush_later(session);
}

static void watch_send_old(struct watch *watch, const struct ledger_event *old)
{
	Queue *queue = watch->request->session->server->options.queue;
	struct state_event event = {
		.has = {.trial = true,
			.before = old->before >= 0,
			.number = true,
			.at = true,
			.state = true},
		.before = old->before >= 0 ? (enum state)old->before : STATE_queued,
		.number = old->number,
		.at = old->at,
		.state = old->state,
	};
	char reason[QUEUE_REASON_BYTES];
	struct view view;

	if (view_make(&view, old->row, queue_trials_folder(queue), false) == 0) {
		view_add_queue(&view.trial, queue, reason);
		event.trial = view.trial;
		watch_send(watch, &event);
	} else {
		session_close(watch->request->session);
	}
	view_done(&view);
}

static void watch_turn_live(struct watch *watch)
{
	struct request *request = watch->request;
	struct caught_up_event event = {.has = {.number = true}, .number = watch->after};

	watch->live = true;
	if (watch->tell)
		session_event(request->session, request->number, EVENT_caught_up,
			      &caught_up_event_type, &event);
	watch->tell = false;
}

/* The reply, once it is known which change is the newest. False: the request is over. */
static bool watch_begin(struct watch *watch, uint64_t newest)
{
	struct request *request = watch->request;
	struct watch_reply reply = {.has = {.number = true}, .number = newest};
	struct queue_hold hold;
	char text[128];

	if (watch->tell && watch->after > newest) {
		snprintf(text, sizeof(text), "after: the newest change has the number %llu",
			 (unsigned long long)newest);
		request_refuse(request, ERROR_invalid, text,
			       "this is another ledger than the number came from: list the Trials, "
			       "and watch from now on");
		return false;
	}
	if (!request_stand(request))
		return false;
	watch->replied = true;
	if (queue_hold(request->session->server->options.queue, &hold))
		view_add_hold(&reply, &hold);
	session_reply(request->session, request->number, &watch_reply_type, &reply);
	if (!watch->tell) {
		watch->after = newest;
		watch->live = true;
	}
	return true;
}

static bool watch_failed(struct watch *watch)
{
	struct request *request = watch->request;

	if (watch->call.result >= 0)
		return false;
	request->call.result = watch->call.result;
	if (!watch->replied)
		return request_ledger_failed(request);
	/* A reply has been given: all that is left is to end where it can be seen. */
	session_close(request->session);
	return true;
}

static void on_events(struct ledger_call *call)
{
	struct watch *watch = container_of(call, struct watch, call);
	uint64_t before = watch->after;

	watch->asking = false;
	if (!watch->request) {
		free(watch);
		return;
	}
	if (watch_failed(watch))
		return;
	if (!watch->replied) {
		if (!watch_begin(watch, call->newest))
			return;
		session_settled(watch->request->session);
	}
	if (watch->live)
		return;
	for (size_t i = 0; i < call->count; i++)
		watch_send_old(watch, &call->events[i]);
	watch->after = call->number;
	if (call->number == before)
		watch_turn_live(watch);
	else
		watch_pump(watch);
}

/* Asks for the next page when there is room for it. */
static void watch_pump(struct watch *watch)
{
	struct request *request = watch->request;
	Session *session = request->session;

	if (watch->asking || watch->live || session->closing || session->draining ||
	    (watch->replied && session_backlog(session) >= BACKLOG_BYTES))
		return;
	watch->asking = true;
	watch->call.done = on_events;
	ledger_events(session->server->options.ledger, &watch->call, watch->after, request->id);
}

void handle_watch(struct request *request, const void *arguments)
{
	const struct watch_request *wanted = arguments;
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch) {
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
		return;
	}
	watch->request = request;
	watch->after = wanted->after;
	watch->tell = wanted->has.after;
	request->id = wanted->id;
	request->watch = watch;
	if (watch->tell) {
		watch_pump(watch);
		return;
	}
	watch->asking = true;
	watch->call.done = on_events;
	ledger_newest_event(request->session->server->options.ledger, &watch->call);
}

void watch_trial_changed(struct request *request, const struct state_event *event)
{
	struct watch *watch = request->watch;

	if (!watch->live || event->number <= watch->after)
		return;
	if (session_backlog(request->session) < BACKLOG_BYTES)
		watch_send(watch, event);
	else
		watch->live = false; /* it is in the ledger, for when there is room */
}

void watch_queue_held(struct request *request)
{
	Session *session = request->session;
	Queue *queue = session->server->options.queue;
	struct watch *watch = request->watch;
	struct queue_event event = {
		.has = {.at = true, .running = true, .queued = true},
		.at = now_microseconds(),
		.running = queue_slots_used(queue),
		.queued = queue_waiting(queue),
	};
	struct queue_hold hold;

	if (!watch->replied)
		return; /* the reply will tell */
	watch->tell_queue = session_backlog(session) >= BACKLOG_BYTES;
	if (watch->tell_queue)
		return;
	if (queue_hold(queue, &hold))
		view_add_hold(&event, &hold);
	session_event(session, request->number, EVENT_queue, &queue_event_type, &event);
}

void watch_writable(struct request *request)
{
	if (!request->watch->replied)
		return;
	if (request->watch->tell_queue)
		watch_queue_held(request);
	watch_pump(request->watch);
}
