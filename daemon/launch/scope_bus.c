/* SPDX-License-Identifier: MIT */

/*
 * The connection to the user manager, made and used without ever waiting.
 *
 * We talk to the manager's private socket where it is there (one hop less, and no bus daemon that
 * can be missing), else to the user bus. XDG_RUNTIME_DIR is often not set (cron, su, sudo), so
 * /run/user/UID is tried by itself when it is ours.
 *
 * A manager that is away, hung or being started anew must not keep clients waiting: connecting is
 * authenticating, Hello, the match and Subscribe, all queued at once, and only the answer to the
 * last makes the connection ready. A way that has not got there in time gives place to the next.
 *
 * sd-bus is driven by uv: a poll handle on its descriptor, a timer for its timeouts and ours.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/scope_manager.h"

#define CONNECT_MILLISECONDS 5000

static const struct way {
	const char *name; /* below the runtime folder */
	bool is_bus;
} ways[] = {
	{"systemd/private", false},
	{"bus", true},
};

static void on_timer(uv_timer_t *timer)
{
	bus_turn(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	bus_turn(poll->data);
}

static void on_poll_closed(uv_handle_t *handle)
{
	free(handle);
}

void bus_close(ScopeManager *manager)
{
	if (manager->poll)
		uv_close((uv_handle_t *)steal(&manager->poll), on_poll_closed);
	/* Not flushed: that would wait for a manager that does not read. */
	manager->bus = sd_bus_close_unref(manager->bus);
	manager->ready = false;
	manager->refused = 0;
	manager->sweeping = 0;
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

static int on_subscribed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	ScopeManager *manager = userdata;

	(void)error;
	manager->refused = -sd_bus_message_get_errno(message);
	manager->ready = manager->refused == 0;
	return 0;
}

/* Queues all that it takes, for the socket at path, which may not be there (-ENOENT). */
static int bus_begin(ScopeManager *manager, const char *path, bool is_bus)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
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
		r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_match_signal_async(bus, NULL, NULL, MANAGER_PATH, MANAGER_INTERFACE,
					      "JobRemoved", scope_manager_job_removed, NULL,
					      manager);
	/* Without a subscriber JobRemoved may never be sent. */
	if (r >= 0)
		r = sd_bus_call_method_async(bus, NULL, MANAGER_NAME, MANAGER_PATH,
					     MANAGER_INTERFACE, "Subscribe", on_subscribed, manager,
					     "");
	if (r < 0)
		return r;
	manager->poll = calloc(1, sizeof(*manager->poll));
	r = manager->poll ? uv_poll_init(manager->loop, manager->poll, sd_bus_get_fd(bus))
			  : -ENOMEM;
	if (r < 0) {
		free(steal(&manager->poll));
		return r;
	}
	manager->poll->data = manager;
	manager->bus = steal(&bus);
	return 0;
}

static int no_way(const char *folder, int error, struct fault *ret_fault)
{
	if (error == -ENOENT)
		return fault_set(ret_fault, ERROR_unavailable,
				 "no user manager: neither its socket nor a user bus is in %s",
				 folder),
		       fault_hint(ret_fault,
				  "start a systemd user session (loginctl enable-linger), "
				  "or use --backend none");
	return fault_set(ret_fault, ERROR_unavailable, "the user manager in %s does not answer: %s",
			 folder, strerror(-error));
}

/* The first way, from manager->way on, that lets itself be begun. error: of the one before. */
static int bus_try(ScopeManager *manager, int error, struct fault *ret_fault)
{
	char folder[PATH_MAX / 2], path[PATH_MAX];
	int r = runtime_folder(folder, sizeof(folder), ret_fault);

	if (r)
		return r;
	for (; manager->way < ARRAY_SIZE(ways); manager->way++) {
		const struct way *way = &ways[manager->way];

		snprintf(path, sizeof(path), "%s/%s", folder, way->name);
		r = bus_begin(manager, path, way->is_bus);
		if (r == 0) {
			uv_update_time(manager->loop);
			manager->connect_deadline = uv_now(manager->loop) + CONNECT_MILLISECONDS;
			return 0;
		}
		error = r == -ENOENT && error ? error : r;
	}
	return no_way(folder, error, ret_fault);
}

int bus_connect(ScopeManager *manager, struct fault *ret_fault)
{
	if (manager->bus)
		return 0;
	manager->way = 0;
	return bus_try(manager, 0, ret_fault);
}

/* This connection will not do. FAULT: neither will another. */
static int bus_failed(ScopeManager *manager, int error, struct fault *ret_fault)
{
	bus_close(manager);
	manager->way++;
	return bus_try(manager, error, ret_fault);
}

/* What is to be processed now: 0, or -errno when the connection is of no use. */
static int bus_process(ScopeManager *manager)
{
	int r;

	do
		r = sd_bus_process(manager->bus, NULL);
	while (r > 0 && !manager->refused);
	return r < 0 ? r : manager->refused;
}

int bus_connect_now(ScopeManager *manager, struct fault *ret_fault)
{
	int r = bus_connect(manager, ret_fault);

	while (r == 0 && !manager->ready) {
		uint64_t now;

		r = bus_process(manager);
		uv_update_time(manager->loop);
		now = uv_now(manager->loop);
		if (r == 0 && !manager->ready && now >= manager->connect_deadline)
			r = -ETIMEDOUT;
		if (r == 0 && !manager->ready)
			r = sd_bus_wait(manager->bus, (manager->connect_deadline - now) * 1000);
		if (r >= 0 || r == -EINTR)
			r = 0;
		else
			r = bus_failed(manager, r, ret_fault);
	}
	return r;
}

/* Milliseconds from now until somebody wants to be looked at; 0 for never. */
static uint64_t next_look(ScopeManager *manager, uint64_t wanted)
{
	uint64_t now = uv_now(manager->loop), until;

	if (!manager->ready && manager->connect_deadline < wanted)
		wanted = manager->connect_deadline;
	if (manager->closing && manager->close_deadline < wanted)
		wanted = manager->close_deadline;
	if (sd_bus_get_timeout(manager->bus, &until) >= 0 && until != UINT64_MAX &&
	    until / 1000 < wanted)
		wanted = until / 1000 + 1;
	if (wanted == UINT64_MAX)
		return 0;
	return wanted > now ? wanted - now : 1;
}

static void bus_arm(ScopeManager *manager, int events, uint64_t expires)
{
	uint64_t wait = next_look(manager, expires);

	uv_poll_start(manager->poll,
		      ((events & POLLIN) ? UV_READABLE : 0) |
			      ((events & POLLOUT) ? UV_WRITABLE : 0) | UV_DISCONNECT,
		      on_poll);
	if (wait)
		uv_timer_start(&manager->timer, on_timer, wait, 0);
	else
		uv_timer_stop(&manager->timer);
}

/* One connection's turn. -errno when it is of no use any more. */
static int bus_turn_once(ScopeManager *manager)
{
	bool was_ready = manager->ready;
	uint64_t expires;
	int r = bus_process(manager);

	if (r == 0 && !manager->ready && uv_now(manager->loop) >= manager->connect_deadline)
		r = -ETIMEDOUT;
	if (r < 0)
		return r;
	if (manager->ready && !was_ready)
		scope_manager_ready(manager);
	expires = scope_manager_expire(manager);
	r = sd_bus_get_events(manager->bus);
	if (r < 0)
		return r;
	bus_arm(manager, r, expires);
	return 0;
}

void bus_turn(ScopeManager *manager)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	bool was_ready;
	int r;

	/* What a callback queues is sent by the turn that called it. */
	if (manager->turning)
		return;
	manager->turning = true;
	while (manager->bus && !manager->shut) {
		was_ready = manager->ready;
		r = bus_turn_once(manager);
		if (r == 0)
			break;
		if (was_ready || manager->closing) {
			bus_close(manager);
			scope_manager_lost(manager, "the connection to the user manager was lost");
			break;
		}
		r = bus_failed(manager, r, &fault);
		if (r) {
			if (r < 0)
				fault_errno(&fault, r, "user manager");
			scope_manager_lost(manager, fault.message);
		}
	}
	manager->turning = false;
	scope_manager_try_shut(manager);
}
