/* SPDX-License-Identifier: MIT */

/*
 * Two of the group's files are watched: memory.events and pids.events. The kernel notifies of them
 * a few milliseconds after it counted, and again and again while a Trial works at its limit, so
 * after each notification they rest for a second: the next one is not lost meanwhile, since the
 * file stays marked until it is read. Without the controllers neither file is there.
 */
#include "launch/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_BYTES 4096
#define REST_MILLISECONDS 1000

struct events {
	uv_poll_t poll;
	int fd; /* -1: not there, or gone */
};

struct Cgroup {
	uv_loop_t *loop;
	struct payload payload;
	struct events memory;
	struct events tasks;
	uv_timer_t rest;
	int handles;
	struct payload_counters counters;
};

static void on_events(uv_poll_t *poll, int status, int events);

/* The process behind a pidfd; 0 when it is gone. */
static pid_t pidfd_pid(int pidfd)
{
	char path[64], text[512], *line;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	line = strstr(text, "\nPid:");
	return line ? (pid_t)strtol(line + strlen("\nPid:"), NULL, 10) : 0;
}

/* The scope's path, from that of its keeper, which must end in UNIT/keeper. */
static int scope_path(pid_t keeper, const char *unit, char *buffer, size_t size)
{
	char path[64], tail[192], *line, *end;
	size_t length, tail_length;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)keeper);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, buffer, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	buffer[n] = '\0';
	line = strncmp(buffer, "0::", 3) == 0 ? buffer : strstr(buffer, "\n0::");
	if (!line)
		return -ENOENT;
	line = strchr(line, '/');
	end = line ? strchr(line, '\n') : NULL;
	if (!end)
		return -ENOENT;
	*end = '\0';
	snprintf(tail, sizeof(tail), "/%s/keeper", unit);
	length = strlen(line);
	tail_length = strlen(tail);
	if (length < tail_length || strcmp(line + length - tail_length, tail) != 0)
		return -ESRCH;
	line[length - strlen("/keeper")] = '\0';
	memmove(buffer, line, strlen(line) + 1);
	return 0;
}

static int payload_open(int pidfd, const char *unit, int *ret_fd)
{
	char scope[CGROUP_BYTES], path[CGROUP_BYTES + sizeof(CGROUP_ROOT)];
	_cleanup_close_ int scope_fd = -1;
	pid_t keeper = pidfd_pid(pidfd);
	int fd, r;

	if (keeper <= 0)
		return -ESRCH;
	r = scope_path(keeper, unit, scope, sizeof(scope));
	if (r < 0)
		return r;
	/* A unit's name is never used twice, so whatever this opens is the Trial's. */
	snprintf(path, sizeof(path), CGROUP_ROOT "%s", scope);
	scope_fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (scope_fd < 0)
		return -errno;
	fd = openat(scope_fd, "payload", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static void events_watch(Cgroup *cgroup, struct events *events, const char *name)
{
	events->fd = openat(cgroup->payload.fd, name, O_RDONLY | O_CLOEXEC);
	if (events->fd < 0)
		return;
	if (uv_poll_init(cgroup->loop, &events->poll, events->fd) < 0) {
		events->fd = fd_close(events->fd);
		return;
	}
	events->poll.data = cgroup;
	cgroup->handles++;
	uv_poll_start(&events->poll, UV_PRIORITIZED, on_events);
}

static void on_rest_over(uv_timer_t *timer)
{
	Cgroup *cgroup = timer->data;

	if (cgroup->memory.fd >= 0)
		uv_poll_start(&cgroup->memory.poll, UV_PRIORITIZED, on_events);
	if (cgroup->tasks.fd >= 0)
		uv_poll_start(&cgroup->tasks.poll, UV_PRIORITIZED, on_events);
}

/* Reading is what ends the notification. False: the group is gone. */
static bool events_read(const struct events *events)
{
	char text[256];

	return events->fd < 0 || pread(events->fd, text, sizeof(text), 0) >= 0;
}

static void on_events(uv_poll_t *poll, int status, int events)
{
	Cgroup *cgroup = poll->data;
	bool there = events_read(&cgroup->memory) && events_read(&cgroup->tasks);

	(void)events;
	cgroup_look(cgroup);
	if (cgroup->memory.fd >= 0)
		uv_poll_stop(&cgroup->memory.poll);
	if (cgroup->tasks.fd >= 0)
		uv_poll_stop(&cgroup->tasks.poll);
	if (there && status >= 0)
		uv_timer_start(&cgroup->rest, on_rest_over, REST_MILLISECONDS, 0);
}

int cgroup_open(Cgroup **ret_cgroup, uv_loop_t *loop, int pidfd, const char *unit)
{
	Cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int r;

	if (!cgroup)
		return -ENOMEM;
	cgroup->loop = loop;
	cgroup->payload = PAYLOAD_INIT;
	r = payload_open(pidfd, unit, &cgroup->payload.fd);
	if (r < 0) {
		free(cgroup);
		return r;
	}
	uv_timer_init(loop, &cgroup->rest);
	cgroup->rest.data = cgroup;
	cgroup->handles = 1;
	events_watch(cgroup, &cgroup->memory, "memory.events");
	events_watch(cgroup, &cgroup->tasks, "pids.events");
	cgroup_look(cgroup);
	*ret_cgroup = cgroup;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	Cgroup *cgroup = handle->data;

	if (--cgroup->handles > 0)
		return;
	fd_close(cgroup->memory.fd);
	fd_close(cgroup->tasks.fd);
	payload_done(&cgroup->payload);
	free(cgroup);
}

Cgroup *cgroup_free(Cgroup *cgroup)
{
	if (!cgroup)
		return NULL;
	if (cgroup->memory.fd >= 0)
		uv_close((uv_handle_t *)&cgroup->memory.poll, on_closed);
	if (cgroup->tasks.fd >= 0)
		uv_close((uv_handle_t *)&cgroup->tasks.poll, on_closed);
	uv_close((uv_handle_t *)&cgroup->rest, on_closed);
	return NULL;
}

/* Counters only ever grow; one that cannot be read any more stays as it was read last. */
#define KEEP_(flag, field)                                                                         \
	if (now.has.flag) {                                                                        \
		cgroup->counters.has.flag = true;                                                  \
		cgroup->counters.field = now.field;                                                \
	}

void cgroup_look(Cgroup *cgroup)
{
	struct payload_counters now;

	payload_count(&cgroup->payload, &now);
	KEEP_(cpu, user_microseconds)
	KEEP_(cpu, system_microseconds)
	KEEP_(memory_peak, memory_peak)
	KEEP_(tasks_peak, tasks_peak)
	KEEP_(io, io_read_bytes)
	KEEP_(io, io_write_bytes)
	KEEP_(oom_kills, oom_kills)
	KEEP_(oom_limit, oom_limit)
	KEEP_(task_limit_hits, task_limit_hits)
}

const struct payload_counters *cgroup_counters(const Cgroup *cgroup)
{
	return &cgroup->counters;
}

bool cgroup_is_empty(const Cgroup *cgroup)
{
	char text[256];
	ssize_t n;
	int fd = openat(cgroup->payload.fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENODEV;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return errno == ENODEV;
	text[n] = '\0';
	return strstr(text, "populated 0") != NULL;
}

void cgroup_kill(const Cgroup *cgroup)
{
	payload_kill(&cgroup->payload);
}
