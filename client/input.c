/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_code.h"
#include "input.h"
#include "json.h"

bool input_is_private(const char *name)
{
	static const char *const ours[] = {"/dev/fd/", "/dev/stdin", "/proc/self/",
					   "/proc/thread-"};
	struct stat status;

	if (strcmp(name, "-") == 0)
		return true;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strncmp(name, ours[i], strlen(ours[i])) == 0)
			return true;
	return stat(name, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* Up to one byte more than max, which tells that it is too long. */
static int read_up_to(int fd, size_t max, char **ret_bytes, size_t *ret_size)
{
	size_t capacity = 65536, size = 0;
	char *bytes = need_memory(malloc(capacity));

	while (size <= max) {
		ssize_t got;

		if (size == capacity) {
			capacity *= 2;
			bytes = need_memory(realloc(bytes, capacity));
		}
		got = read(fd, bytes + size, capacity - size);
		if (got == 0)
			break;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int number = errno;

			free(bytes);
			return -number;
		}
		size += (size_t)got;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int input_read(const struct context *context, const char *what, const char *name, size_t max,
	       const char *instead, char **ret_bytes, size_t *ret_size)
{
	bool standard = strcmp(name, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	*ret_bytes = NULL;
	*ret_size = 0;
	if (fd < 0)
		return context_refuse(context, EXIT_NO_INPUT, NULL, "%s: cannot open %s: %s", what,
				      name, strerror(errno));
	r = read_up_to(fd, max, ret_bytes, ret_size);
	if (!standard)
		close(fd);
	if (r < 0)
		return context_refuse(context, EXIT_NO_INPUT, NULL, "%s: cannot read %s: %s", what,
				      standard ? "standard input" : name, strerror(-r));
	if (*ret_size > max) {
		free(*ret_bytes);
		*ret_bytes = NULL;
		return context_refuse(context, EXIT_USED_WRONG, instead,
				      "%s: %s holds more than %zu bytes", what,
				      standard ? "standard input" : name, max);
	}
	return 0;
}

int input_memory(const struct context *context, const char *bytes, size_t size, int *ret_fd)
{
	int fd = memfd_create("prompt", MFD_CLOEXEC);

	while (fd >= 0 && size > 0) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			close(fd);
			fd = -1;
			break;
		}
		bytes += written;
		size -= (size_t)written;
	}
	if (fd < 0)
		return context_refuse(context, EXIT_SYSTEM, NULL, "cannot hold the prompt: %s",
				      strerror(errno));
	*ret_fd = fd;
	return 0;
}

int input_open(const struct context *context, const char *field, const char *path, uint64_t max,
	       int *ret_fd)
{
	/* Not waiting for a writer of whatever else it may be. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0) {
		r = context_refuse(context, EXIT_NO_INPUT, NULL, "%s: cannot open %s: %s", field,
				   path, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		r = context_refuse(context, EXIT_NO_INPUT, NULL, "%s: %s is not a regular file",
				   field, path);
	} else if ((uint64_t)status.st_size > max) {
		r = context_refuse(context, EXIT_USED_WRONG, NULL,
				   "%s: %s holds %lld bytes, and at most %llu are allowed", field,
				   path, (long long)status.st_size, (unsigned long long)max);
	} else {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}
