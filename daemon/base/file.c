/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
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

int file_new_open(int folder_fd, char ret_new[FILE_NEW_BYTES], int *ret_fd)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(ret_new, FILE_NEW_BYTES, FILE_NEW "%016llx", (unsigned long long)number);
	*ret_fd = openat(folder_fd, ret_new, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	return *ret_fd < 0 ? -errno : 0;
}

int file_new_settle(int folder_fd, int fd, const char *new, const char *name, mode_t mode)
{
	int r = 0;

	if (fchmod(fd, mode) < 0 || fsync(fd) < 0 || renameat(folder_fd, new, folder_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder_fd, new, 0);
	return r;
}

static int remove_new(void *context, const char *name)
{
	const int *folder_fd = context;

	if (strncmp(name, FILE_NEW, strlen(FILE_NEW)) == 0)
		unlinkat(*folder_fd, name, 0);
	return 0;
}

int file_new_clear(int folder_fd)
{
	return folder_each(folder_fd, remove_new, &folder_fd);
}

int file_put(int folder_fd, const char *name, const void *data, size_t size, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	char new[FILE_NEW_BYTES];
	int r = file_new_open(folder_fd, new, &fd);

	if (r < 0)
		return r;
	r = file_write(fd, data, size);
	if (r < 0)
		unlinkat(folder_fd, new, 0);
	else
		r = file_new_settle(folder_fd, fd, new, name, mode);
	if (r == 0 && fsync(folder_fd) < 0)
		r = -errno;
	return r;
}
