/* SPDX-License-Identifier: MIT */

/*
 * The user manager's side of a launch.
 *
 * We talk to the manager's private socket where it is there (one hop less, and no bus daemon that
 * can be missing), else to the user bus. XDG_RUNTIME_DIR is often not set (cron, su, sudo), so
 * /run/user/UID is tried by itself when it is ours.
 *
 * sd-bus is driven by uv: a poll handle on its descriptor, a timer for its timeouts, and after
 * everything that may have queued work one `scope_manager_turn`, which processes until nothing is
 * left and arms both again.
 *
 * The properties, and why: Delegate since the keeper makes sub-cgroups for itself and the payload;
 * CollectMode=inactive-or-failed so that a scope whose processes were OOM-killed does not keep its
 * name; OOMPolicy=continue since the default would stop the keeper for what its payload did;
 * TimeoutStopUSec bounds a stop by hand.
 */
#include "launch/scope.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>

#define MANAGER_NAME "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define CONNECT_SECONDS 5
#define START_SECONDS 20
#define SWEEP_MILLISECONDS 3000

struct pending {
	TAILQ_ENTRY(pending) link;
	ScopeManager *manager;
	struct scope_start *start; /* NULL once abandoned */
	char unit[128];
	sd_bus_slot *call;
	uint64_t deadline; /* uv_now milliseconds */
};

struct ScopeManager {
	uv_loop_t *loop;
	sd_bus *bus;
	uv_poll_t *poll; /* of this connection's descriptor; NULL without one */
	uv_timer_t timer;
	uv_timer_t sweep;
	int handles; /* the timers, not yet closed */
	bool closing;
	TAILQ_HEAD(, pending) pending;
	void (*closed)(void *context);
	void *context;
};

static void scope_manager_turn(ScopeManager *manager);

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

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
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

static void on_timer(uv_timer_t *timer)
{
	ScopeManager *manager = timer->data;
	struct pending *pending, *next;
	uint64_t now = uv_now(manager->loop);

	for (pending = TAILQ_FIRST(&manager->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, link);
		if (pending->deadline <= now)
			pending_finish(pending, FAULT, "the user manager did not answer in time");
	}
	scope_manager_turn(manager);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	scope_manager_turn(poll->data);
}

static void on_poll_closed(uv_handle_t *handle)
{
	free(handle);
}

static void connection_close(ScopeManager *manager)
{
	if (manager->poll)
		uv_close((uv_handle_t *)steal(&manager->poll), on_poll_closed);
	manager->bus = sd_bus_flush_close_unref(manager->bus);
}

static void scope_manager_lost(ScopeManager *manager)
{
	struct pending *pending;

	connection_close(manager);
	while ((pending = TAILQ_FIRST(&manager->pending)))
		pending_finish(pending, FAULT, "the connection to the user manager was lost");
}

/* Milliseconds until sd-bus or the oldest start wants to be looked at; 0 for never. */
static uint64_t next_look(ScopeManager *manager)
{
	struct pending *pending;
	uint64_t wanted = UINT64_MAX, now = uv_now(manager->loop), until;

	TAILQ_FOREACH(pending, &manager->pending, link)
	if (pending->deadline < wanted)
		wanted = pending->deadline;
	if (manager->bus && sd_bus_get_timeout(manager->bus, &until) >= 0 && until != UINT64_MAX &&
	    until / 1000 < wanted)
		wanted = until / 1000 + 1;
	if (wanted == UINT64_MAX)
		return 0;
	return wanted > now ? wanted - now : 1;
}

static void scope_manager_turn(ScopeManager *manager)
{
	uint64_t wait;
	int events, r;

	if (manager->closing || !manager->bus)
		return;
	do {
		r = sd_bus_process(manager->bus, NULL);
		if (manager->closing)
			return;
	} while (r > 0);
	if (r < 0) {
		scope_manager_lost(manager);
		return;
	}
	events = sd_bus_get_events(manager->bus);
	if (events < 0) {
		scope_manager_lost(manager);
		return;
	}
	uv_poll_start(manager->poll,
		      ((events & POLLIN) ? UV_READABLE : 0) |
			      ((events & POLLOUT) ? UV_WRITABLE : 0) | UV_DISCONNECT,
		      on_poll);
	wait = next_look(manager);
	if (wait)
		uv_timer_start(&manager->timer, on_timer, wait, 0);
	else
		uv_timer_stop(&manager->timer);
}

/* The runtime folder that is ours: from the environment, else the usual one. */
static int runtime_folder(char *buffer, size_t size, struct fault *ret_fault)
{
	const char *set = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (set && *set == '/')
		snprintf(buffer, size, "%s", set);
	else
		snprintf(buffer, size, "/run/user/%u", (unsigned int)getuid());
	if (stat(buffer, &st) < 0 || !S_ISDIR(st.st_mode))
		return fault_set(ret_fault, ERROR_unavailable, "no user manager: %s does not exist",
				 buffer),
		       fault_hint(ret_fault, "loginctl enable-linger %s", getenv("USER") ?: "USER");
	if (st.st_uid != getuid())
		return fault_set(ret_fault, ERROR_unavailable,
				 "no user manager: %s belongs to another user", buffer);
	return 0;
}

/* One way to the manager: a socket, which may not be there (-ENOENT), proved by a first call. */
static int bus_try(const char *path, bool is_bus, sd_bus **ret_bus)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	char address[PATH_MAX + 16];
	struct stat st;
	int r;

	if (stat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != getuid())
		return -ENOENT;
	/* Addresses have an escape of their own; a runtime folder that needs it is not usual. */
	if (strpbrk(path, ",;=%*?\\ \n"))
		return -EINVAL;
	snprintf(address, sizeof(address), "unix:path=%s", path);
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, is_bus);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, CONNECT_SECONDS * 1000000ull);
	if (r >= 0)
		r = sd_bus_start(bus);
	/* Without a subscriber JobRemoved may never be sent. */
	if (r >= 0)
		r = sd_bus_call_method(bus, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE,
				       "Subscribe", &error, NULL, "");
	sd_bus_error_free(&error);
	if (r < 0)
		return r;
	*ret_bus = steal(&bus);
	return 0;
}

static int bus_open(sd_bus **ret_bus, struct fault *ret_fault)
{
	char folder[PATH_MAX / 2], path[PATH_MAX];
	int r = runtime_folder(folder, sizeof(folder), ret_fault);

	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/systemd/private", folder);
	r = bus_try(path, false, ret_bus);
	if (r == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/bus", folder);
	r = bus_try(path, true, ret_bus);
	if (r == 0)
		return 0;
	if (r == -ENOENT)
		return fault_set(ret_fault, ERROR_unavailable,
				 "no user manager: neither its socket nor a user bus is in %s",
				 folder),
		       fault_hint(ret_fault,
				  "start a systemd user session (loginctl enable-linger), "
				  "or use --backend none");
	return fault_set(ret_fault, ERROR_unavailable, "the user manager in %s does not answer: %s",
			 folder, strerror(-r));
}

/* Connects unless connected; the poll handle is tied to the connection's descriptor. */
static int scope_manager_connect(ScopeManager *manager, struct fault *ret_fault)
{
	int r;

	if (manager->bus)
		return 0;
	r = bus_open(&manager->bus, ret_fault);
	if (r)
		return r;
	r = sd_bus_match_signal(manager->bus, NULL, NULL, MANAGER_PATH, MANAGER_INTERFACE,
				"JobRemoved", on_job_removed, manager);
	if (r >= 0) {
		manager->poll = calloc(1, sizeof(*manager->poll));
		r = manager->poll ? uv_poll_init(manager->loop, manager->poll,
						 sd_bus_get_fd(manager->bus))
				  : -ENOMEM;
		if (r < 0)
			free(steal(&manager->poll));
		else
			manager->poll->data = manager;
	}
	if (r < 0)
		connection_close(manager);
	return r < 0 ? r : 0;
}

/*
 * Scopes of Trials in which nothing lives. A keeper that dies while it is being attached leaves
 * one that the manager thinks is active, for good: nobody is left to make its cgroup empty. Only
 * names of ours, only what the kernel calls unpopulated, and a stop of that is the end of nothing.
 */
static bool scope_is_empty(sd_bus *bus, const char *unit_path)
{
	_cleanup_free_ char *group = NULL;
	char path[PATH_MAX], text[256];
	ssize_t n;
	int fd;

	if (sd_bus_get_property_string(bus, MANAGER_NAME, unit_path,
				       "org.freedesktop.systemd1.Scope", "ControlGroup", NULL,
				       &group) < 0)
		return false;
	/* Without a cgroup there is nothing in it; an empty string must never become the root. */
	if (!*group)
		return true;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.events", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "populated 0") != NULL;
}

static int scope_list(sd_bus *bus, sd_bus_message **ret_reply)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, MANAGER_NAME, MANAGER_PATH,
					       MANAGER_INTERFACE, "ListUnitsByPatterns");

	if (r >= 0)
		r = sd_bus_message_append(call, "asas", 1, "active", 1, "trial-*.scope");
	return r < 0 ? r : sd_bus_call(bus, call, 0, NULL, ret_reply);
}

static void scope_sweep(ScopeManager *manager)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *unit, *path;

	if (!manager->bus || scope_list(manager->bus, &reply) < 0 ||
	    sd_bus_message_enter_container(reply, 'a', "(ssssssouso)") < 0)
		return;
	while (sd_bus_message_read(reply, "(ssssssouso)", &unit, NULL, NULL, NULL, NULL, NULL,
				   &path, NULL, NULL, NULL) > 0)
		if (scope_is_empty(manager->bus, path))
			sd_bus_call_method(manager->bus, MANAGER_NAME, MANAGER_PATH,
					   MANAGER_INTERFACE, "StopUnit", NULL, NULL, "ss", unit,
					   "fail");
}

/* Once more, for those that were on their way when we started. */
static void on_sweep_timer(uv_timer_t *timer)
{
	scope_sweep(timer->data);
}

int scope_manager_new(ScopeManager **ret_manager, uv_loop_t *loop, struct fault *ret_fault)
{
	ScopeManager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager)
		return -ENOMEM;
	manager->loop = loop;
	TAILQ_INIT(&manager->pending);
	r = scope_manager_connect(manager, ret_fault);
	if (r) {
		free(manager);
		return r;
	}
	uv_timer_init(loop, &manager->timer);
	manager->timer.data = manager;
	uv_timer_init(loop, &manager->sweep);
	manager->sweep.data = manager;
	scope_sweep(manager);
	uv_timer_start(&manager->sweep, on_sweep_timer, SWEEP_MILLISECONDS, 0);
	scope_manager_turn(manager);
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
	scope_sweep(manager);
	connection_close(manager);
	manager->handles = 2;
	uv_close((uv_handle_t *)&manager->timer, on_timer_closed);
	uv_close((uv_handle_t *)&manager->sweep, on_timer_closed);
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

static int scope_start_send(ScopeManager *manager, struct pending *pending,
			    const struct scope_request *request)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r = start_message(manager->bus, &message, request);

	if (r >= 0)
		r = sd_bus_call_async(manager->bus, &pending->call, message, on_start_reply,
				      pending, START_SECONDS * 1000000ull);
	return r;
}

void scope_start(ScopeManager *manager, struct scope_start *start,
		 const struct scope_request *request)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	int r;

	start->fault = FAULT_INIT;
	start->owner = NULL;
	r = pending ? scope_manager_connect(manager, &start->fault) : -ENOMEM;
	if (r == 0) {
		pending->manager = manager;
		pending->start = start;
		pending->deadline = uv_now(manager->loop) + START_SECONDS * 1000;
		snprintf(pending->unit, sizeof(pending->unit), "%s", request->unit);
		start->owner = pending;
		TAILQ_INSERT_TAIL(&manager->pending, pending, link);
		r = scope_start_send(manager, pending, request);
		if (r < 0)
			pending_finish(pending, FAULT, strerror(-r));
		scope_manager_turn(manager);
		return;
	}
	free(pending);
	if (r < 0)
		fault_errno(&start->fault, r, "scope");
	start->result = FAULT;
	start->done(start);
}

void scope_start_abandon(struct scope_start *start)
{
	struct pending *pending = start->owner;

	if (!pending)
		return;
	start->owner = NULL;
	pending->start = NULL;
}
