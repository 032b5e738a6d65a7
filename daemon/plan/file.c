/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "base/file.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <sys/mman.h>

int plan_file_new(struct plan_file **ret_file, char *data, size_t size)
{
	struct plan_file *file = calloc(1, sizeof(*file));
	struct sha256_ctx hash;

	if (!file) {
		free(data);
		return -ENOMEM;
	}
	file->references = 1;
	file->fd = -1;
	file->data = data;
	file->size = size;
	sha256_init(&hash);
	sha256_update(&hash, size, (const uint8_t *)data);
	sha256_digest(&hash, sizeof(file->digest), file->digest);
	*ret_file = file;
	return 0;
}

struct plan_file *plan_file_ref(struct plan_file *file)
{
	if (file)
		file->references++;
	return file;
}

struct plan_file *plan_file_unref(struct plan_file *file)
{
	if (file && --file->references == 0) {
		fd_close(file->fd);
		free(file->data);
		free(file);
	}
	return NULL;
}

static int sealed_memfd(const char *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("trials-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	/* At an offset, so that it is read from its beginning. */
	r = file_write_at(fd, data, size, 0);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return fd_steal(&fd);
}

/* Opened anew, since bwrap reads from a position that all who share an open file share. */
int plan_file_open(struct plan_file *file, int *ret_fd)
{
	char path[32];
	int fd;

	if (file->fd < 0) {
		fd = sealed_memfd(file->data, file->size);
		if (fd < 0)
			return fd;
		file->fd = fd;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
