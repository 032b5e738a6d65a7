/* SPDX-License-Identifier: MIT */

/*
 * The user manager's side of a launch: starts that are under way, and the manager's own life.
 * The connection is scope_bus.c's; a start that comes while there is none waits for it, and for no
 * longer than for anything else.
 *
 * The properties, and why: Delegate since the keeper makes sub-cgroups for itself and the payload;
 * CollectMode=inactive-or-failed so that a scope whose processes were OOM-killed does not keep its
 * name; OOMPolicy=continue since the default would stop the keeper for what its payload did;
 * TimeoutStopUSec bounds a stop by hand.
 */
#include "launch/scope.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "launch/scope_manager.h"

#define START_SECONDS 20
#define SWEEP_MILLISECONDS 3000
#define CLOSE_MILLISECONDS 1000

struct pending {
	TAILQ_ENTRY(pending) link;
	ScopeManager *manager;
	struct scope_start *start; /* NULL once abandoned */
	char unit[128];
	char description[128];
	struct scope_request request; /* points to these */
	bool sent;
	sd_bus_slot *call;
	uint64_t deadline; /* uv_now milliseconds */
};

static void pending_finish(struct pending *pending, int result, const char *why)
{
	struct scope_start *start = pending->start;

	TAILQ_REMOVE(&pending->manager->pending, pending, link);
	sd_bus_slot_unref(pending->call);
	if (start) {
		start->owner = NULL;
		start->result = result;
		if (result == FAULT)
			fault_void(&start->fault, CAUSE_sandbox_unavailable,
				   "no scope %s on the user manager: %s", pending->unit, why);
	}
	free(pending);
	if (start)
		start->done(start);
}

int scope_manager_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	ScopeManager *manager = userdata;
	const char *job, *unit, *result;
	struct pending *pending;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) < 0)
		return 0;
	TAILQ_FOREACH(pending, &manager->pending, link)
	{
		if (strcmp(pending->unit, unit) != 0)
			continue;
		if (strcmp(result, "done") == 0)
			pending_finish(pending, 0, NULL);
		else
			pending_finish(pending, FAULT, result);
		break;
	}
	return 0;
}

static int on_start_reply(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct pending *pending = userdata;
	const sd_bus_error *answer = sd_bus_message_get_error(message);

	(void)error;
	/* A good reply only names the job; JobRemoved decides. */
	if (answer)
		pending_finish(pending, FAULT, answer->message ? answer->message : answer->name);
	return 0;
}

static int start_message(sd_bus *bus, sd_bus_message **ret_message,
			 const struct scope_request *request)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &m, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE,
					   "StartTransientUnit");
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", request->unit, "fail");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
					  request->description, "Slice", "s", "trials.slice",
					  "Delegate", "b", 1, "CollectMode", "s",
					  "inactive-or-failed", "OOMPolicy", "s", "continue",
					  "KillMode", "s", "control-group", "TimeoutStopUSec", "t",
					  (uint64_t)5000000, "PIDs", "au", 1,
					  (uint32_t)request->pid);
	if (r >= 0 && request->memory)
		r = sd_bus_message_append(m, "(sv)", "MemoryMax", "t", request->memory);
	if (r >= 0 && request->tasks)
		r = sd_bus_message_append(m, "(sv)", "TasksMax", "t", request->tasks);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	if (r >= 0)
		r = sd_bus_message_append(m, "a(sa(sv))", 0);
	if (r >= 0)
		*ret_message = steal(&m);
	return r;
}

static void pending_send(struct pending *pending)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	sd_bus *bus = pending->manager->bus;
	int r = start_message(bus, &message, &pending->request);

	if (r >= 0)
		r = sd_bus_call_async(bus, &pending->call, message, on_start_reply, pending,
				      START_SECONDS * 1000000ull);
	pending->sent = true;
	if (r < 0)
		pending_finish(pending, FAULT, strerror(-r));
}

/* Each is taken anew from the front: one that ends may end others. */
void scope_manager_ready(ScopeManager *manager)
{
	struct pending *pending;

	do {
		TAILQ_FOREACH(pending, &manager->pending, link)
		if (!pending->sent)
			break;
		if (pending)
			pending_send(pending);
	} while (pending);
}

/* Those that are there now: whoever is told may begin another, with a connection of its own. */
void scope_manager_lost(ScopeManager *manager, const char *why)
{
	struct pending *last = TAILQ_LAST(&manager->pending, pending_list), *pending;

	do {
		pending = TAILQ_FIRST(&manager->pending);
		if (pending)
			pending_finish(pending, FAULT, why);
	} while (pending != last);
}

uint64_t scope_manager_expire(ScopeManager *manager)
{
	uint64_t now = uv_now(manager->loop), wanted = UINT64_MAX;
	struct pending *pending;

	/* The oldest stands first. */
	while ((pending = TAILQ_FIRST(&manager->pending)) && pending->deadline <= now)
		pending_finish(pending, FAULT, "the user manager did not answer in time");
	if (pending)
		wanted = pending->deadline;
	return wanted;
}

void scope_start(ScopeManager *manager, struct scope_start *start,
		 const struct scope_request *request)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	int r;

	start->fault = FAULT_INIT;
	start->owner = NULL;
	r = pending ? bus_connect(manager, &start->fault) : -ENOMEM;
	if (r) {
		free(pending);
		if (r < 0)
			fault_errno(&start->fault, r, "scope");
		start->result = FAULT;
		start->done(start);
		return;
	}
	pending->manager = manager;
	pending->start = start;
	pending->deadline = uv_now(manager->loop) + START_SECONDS * 1000;
	snprintf(pending->unit, sizeof(pending->unit), "%s", request->unit);
	snprintf(pending->description, sizeof(pending->description), "%s", request->description);
	pending->request = *request;
	pending->request.unit = pending->unit;
	pending->request.description = pending->description;
	start->owner = pending;
	TAILQ_INSERT_TAIL(&manager->pending, pending, link);
	if (manager->ready)
		pending_send(pending);
	bus_turn(manager);
}

void scope_start_abandon(struct scope_start *start)
{
	struct pending *pending = start->owner;

	if (!pending)
		return;
	start->owner = NULL;
	pending->start = NULL;
}

/* The manager's own life. */

/* Once more, for those that were on their way when we started. */
static void on_sweep_timer(uv_timer_t *timer)
{
	ScopeManager *manager = timer->data;

	scope_sweep(manager);
	bus_turn(manager);
}

static void scope_manager_free(ScopeManager *manager)
{
	bus_close(manager);
	free(manager);
}

int scope_manager_new(ScopeManager **ret_manager, uv_loop_t *loop, struct fault *ret_fault)
{
	ScopeManager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager)
		return -ENOMEM;
	manager->loop = loop;
	TAILQ_INIT(&manager->pending);
	r = bus_connect_now(manager, ret_fault);
	if (r) {
		scope_manager_free(manager);
		return r;
	}
	uv_timer_init(loop, &manager->timer);
	manager->timer.data = manager;
	uv_timer_init(loop, &manager->sweep_timer);
	manager->sweep_timer.data = manager;
	scope_sweep(manager);
	uv_timer_start(&manager->sweep_timer, on_sweep_timer, SWEEP_MILLISECONDS, 0);
	bus_turn(manager);
	*ret_manager = manager;
	return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
	ScopeManager *manager = handle->data;

	if (--manager->handles > 0)
		return;
	if (manager->closed)
		manager->closed(manager->context);
	free(manager);
}

void scope_manager_try_shut(ScopeManager *manager)
{
	bool waits = manager->bus && manager->ready && manager->sweeping > 0 &&
		     uv_now(manager->loop) < manager->close_deadline;

	if (!manager->closing || manager->shut || waits)
		return;
	manager->shut = true;
	bus_close(manager);
	manager->handles = 2;
	uv_close((uv_handle_t *)&manager->timer, on_timer_closed);
	uv_close((uv_handle_t *)&manager->sweep_timer, on_timer_closed);
}

void scope_manager_close(ScopeManager *manager, void (*closed)(void *context), void *context)
{
	struct pending *pending;

	manager->closing = true;
	manager->closed = closed;
	manager->context = context;
	while ((pending = TAILQ_FIRST(&manager->pending))) {
		pending->start = NULL;
		pending_finish(pending, FAULT, "closing");
	}
	/* Bounded: what it would have found is found at the next start. */
	manager->close_deadline = uv_now(manager->loop) + CLOSE_MILLISECONDS;
	scope_sweep(manager);
	bus_turn(manager);
}
