/* SPDX-License-Identifier: MIT */
#include "launch/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/message.h"

#define CHUNK_BYTES 4096
#define TASK_FD_FIRST 3 /* the answer; what it is given comes behind */

static int milliseconds_left(const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)(end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left > 0 ? (int)left : 0;
}

/*
 * posix_spawn puts descriptors in their places one after the other, so that they first go out of
 * the way of all those places.
 */
static int move_away(const struct task_order *order, int answer, int *ret_moved)
{
	for (size_t i = 0; i <= order->descriptor_count; i++) {
		int fd = i == 0 ? answer : order->descriptors[i - 1];

		ret_moved[i] = fcntl(fd, F_DUPFD_CLOEXEC, TASK_FD_FIRST + TASK_DESCRIPTORS_MAX + 1);
		if (ret_moved[i] < 0)
			return -errno;
	}
	return 0;
}

static int add_descriptors(posix_spawn_file_actions_t *actions, const int *moved, size_t count)
{
	int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = posix_spawn_file_actions_adddup2(actions, moved[i], TASK_FD_FIRST + (int)i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, TASK_FD_FIRST + (int)count);
	return r;
}

static int spawn(const struct task_order *order, const int *moved, pid_t *ret_pid)
{
	char *const environment[] = {(char *)"LC_ALL=C", NULL};
	char *arguments[TASK_WORDS_MAX + 3] = {(char *)"trial-keeper", (char *)"--task"};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int r;

	for (size_t i = 0; i < TASK_WORDS_MAX && order->words[i]; i++)
		arguments[i + 2] = (char *)order->words[i];
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	r = add_descriptors(&actions, moved, order->descriptor_count + 1);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(&attributes,
					     POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	if (r == 0)
		r = posix_spawn(ret_pid, order->keeper, &actions, &attributes, arguments,
				environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int start(const struct task_order *order, int answer, pid_t *ret_pid)
{
	int moved[TASK_DESCRIPTORS_MAX + 1];
	int r;

	memset(moved, -1, sizeof(moved));
	r = order->descriptor_count > TASK_DESCRIPTORS_MAX ? -E2BIG
							   : move_away(order, answer, moved);
	if (r == 0)
		r = spawn(order, moved, ret_pid);
	for (size_t i = 0; i <= TASK_DESCRIPTORS_MAX; i++)
		fd_close(moved[i]);
	return r;
}

/* Up to the end of what it writes. */
static int read_answer(int fd, const struct timespec *end, size_t most, msgpack_sbuffer *buffer)
{
	char chunk[CHUNK_BYTES];

	for (;;) {
		struct pollfd poller = {.fd = fd, .events = POLLIN};
		int ready = poll(&poller, 1, milliseconds_left(end));
		ssize_t n;

		if (ready == 0)
			return -ETIMEDOUT;
		n = ready < 0 ? -1 : read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (buffer->size + (size_t)n > most)
			return -EBADMSG;
		if (msgpack_sbuffer_write(buffer, chunk, (size_t)n) < 0)
			return -ENOMEM;
	}
}

/* The end of the child, by itself or, when it is late or error says so, by us. */
static int reap(pid_t pid, const struct timespec *end, int error)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poller = {.fd = pidfd, .events = POLLIN};
	siginfo_t info = {0};

	/* Its pipe is left in any case; without a pidfd there is no time that could be waited for. */
	if (pidfd < 0)
		error = -errno;
	while (error == 0 && poll(&poller, 1, milliseconds_left(end)) <= 0)
		if (milliseconds_left(end) == 0)
			error = -ETIMEDOUT;
	if (error < 0 && pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0)
		if (errno != EINTR)
			return -errno;
	if (error < 0)
		return error;
	return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -EBADMSG;
}

int task_run(const struct task_order *order, char **ret_answer, size_t *ret_size)
{
	_cleanup_close_ int reader = -1, writer = -1;
	msgpack_sbuffer buffer;
	struct timespec end;
	int ends[2];
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += order->milliseconds / 1000;
	r = start(order, writer, &pid);
	writer = fd_close(writer);
	if (r < 0)
		return r;
	msgpack_sbuffer_init(&buffer);
	r = read_answer(reader, &end, order->most, &buffer);
	reader = fd_close(reader);
	r = reap(pid, &end, r);
	if (r < 0) {
		msgpack_sbuffer_destroy(&buffer);
		return r;
	}
	*ret_size = buffer.size;
	*ret_answer = msgpack_sbuffer_release(&buffer);
	return 0;
}
