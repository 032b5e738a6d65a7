/* SPDX-License-Identifier: MIT */
#include "cgroup.h"

#include <ctype.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_KEEPER "keeper"
#define CGROUP_PAYLOAD "payload"
#define KNOB_BYTES 4096

static int read_at(int fd, const char *name, char *buffer, size_t size)
{
	_cleanup_close_ int file = openat(fd, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	buffer[0] = '\0';
	if (file < 0)
		return -errno;
	while (length < size - 1) {
		n = read(file, buffer + length, size - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	buffer[length] = '\0';
	return 0;
}

static int write_at(int fd, const char *name, const char *value)
{
	_cleanup_close_ int file = openat(fd, name, O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return -errno;
	return write(file, value, strlen(value)) < 0 ? -errno : 0;
}

/* The unified hierarchy's line, `0::PATH`. */
static int own_cgroup(char *buffer, size_t size)
{
	char *line, *end;
	int r;

	r = read_at(AT_FDCWD, "/proc/self/cgroup", buffer, size);
	if (r < 0)
		return r;
	line = strncmp(buffer, "0::", 3) == 0 ? buffer : strstr(buffer, "\n0::");
	if (!line)
		return -ENOENT;
	line = strchr(line, '/');
	if (!line)
		return -ENOENT;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	memmove(buffer, line, strlen(line) + 1);
	return 0;
}

/* A keeper that waited as a spare is in keeper/ already. */
static bool is_own(const char *own, const char *cgroup)
{
	size_t length = strlen(cgroup);

	return strncmp(own, cgroup, length) == 0 &&
	       (own[length] == '\0' || strcmp(own + length, "/" CGROUP_KEEPER) == 0);
}

static int check_own(const char *cgroup, struct fault *fault)
{
	char own[KNOB_BYTES];
	int r;

	r = own_cgroup(own, sizeof(own));
	if (r < 0)
		return fault_void(fault, CAUSE_sandbox_unavailable,
				  "the keeper's own control group cannot be read: %s",
				  strerror(-r));
	if (!is_own(own, cgroup))
		return fault_void(fault, CAUSE_sandbox_unavailable,
				  "the keeper is not in its scope: it is in %s, not in %s", own,
				  cgroup);
	return 0;
}

static int open_scope(struct payload *payload, const char *cgroup, struct fault *fault)
{
	char path[KNOB_BYTES + sizeof(CGROUP_ROOT)];
	struct statfs fs;

	if (statfs(CGROUP_ROOT, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return fault_void(fault, CAUSE_sandbox_unavailable,
				  "there is no unified control group hierarchy at " CGROUP_ROOT);
	snprintf(path, sizeof(path), CGROUP_ROOT "%s", cgroup);
	payload->scope_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (payload->scope_fd < 0)
		return fault_void(fault, CAUSE_sandbox_unavailable, "%s: %s", path,
				  strerror(errno));
	return 0;
}

static int make_groups(struct payload *payload)
{
	_cleanup_close_ int keeper = -1;
	int r;

	if (mkdirat(payload->scope_fd, CGROUP_KEEPER, 0755) < 0 && errno != EEXIST)
		return -errno;
	keeper = openat(payload->scope_fd, CGROUP_KEEPER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (keeper < 0)
		return -errno;
	/* "0" is the writing process. */
	r = write_at(keeper, "cgroup.procs", "0");
	if (r < 0)
		return r;
	if (mkdirat(payload->scope_fd, CGROUP_PAYLOAD, 0755) < 0)
		return -errno;
	payload->fd = openat(payload->scope_fd, CGROUP_PAYLOAD, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (payload->fd < 0)
		return -errno;
	payload->events_fd = openat(payload->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	return payload->events_fd < 0 ? -errno : 0;
}

/* One by one: a controller that refuses must not cost the others. What counts is read back. */
static void enable_controllers(const struct payload *payload)
{
	static const char *const wanted[] = {"memory", "pids", "cpu", "io"};
	char available[KNOB_BYTES], value[16];
	char *word, *rest = NULL;
	size_t i;

	if (read_at(payload->scope_fd, "cgroup.controllers", available, sizeof(available)) < 0)
		return;
	for (word = strtok_r(available, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		for (i = 0; i < ARRAY_SIZE(wanted); i++) {
			if (strcmp(word, wanted[i]) != 0)
				continue;
			snprintf(value, sizeof(value), "+%s", word);
			write_at(payload->scope_fd, "cgroup.subtree_control", value);
		}
	}
}

int payload_init(struct payload *payload, const char *cgroup, struct fault *ret_fault)
{
	int r;

	r = check_own(cgroup, ret_fault);
	if (r != 0 || payload->fd >= 0)
		return r;
	r = open_scope(payload, cgroup, ret_fault);
	if (r != 0)
		return r;
	r = make_groups(payload);
	if (r < 0)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable,
				  "the control groups below %s cannot be made: %s", cgroup,
				  strerror(-r));
	enable_controllers(payload);
	return 0;
}

/*
 * The group stays: the manager removes it with the scope. Were it to vanish while the manager goes
 * through the scope's groups to end them (the end of a session), the manager would take the failed
 * read for "nobody to wait for" and kill the keeper at once, before its record is written.
 */
void payload_done(struct payload *payload)
{
	payload->events_fd = fd_close(payload->events_fd);
	payload->fd = fd_close(payload->fd);
	payload->scope_fd = fd_close(payload->scope_fd);
}

int payload_write(const struct payload *payload, const char *name, const char *value)
{
	return write_at(payload->fd, name, value);
}

int payload_read(const struct payload *payload, const char *name, char *buffer, size_t size)
{
	int r = read_at(payload->fd, name, buffer, size);

	if (r == 0)
		buffer[strcspn(buffer, "\n")] = '\0';
	return r;
}

/* The number after `key ` in a file of such lines. */
static bool find_number(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);
	const char *line;

	for (line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		/* A digit there, since strtoull would pass over the end of the line. */
		if (strncmp(line, key, length) == 0 && line[length] == ' ' &&
		    isdigit((unsigned char)line[length + 1])) {
			*ret = strtoull(line + length + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static bool read_number(const struct payload *payload, const char *name, const char *key,
			uint64_t *ret)
{
	char text[KNOB_BYTES];

	if (read_at(payload->fd, name, text, sizeof(text)) < 0)
		return false;
	if (key)
		return find_number(text, key, ret);
	if (text[0] < '0' || text[0] > '9')
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

int payload_populated(const struct payload *payload)
{
	uint64_t populated;
	char text[256];
	ssize_t n;

	/* The descriptor that is waited on: reading it is what ends the notification. */
	n = pread(payload->events_fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return find_number(text, "populated", &populated) ? populated != 0 : -EBADMSG;
}

int payload_kill(const struct payload *payload)
{
	return write_at(payload->fd, "cgroup.kill", "1");
}

bool payload_cpu(const struct payload *payload, uint64_t *ret_microseconds)
{
	return payload->fd >= 0 && read_number(payload, "cpu.stat", "usage_usec", ret_microseconds);
}

/* `MAJ:MIN rbytes=N wbytes=N …`, a line per device. */
static bool count_io(const struct payload *payload, uint64_t *ret_read, uint64_t *ret_write)
{
	char text[KNOB_BYTES];
	const char *at;

	if (read_at(payload->fd, "io.stat", text, sizeof(text)) < 0)
		return false;
	*ret_read = 0;
	*ret_write = 0;
	for (at = text; (at = strstr(at, " rbytes=")); at++)
		*ret_read += strtoull(at + strlen(" rbytes="), NULL, 10);
	for (at = text; (at = strstr(at, " wbytes=")); at++)
		*ret_write += strtoull(at + strlen(" wbytes="), NULL, 10);
	return true;
}

void payload_count(const struct payload *payload, struct payload_counters *ret)
{
	*ret = (struct payload_counters){0};
	if (payload->fd < 0)
		return;
	ret->has.cpu = read_number(payload, "cpu.stat", "user_usec", &ret->user_microseconds) &&
		       read_number(payload, "cpu.stat", "system_usec", &ret->system_microseconds);
	ret->has.memory_peak = read_number(payload, "memory.peak", NULL, &ret->memory_peak);
	ret->has.tasks_peak = read_number(payload, "pids.peak", NULL, &ret->tasks_peak);
	ret->has.oom_kills = read_number(payload, "memory.events", "oom_kill", &ret->oom_kills);
	ret->has.oom_limit = read_number(payload, "memory.events", "oom", &ret->oom_limit);
	ret->has.task_limit_hits = read_number(payload, "pids.events", "max",
					       &ret->task_limit_hits);
	ret->has.io = count_io(payload, &ret->io_read_bytes, &ret->io_write_bytes);
}

void payload_fill(const struct payload_counters *counters, struct outcome_record *record)
{
	uint64_t user = counters->user_microseconds, system = counters->system_microseconds;

	if (counters->has.cpu) {
		record->has.cpu_seconds = true;
		record->has.cpu_user_seconds = record->has.cpu_system_seconds = true;
		record->cpu_user_seconds = (double)user / 1e6;
		record->cpu_system_seconds = (double)system / 1e6;
		record->cpu_seconds = (double)(user + system) / 1e6;
	}
	if (counters->has.memory_peak) {
		record->has.memory_peak = true;
		record->memory_peak = counters->memory_peak;
	}
	if (counters->has.io) {
		record->has.io_read_bytes = record->has.io_write_bytes = true;
		record->io_read_bytes = counters->io_read_bytes;
		record->io_write_bytes = counters->io_write_bytes;
	}
	if (counters->has.tasks_peak) {
		record->has.tasks_peak = true;
		record->tasks_peak = counters->tasks_peak;
	}
	if (counters->has.oom_kills) {
		record->has.oom_kills = true;
		record->oom_kills = counters->oom_kills;
	}
	if (counters->has.task_limit_hits) {
		record->has.task_limit_hits = true;
		record->task_limit_hits = counters->task_limit_hits;
	}
}
