/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <unistd.h>

int file_write(int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

int file_write_at(int fd, const void *data, size_t size, off_t offset)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		offset += n;
		size -= (size_t)n;
	}
	return 0;
}
