/* SPDX-License-Identifier: MIT */
#include "text_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"

static int read_all(int fd, size_t max, char **ret_text, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, capacity = 0;
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	do {
		if (capacity - size < 2) {
			char *larger;

			capacity = capacity ? 2 * capacity : 16384;
			larger = realloc(text, capacity);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		got = read(fd, text + size, capacity - size - 1);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0)
			size += (size_t)got;
		if (size > max)
			return -EFBIG;
	} while (got != 0);
	text[size] = '\0';
	*ret_text = steal(&text);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int text_file_read(const char *path, size_t max, char **ret_text, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : read_all(fd, max, ret_text, ret_size);
}

int text_file_read_at(int fd, size_t max, char **ret_text, size_t *ret_size)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return text_file_read(path, max, ret_text, ret_size);
}
