/* SPDX-License-Identifier: MIT */

/*
 * The verbs pause, resume and drain. A drain is a pause that stands until nothing runs any more; a
 * client that goes away meanwhile leaves the queue paused.
 */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

static Queue *queue_of(const struct request *request)
{
	return request->session->server->options.queue;
}

static void pause_reply(struct request *request)
{
	static const struct message_type *const types[VERB_COUNT] = {
		[VERB_pause] = &pause_reply_type,
		[VERB_resume] = &resume_reply_type,
		[VERB_drain] = &drain_reply_type,
	};
	/* One table makes all three. */
	struct pause_reply reply = {
		.has = {.running = true, .queued = true},
		.running = queue_slots_used(queue_of(request)),
		.queued = queue_waiting(queue_of(request)),
	};

	session_reply(request->session, request->number, types[request->verb], &reply);
	request_done(request);
}

/* Whether this drain has had its last word. */
static bool drain_answer(struct request *request)
{
	Queue *queue = queue_of(request);

	if (!queue_paused_reason(queue))
		request_refuse(request, ERROR_refused,
			       "the queue was resumed before nothing ran any more", NULL);
	else if (queue_slots_used(queue) == 0)
		pause_reply(request);
	else
		return false;
	return true;
}

static void on_paused(void *context, int result)
{
	struct request *request = context;

	request->call.result = result;
	if (request_ledger_failed(request))
		return;
	if (request->verb != VERB_drain)
		pause_reply(request);
	else if (!drain_answer(request) && request_stand(request))
		session_settled(request->session);
}

static void pause_ask(struct request *request, enum hold kind, const char *reason)
{
	char by[128];
	const struct queue_hold hold = {.kind = kind, .reason = reason ? reason : "", .by = by};

	session_describe(request->session, by, sizeof(by));
	if (queue_pause(queue_of(request), &hold, on_paused, request) < 0)
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
}

void handle_pause(struct request *request, const void *arguments)
{
	const struct pause_request *pause = arguments;

	pause_ask(request, HOLD_pause, pause->reason);
}

void handle_resume(struct request *request, const void *arguments)
{
	(void)arguments;
	if (queue_pause(queue_of(request), NULL, on_paused, request) < 0)
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
}

void handle_drain(struct request *request, const void *arguments)
{
	const struct drain_request *drain = arguments;

	/* One that gives no reason leaves the one there is. */
	pause_ask(request, HOLD_drain,
		  drain->reason ? drain->reason : queue_paused_reason(queue_of(request)));
}

/* An answer may let its session handle further frames, so each search begins anew. */
static bool drains_answer_one(Server *server)
{
	struct request *request;
	Session *session;

	TAILQ_FOREACH(session, &server->sessions, link)
	LIST_FOREACH(request, &session->subscriptions, link)
	if (request->verb == VERB_drain && drain_answer(request))
		return true;
	return false;
}

void request_queue_settled(struct queue_watch *watch)
{
	Server *server = container_of(watch, Server, watch);

	while (drains_answer_one(server))
		;
}
