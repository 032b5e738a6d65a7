/* SPDX-License-Identifier: MIT */

/*
 * From the forked child of pid 1 to the main process: session, standard descriptors, limits,
 * signals, working directory, execution.
 *
 * The command is searched for by the PATH it is given, which libc's execvpe would not do, and
 * without libc's second try through /bin/sh: a file that cannot be executed is said to be one.
 */

#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control.h"

#define PATH_DEFAULT "/usr/bin:/bin"

struct launch {
	const char *cwd;
	char **arguments;
	char **environment;
};

static _Noreturn void fail(int report, enum control_step step, int error)
{
	struct start_error failed = {.step = step, .error = (uint32_t)error};

	while (write(report, &failed, sizeof(failed)) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

/* The next NUL-terminated string, or NULL when the bytes end first. */
static char *take_string(char **cursor, char *end)
{
	char *string = *cursor;
	char *nul = memchr(string, '\0', (size_t)(end - string));

	if (!nul)
		return NULL;
	*cursor = nul + 1;
	return string;
}

static bool take_strings(char **strings, uint32_t count, char **cursor, char *end)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		strings[i] = take_string(cursor, end);
		if (!strings[i])
			return false;
	}
	strings[count] = NULL;
	return true;
}

/* Nothing is freed: the process is about to be replaced. */
static int launch_read(int fd, struct launch *ret)
{
	const int sealed = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	struct control_launch *header;
	char *cursor, *end;
	struct stat st;
	int seals;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & sealed) != sealed)
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)sizeof(*header) || st.st_size > (off_t)CONTROL_LAUNCH_BYTES_MAX)
		return -EMSGSIZE;
	header = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (header == MAP_FAILED)
		return -errno;
	/* Each string takes a byte at least, so the counts cannot ask for more than the file backs. */
	if (header->magic != CONTROL_LAUNCH_MAGIC || header->bytes != st.st_size ||
	    header->arguments == 0 || header->arguments > header->bytes ||
	    header->variables > header->bytes)
		return -EBADMSG;
	cursor = (char *)(header + 1);
	end = (char *)header + header->bytes;
	ret->arguments = calloc((size_t)header->arguments + 1, sizeof(char *));
	ret->environment = calloc((size_t)header->variables + 1, sizeof(char *));
	if (!ret->arguments || !ret->environment)
		return -ENOMEM;
	ret->cwd = take_string(&cursor, end);
	if (!ret->cwd || !take_strings(ret->arguments, header->arguments, &cursor, end) ||
	    !take_strings(ret->environment, header->variables, &cursor, end) || cursor != end)
		return -EBADMSG;
	return 0;
}

/* Most open files and queued signals of a process inside. */
#define FILES_MAX 65536
#define SIGNALS_MAX 4096

static int take_stdio(const int *stdio)
{
	int i;

	/* All of them lie above 2: pid 1 received them with 0 to 2 open. */
	for (i = 0; i < 3; i++)
		if (dup2(stdio[i], i) < 0)
			return -errno;
	return 0;
}

/* At most so much, and never more than there is. */
static int lower(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (limit.rlim_max > hard)
		limit.rlim_max = hard;
	limit.rlim_cur = limit.rlim_max < soft ? limit.rlim_max : soft;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

/*
 * What the kernel counts for a user and not for a sandbox is left to the others of that user:
 * descriptors under way in sockets are refused above a process's own limit of open files, queued
 * signals above its own limit of these, so the limits inside stay well below those outside.
 * Core: 1 and not 0, which does not stop a core_pattern that is a pipe.
 */
static int set_limits(void)
{
	struct rlimit files;
	int r;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	r = lower(RLIMIT_NOFILE, 1024,
		  files.rlim_max / 2 < FILES_MAX ? files.rlim_max / 2 : FILES_MAX);
	if (r == 0)
		r = lower(RLIMIT_SIGPENDING, SIGNALS_MAX, SIGNALS_MAX);
	if (r == 0)
		r = lower(RLIMIT_CORE, 1, 1);
	return r;
}

static void restore_signals(void)
{
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *search_path(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return PATH_DEFAULT;
}

/* Only returns when it failed. */
static int execute_file(const char *file, const struct launch *launch, enum control_step *ret_step)
{
	struct stat st;
	int error;

	execve(file, launch->arguments, launch->environment);
	error = errno;
	if (error == ENOENT && stat(file, &st) == 0)
		*ret_step = CONTROL_STEP_INTERPRETER;
	else if (error == EACCES && stat(file, &st) == 0 && S_ISDIR(st.st_mode))
		error = EISDIR;
	return -error;
}

static int execute(const struct launch *launch, enum control_step *ret_step)
{
	const char *name = launch->arguments[0];
	const char *path = search_path(launch->environment);
	char file[PATH_MAX];
	size_t length, folder;
	int denied = 0;
	int r;

	length = strlen(name);
	if (length == 0)
		return -ENOENT;
	if (strchr(name, '/'))
		return execute_file(name, launch, ret_step);
	for (;; path += folder + 1) {
		folder = strcspn(path, ":");
		if (folder + 1 + length + 1 <= sizeof(file)) {
			memcpy(file, path, folder);
			file[folder] = '/';
			/* An empty element is the working directory. */
			memcpy(file + (folder ? folder + 1 : 0), name, length + 1);
			r = execute_file(file, launch, ret_step);
			if (r == -EACCES || r == -EISDIR)
				denied = -EACCES;
			else if ((r != -ENOENT && r != -ENOTDIR) ||
				 *ret_step == CONTROL_STEP_INTERPRETER)
				return r;
		}
		if (path[folder] == '\0')
			break;
	}
	return denied ? denied : -ENOENT;
}

_Noreturn void start_main(int launch_fd, const int *stdio, int report)
{
	enum control_step step = CONTROL_STEP_EXEC;
	struct launch launch = {0};
	int r;

	r = launch_read(launch_fd, &launch);
	if (r < 0 || !launch.cwd)
		fail(report, CONTROL_STEP_LAUNCH, -r);
	setsid();
	r = take_stdio(stdio);
	if (r < 0)
		fail(report, CONTROL_STEP_STDIO, -r);
	r = set_limits();
	if (r < 0)
		fail(report, CONTROL_STEP_LIMITS, -r);
	umask(022);
	restore_signals();
	if (chdir(launch.cwd) < 0)
		fail(report, CONTROL_STEP_CWD, errno);
	r = execute(&launch, &step);
	fail(report, step, -r);
}
