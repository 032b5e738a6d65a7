/* SPDX-License-Identifier: MIT */

/*
 * The verbs. Each row of the table says what a verb's arguments are decoded to and what handles
 * them; a handler checks what only it can know and calls one function of the queue or the ledger.
 *
 * Most requests are answered when the ledger calls back. Those that stand (wait, watch, logs) stay
 * with their session until they are over; the server's one watch of the queue wakes them.
 */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POSITION_LOOK 1000 /* places of the queue that are counted for one answer */

typedef void (*verb_handler)(struct request *request, const void *arguments);

struct verb_entry {
	verb_handler handle;
	enum unknown_keys unknown;
	bool before_hello; /* also for a client whose version we do not know */
};

/* Life of a request. */

/* Those that take a thread, and much room when they are answered. */
static bool makes_pages(enum verb verb)
{
	return verb == VERB_list || verb == VERB_logins || verb == VERB_login_restore ||
	       verb == VERB_arm_prepare || verb == VERB_arm_verify || verb == VERB_arm_list ||
	       verb == VERB_arm_remove || verb == VERB_bar_set || verb == VERB_bar_list;
}

static struct request *request_new(Session *session, uint64_t number, enum verb verb)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->session = session_ref(session);
	request->number = number;
	request->verb = verb;
	request->prompt_fd = -1;
	request->pending = true;
	session->pending++;
	if (makes_pages(verb))
		session->lists++;
	return request;
}

static void request_settle(struct request *request)
{
	if (!request->pending)
		return;
	request->pending = false;
	request->session->pending--;
	if (makes_pages(request->verb))
		request->session->lists--;
	if (request->with_prompt)
		request->session->prompts--;
}

static void request_unwait(struct request *request)
{
	if (request->waiting)
		LIST_REMOVE(request, wait_link);
	request->waiting = false;
}

void request_done(struct request *request)
{
	Session *session = request->session;

	request_settle(request);
	request_unwait(request);
	if (request->standing) {
		LIST_REMOVE(request, link);
		session->standing--;
	}
	logs_free(request);
	watch_free(request);
	fd_close(request->prompt_fd);
	free(request);
	session_settled(session);
	session_unref(session);
}

bool request_stand(struct request *request)
{
	Session *session = request->session;

	if (session->closing || session->draining) {
		request_done(request);
		return false;
	}
	if (session->standing >= CLIENT_REQUESTS_MAX) {
		session_error(session, request->number, ERROR_busy,
			      "too many waits and subscriptions of this client", NULL);
		request_done(request);
		return false;
	}
	request->standing = true;
	session->standing++;
	LIST_INSERT_HEAD(&session->subscriptions, request, link);
	request_settle(request);
	return true;
}

void request_session_gone(Session *session)
{
	struct request *request;

	session_ref(session);
	while ((request = LIST_FIRST(&session->subscriptions)))
		request_done(request);
	session_unref(session);
}

void request_refuse(struct request *request, enum error_code code, const char *message,
		    const char *hint)
{
	session_error(request->session, request->number, code, message, hint);
	request_done(request);
}

static void request_not_found(struct request *request)
{
	char text[64];

	snprintf(text, sizeof(text), "no Trial has the id %llu", (unsigned long long)request->id);
	request_refuse(request, ERROR_not_found, text, "trialctl list");
}

static Ledger *request_ledger(const struct request *request)
{
	return request->session->server->options.ledger;
}

bool request_ledger_failed(struct request *request)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	if (request->call.result == -ENOENT) {
		request_not_found(request);
		return true;
	}
	if (request->call.result >= 0)
		return false;
	if (ledger_fault(request_ledger(request), request->call.result, &fault) == FAULT)
		request_refuse(request, fault.code, fault.message, fault.hint);
	else
		request_refuse(request, ERROR_internal, "not enough memory", NULL);
	return true;
}

static Queue *request_queue(const struct request *request)
{
	return request->session->server->options.queue;
}

/* Trials as answers. */

void view_add_queue(struct trial_view *view, Queue *queue, char reason[QUEUE_REASON_BYTES])
{
	struct trial *trial = queue_find(queue, view->id);
	struct queue_hold hold;

	if (!trial)
		return;
	if (queue_held(queue, trial, reason, &hold)) {
		view->state = STATE_held;
		view_add_hold(view, &hold);
	}
	view->position = queue_position(queue, trial, POSITION_LOOK);
	view->has.position = view->position > 0;
	view->waits_for = queue_waits_for(queue, trial, reason);
	view->has.waits_for = view->waits_for != NULL;
}

static bool is_too_large(const struct request *request, const struct view *view)
{
	msgpack_sbuffer frame;
	int r;

	msgpack_sbuffer_init(&frame);
	r = frame_write_reply(&frame, request->number, &trial_view_type, &view->trial);
	msgpack_sbuffer_destroy(&frame);
	return r == -EMSGSIZE;
}

/* A Trial that is large otherwise is told without its lists, rather than not at all. */
static void add_whole(struct request *request, struct view *view)
{
	view_add_whole(view);
	if (is_too_large(request, view))
		view_drop_whole(view);
	else
		return;
	if (view->trial.has.sandbox && is_too_large(request, view))
		view->trial.has.sandbox = false;
}

void request_reply_row(struct request *request, const struct ledger_row *row)
{
	Queue *queue = request_queue(request);
	char reason[QUEUE_REASON_BYTES];
	struct view view;

	if (view_make(&view, row, queue_trials_folder(queue), request->with_plan) < 0) {
		session_error(request->session, request->number, ERROR_internal,
			      "not enough memory", NULL);
	} else {
		view_add_queue(&view.trial, queue, reason);
		if (request->whole)
			add_whole(request, &view);
		if (!view.trial.has.notes && request->warnings && request->warnings->count > 0) {
			view.trial.notes = *request->warnings;
			view.trial.has.notes = true;
		}
		session_reply(request->session, request->number, &trial_view_type, &view.trial);
	}
	view_done(&view);
}

/* Verbs. */

static void handle_hello(struct request *request, const void *arguments)
{
	const struct hello_request *hello = arguments;
	Session *session = request->session;
	static const char *features[] = {"prompt_descriptor"};
	struct hello_reply reply = {
		.has = {.version = true, .program = true},
		.version = PROTOCOL_VERSION,
		.program = PROGRAM,
		.features = {.count = ARRAY_SIZE(features), .items = features},
	};

	if (hello->version < PROTOCOL_VERSION_OLDEST) {
		request_refuse(request, ERROR_unsupported_version,
			       "this daemon speaks protocol version 1 and newer",
			       "update the client");
		return;
	}
	if (hello->version < reply.version)
		reply.version = hello->version;
	if (hello->program)
		snprintf(session->program, sizeof(session->program), "%s", hello->program);
	session->hello = true;
	session_reply(session, request->number, &hello_reply_type, &reply);
	request_done(request);
}

static void on_submitted(void *context, const struct submit_result *result)
{
	struct request *request = context;

	request->warnings = result->warnings;
	if (result->result == 0)
		request_reply_row(request, result->row);
	else if (result->fault)
		session_error(request->session, request->number, result->fault->code,
			      result->fault->message, result->fault->hint);
	else
		session_error(request->session, request->number, ERROR_internal,
			      strerror(-result->result), NULL);
	request_done(request);
}

static void handle_launch(struct request *request, const void *arguments)
{
	const struct launch_request *launch = arguments;

	if (launch->prompt_descriptor && request->prompt_fd < 0) {
		request_refuse(request, ERROR_invalid,
			       "prompt_descriptor: no descriptor came with the frame", NULL);
		return;
	}
	queue_submit(request_queue(request), launch, fd_steal(&request->prompt_fd), on_submitted,
		     request);
}

static void handle_rerun(struct request *request, const void *arguments)
{
	queue_rerun(request_queue(request), arguments, on_submitted, request);
}

static void on_got(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);

	if (request_ledger_failed(request))
		return;
	request_reply_row(request, call->row);
	request_done(request);
}

static void handle_show(struct request *request, const void *arguments)
{
	const struct show_request *show = arguments;

	request->id = show->id;
	request->with_plan = show->plan;
	request->whole = true;
	request->call.done = on_got;
	ledger_get(request_ledger(request), &request->call, request->id);
}

static void on_wait_got(struct ledger_call *call)
{
	struct request *request = container_of(call, struct request, call);
	Server *server = request->session->server;

	if (request_ledger_failed(request))
		return;
	if (call->row->state == STATE_ended) {
		request_reply_row(request, call->row);
		request_done(request);
		return;
	}
	/* Nothing can have ended between the read and here: both are answered in order. */
	if (!request_stand(request))
		return;
	request->waiting = true;
	LIST_INSERT_HEAD(&server->waits[request->id % WAIT_BUCKETS], request, wait_link);
	session_settled(request->session);
}

static void handle_wait(struct request *request, const void *arguments)
{
	const struct wait_request *wait = arguments;

	request->id = wait->id;
	request->call.done = on_wait_got;
	ledger_get(request_ledger(request), &request->call, request->id);
}

static void handle_cancel(struct request *request, const void *arguments)
{
	const struct cancel_request *cancel = arguments;
	char by[128];

	request->id = cancel->id;
	session_describe(request->session, by, sizeof(by));
	queue_cancel(request_queue(request), cancel->id,
		     cancel->has.grace_seconds ? cancel->grace_seconds : -1, by);
	/* The read comes after the change in the ledger's order: the answer is durable. */
	request->call.done = on_got;
	ledger_get(request_ledger(request), &request->call, request->id);
}

static void handle_shutdown(struct request *request, const void *arguments)
{
	const struct shutdown_request *shutdown = arguments;
	Server *server = request->session->server;
	struct shutdown_reply reply = {
		.has = {.canceled = true, .running = true, .pid = true},
		.pid = (uint64_t)getpid(),
	};
	char by[128];

	session_describe(request->session, by, sizeof(by));
	if (shutdown->cancel)
		reply.canceled = queue_cancel_running(request_queue(request), by);
	else
		reply.running = queue_slots_used(request_queue(request));
	session_reply(request->session, request->number, &shutdown_reply_type, &reply);
	request_done(request);
	server->options.shutdown(server->options.context, !shutdown->cancel);
}

static const struct verb_entry verbs[VERB_COUNT] = {
	[VERB_hello] = {handle_hello, UNKNOWN_KEYS_IGNORED, true},
	[VERB_launch] = {handle_launch, UNKNOWN_KEYS_REFUSED, false},
	[VERB_rerun] = {handle_rerun, UNKNOWN_KEYS_REFUSED, false},
	[VERB_list] = {handle_list, UNKNOWN_KEYS_REFUSED, false},
	[VERB_show] = {handle_show, UNKNOWN_KEYS_REFUSED, false},
	[VERB_wait] = {handle_wait, UNKNOWN_KEYS_REFUSED, false},
	[VERB_cancel] = {handle_cancel, UNKNOWN_KEYS_REFUSED, false},
	[VERB_logs] = {handle_logs, UNKNOWN_KEYS_REFUSED, false},
	[VERB_watch] = {handle_watch, UNKNOWN_KEYS_REFUSED, false},
	[VERB_doctor] = {handle_doctor, UNKNOWN_KEYS_REFUSED, false},
	[VERB_prune] = {handle_prune, UNKNOWN_KEYS_REFUSED, false},
	[VERB_pause] = {handle_pause, UNKNOWN_KEYS_REFUSED, false},
	[VERB_resume] = {handle_resume, UNKNOWN_KEYS_REFUSED, false},
	[VERB_drain] = {handle_drain, UNKNOWN_KEYS_REFUSED, false},
	[VERB_harness] = {handle_harness, UNKNOWN_KEYS_REFUSED, false},
	[VERB_logins] = {handle_logins, UNKNOWN_KEYS_REFUSED, false},
	[VERB_login_restore] = {handle_login_restore, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_prepare] = {handle_arm_prepare, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_list] = {handle_arm_list, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_show] = {handle_arm_show, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_verify] = {handle_arm_verify, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_diff] = {handle_arm_diff, UNKNOWN_KEYS_REFUSED, false},
	[VERB_arm_remove] = {handle_arm_remove, UNKNOWN_KEYS_REFUSED, false},
	[VERB_bar_set] = {handle_bar_set, UNKNOWN_KEYS_REFUSED, false},
	[VERB_bar_list] = {handle_bar_list, UNKNOWN_KEYS_REFUSED, false},
	[VERB_bar_show] = {handle_bar_show, UNKNOWN_KEYS_REFUSED, false},
	[VERB_panel_check] = {handle_panel_check, UNKNOWN_KEYS_REFUSED, false},
	[VERB_status] = {handle_status, UNKNOWN_KEYS_IGNORED, true},
	[VERB_shutdown] = {handle_shutdown, UNKNOWN_KEYS_IGNORED, true},
};

/* From a frame to a handler. */

static bool says_descriptor(const msgpack_object *arguments)
{
	static const char key[] = "prompt_descriptor";

	for (uint32_t i = 0; arguments && i < arguments->via.map.size; i++) {
		const msgpack_object_kv *pair = &arguments->via.map.ptr[i];

		if (pair->key.via.str.size == strlen(key) &&
		    memcmp(pair->key.via.str.ptr, key, strlen(key)) == 0)
			return pair->val.type == MSGPACK_OBJECT_BOOLEAN && pair->val.via.boolean;
	}
	return false;
}

/*
 * The descriptor that a launch says it has is taken before anything else is looked at, so that it
 * goes with this launch whatever is wrong with it.
 */
static void request_take_prompt(struct request *request, const msgpack_object *arguments)
{
	Session *session = request->session;

	if (request->verb != VERB_launch || !says_descriptor(arguments))
		return;
	request->prompt_fd = descriptors_take(&session->descriptors);
	request->with_prompt = request->prompt_fd >= 0;
	if (request->with_prompt)
		session->prompts++;
}

static void request_dispatch(Session *session, struct message *message,
			     const struct envelope *envelope, enum verb verb)
{
	static const msgpack_object no_arguments = {.type = MSGPACK_OBJECT_MAP};
	const struct message_type *type = verb_arguments_type(verb);
	struct decode_error error;
	struct request *request;
	_cleanup_free_ void *arguments = calloc(1, type->size + 1);
	char text[sizeof(error.field) + sizeof(error.reason) + 4];
	int r = 0;

	request = arguments ? request_new(session, envelope->number, verb) : NULL;
	if (!request) {
		session_close(session);
		return;
	}
	request_take_prompt(request, envelope->body);
	r = message_decode(message, envelope->body ? envelope->body : &no_arguments, type,
			   verbs[verb].unknown, arguments, &error);
	if (r < 0) {
		snprintf(text, sizeof(text), "%s: %s", error.field, error.reason);
		request_refuse(request, ERROR_invalid, text, NULL);
		return;
	}
	verbs[verb].handle(request, arguments);
}

void request_handle(Session *session, const uint8_t *body, size_t size)
{
	struct message *message = NULL;
	struct decode_error error;
	struct envelope envelope;
	int verb, r;

	r = message_parse(&message, body, size);
	if (r == 0)
		r = envelope_decode(message, &envelope, &error);
	if (r != 0 || envelope.kind != ENVELOPE_REQUEST) {
		session_break(session, "not a request of this protocol");
		message_free(message);
		return;
	}
	verb = verb_from_name(envelope.name);
	if (verb < 0)
		session_error(session, envelope.number, ERROR_unknown_verb,
			      "this daemon has no such verb", "update trialsd");
	else if (!session->hello && !verbs[verb].before_hello)
		session_error(session, envelope.number, ERROR_bad_request,
			      "the first request must be hello", NULL);
	else
		request_dispatch(session, message, &envelope, verb);
	message_free(message);
}

/* Wakes what stands. */

void request_queue_held(struct queue_watch *watch)
{
	Server *server = container_of(watch, Server, watch);
	struct request *request, *next_request;
	Session *session, *next;

	for (session = TAILQ_FIRST(&server->sessions); session; session = next) {
		next = TAILQ_NEXT(session, link);
		for (request = LIST_FIRST(&session->subscriptions); request;
		     request = next_request) {
			next_request = LIST_NEXT(request, link);
			if (request->verb == VERB_watch)
				watch_queue_held(request);
		}
	}
}

static void notify_session(Session *session, const struct ledger_row *row,
			   const struct state_event *event)
{
	struct request *request, *next;

	for (request = LIST_FIRST(&session->subscriptions); request; request = next) {
		next = LIST_NEXT(request, link);
		if (request->id && request->id != row->id)
			continue;
		if (request->verb == VERB_watch)
			watch_trial_changed(request, event);
		else if (request->verb == VERB_logs)
			logs_trial_changed(request, row);
	}
}

/*
 * Answers every wait for this Trial. They are taken out of the bucket first: an answered request
 * may let its session handle further ones, which may wait in the same bucket. The answers are written
 * when the loop next sleeps, so that whoever has one finds slot, leases and locks free.
 */
static void notify_waits(Server *server, const struct ledger_row *row)
{
	LIST_HEAD(, request) answered = LIST_HEAD_INITIALIZER(answered);
	struct request *request, *next;

	for (request = LIST_FIRST(&server->waits[row->id % WAIT_BUCKETS]); request;
	     request = next) {
		next = LIST_NEXT(request, wait_link);
		if (request->id != row->id)
			continue;
		LIST_REMOVE(request, wait_link);
		LIST_INSERT_HEAD(&answered, request, wait_link);
	}
	while ((request = LIST_FIRST(&answered))) {
		request_unwait(request);
		request_reply_row(request, row);
		request_done(request);
	}
}

void request_session_writable(Session *session)
{
	struct request *request, *next;

	for (request = LIST_FIRST(&session->subscriptions); request; request = next) {
		next = LIST_NEXT(request, link);
		if (request->verb == VERB_logs)
			logs_writable(request);
		else if (request->verb == VERB_watch)
			watch_writable(request);
	}
}

void request_trial_changed(struct queue_watch *watch, const struct queue_change *change)
{
	Server *server = container_of(watch, Server, watch);
	const struct ledger_row *row = change->row;
	struct state_event event = {
		.has = {.trial = true,
			.before = change->before >= 0,
			.number = true,
			.at = true,
			.state = true},
		.before = change->before >= 0 ? (enum state)change->before : STATE_queued,
		.number = change->number,
		.at = change->at,
		.state = row->state,
	};
	Session *session, *next;
	char reason[QUEUE_REASON_BYTES];
	struct view view;

	if (row->state == STATE_ended)
		notify_waits(server, row);
	if (view_make(&view, row, queue_trials_folder(server->options.queue), false) == 0) {
		view_add_queue(&view.trial, server->options.queue, reason);
		event.trial = view.trial;
		for (session = TAILQ_FIRST(&server->sessions); session; session = next) {
			next = TAILQ_NEXT(session, link);
			if (!LIST_EMPTY(&session->subscriptions))
				notify_session(session, row, &event);
		}
	}
	view_done(&view);
}
