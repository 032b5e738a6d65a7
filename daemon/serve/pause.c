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

/* reason NULL: resumes. */
static void pause_ask(struct request *request, const char *reason)
{
	if (queue_pause(queue_of(request), reason, on_paused, request) < 0)
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
}

void handle_pause(struct request *request, const void *arguments)
{
	const struct pause_request *pause = arguments;

	pause_ask(request, pause->reason ? pause->reason : "");
}

void handle_resume(struct request *request, const void *arguments)
{
	(void)arguments;
	pause_ask(request, NULL);
}

void handle_drain(struct request *request, const void *arguments)
{
	const struct drain_request *drain = arguments;
	const char *before = queue_paused_reason(queue_of(request));

	/* One that gives no reason leaves the one there is. */
	if (drain->reason)
		pause_ask(request, drain->reason);
	else
		pause_ask(request, before ? before : "");
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
