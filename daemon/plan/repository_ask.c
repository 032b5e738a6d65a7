/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "repository_git.h"

/*
 * The child that reads what a Trial may have written (keeper/git_look.h). It is waited for, as
 * resolving a path is: it opens some files and ends. One that does not within seconds is killed.
 */

#define ASK_MILLISECONDS 5000
#define CHUNK_BYTES 4096

/* In the child: nothing that takes a lock. */
static _Noreturn void ask_exec(const char *keeper, int result, int repository, const char *path)
{
	char *const arguments[] = {(char *)"trial-keeper", (char *)"--task", (char *)"repository",
				   (char *)path, NULL};
	char *const environment[] = {(char *)"LC_ALL=C", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Out of the way of the numbers that they are to have. */
	result = fcntl(result, F_DUPFD_CLOEXEC, GIT_TASK_FD_REPOSITORY + 1);
	repository = fcntl(repository, F_DUPFD_CLOEXEC, GIT_TASK_FD_REPOSITORY + 1);
	if (null < 0 || result < 0 || repository < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(result, GIT_TASK_FD_RESULT) < 0 || dup2(repository, GIT_TASK_FD_REPOSITORY) < 0)
		_exit(126);
	execve(keeper, arguments, environment);
	_exit(127);
}

static int milliseconds_left(const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)(end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left > 0 ? (int)left : 0;
}

/* Up to the end of what it writes. */
static int ask_read(int fd, const struct timespec *end, msgpack_sbuffer *buffer)
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
		if (buffer->size + (size_t)n > GIT_LAYOUT_BYTES_MAX)
			return -EBADMSG;
		if (msgpack_sbuffer_write(buffer, chunk, (size_t)n) < 0)
			return -ENOMEM;
	}
}

/* The end of the child, by itself or, when it is late or error says so, by us. */
static int ask_reap(pid_t pid, const struct timespec *end, int error)
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

static int ask(const char *keeper, int repository_fd, const char *repository,
	       msgpack_sbuffer *buffer)
{
	_cleanup_close_ int reader = -1, writer = -1;
	struct timespec end;
	int ends[2];
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ASK_MILLISECONDS / 1000;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		ask_exec(keeper, writer, repository_fd, repository);
	writer = fd_close(writer);
	r = ask_read(reader, &end, buffer);
	reader = fd_close(reader);
	return ask_reap(pid, &end, r);
}

int repository_ask(const char *keeper, int repository_fd, const char *repository,
		   struct message **ret_message, struct git_layout *ret_layout)
{
	msgpack_sbuffer buffer;
	int r;

	msgpack_sbuffer_init(&buffer);
	r = ask(keeper, repository_fd, repository, &buffer);
	if (r == 0)
		r = git_layout_parse(buffer.data, buffer.size, ret_message, ret_layout);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}
