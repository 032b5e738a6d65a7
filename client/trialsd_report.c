/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "trialsd_report.h"

#define REPORT_BYTES_MAX (256u * 1024u)

/* "trialsd" in this program's own folder when it is there, else to be looked for in PATH. */
static const char *find_trialsd(char *buffer, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buffer, size - sizeof("/trialsd"));
	char *slash;

	if (n > 0) {
		buffer[n] = '\0';
		slash = strrchr(buffer, '/');
		if (slash) {
			memcpy(slash, "/trialsd", sizeof("/trialsd"));
			if (access(buffer, X_OK) == 0)
				return buffer;
		}
	}
	return "trialsd";
}

static int spawn(const char *const *arguments, int output, pid_t *ret_pid)
{
	char path[PATH_MAX];
	const char *program = find_trialsd(path, sizeof(path));
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	r = posix_spawnp(ret_pid, program, &actions, NULL, (char *const *)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static size_t read_report(int fd, char *text)
{
	size_t size = 0;
	ssize_t n;

	do {
		n = read(fd, text + size, REPORT_BYTES_MAX - size);
		if (n > 0)
			size += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return size;
}

int trialsd_report(const char *const *arguments, json_t **ret_report)
{
	char *text = need_memory(malloc(REPORT_BYTES_MAX));
	int ends[2], status, r;
	json_error_t error;
	pid_t pid;

	*ret_report = NULL;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		free(text);
		return -errno;
	}
	r = spawn(arguments, ends[1], &pid);
	close(ends[1]);
	if (r == 0) {
		*ret_report = json_loadb(text, read_report(ends[0], text), 0, &error);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	free(text);
	return r;
}
