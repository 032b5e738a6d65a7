/* SPDX-License-Identifier: MIT */
#include "children.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void kill_one(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u);

	if (fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
	close(fd);
}

void children_kill(void)
{
	char path[64], text[4096], *at, *end;
	ssize_t n;
	long pid;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	/* A number that was cut is followed by no blank. */
	for (at = text; (pid = strtol(at, &end, 10)) > 0 && *end == ' '; at = end)
		kill_one((pid_t)pid);
}
