/* SPDX-License-Identifier: MIT */
#include "base/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

static bool is_inside(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* -errno; the folder that name is, when it is one on this filesystem. */
static int folder_open(int parent_fd, const char *name, dev_t device, DIR **ret_folder)
{
	_cleanup_close_ int fd = openat(parent_fd, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != device)
		return -EXDEV;
	*ret_folder = fdopendir(fd);
	if (!*ret_folder)
		return -errno;
	fd_steal(&fd);
	return 0;
}

static uint64_t tree_bytes(int parent_fd, const char *name, dev_t device, unsigned int depth)
{
	struct dirent *entry;
	struct stat st;
	uint64_t total;
	DIR *folder = NULL;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != device)
		return 0;
	total = (uint64_t)st.st_blocks * 512u;
	if (!S_ISDIR(st.st_mode) || depth == 0 ||
	    folder_open(parent_fd, name, device, &folder) < 0 || !folder)
		return total;
	while ((entry = readdir(folder)))
		if (is_inside(entry))
			total += tree_bytes(dirfd(folder), entry->d_name, device, depth - 1);
	closedir(folder);
	return total;
}

uint64_t disk_bytes(int parent_fd, const char *name)
{
	struct stat st;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return tree_bytes(parent_fd, name, st.st_dev, DISK_DEPTH_MAX);
}

static int tree_remove(int parent_fd, const char *name, dev_t device, unsigned int depth)
{
	struct dirent *entry;
	DIR *folder = NULL;
	int r = 0, first = 0;

	if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth == 0)
		return -ELOOP;
	r = folder_open(parent_fd, name, device, &folder);
	if (!folder)
		return r;
	while ((entry = readdir(folder))) {
		if (!is_inside(entry))
			continue;
		r = tree_remove(dirfd(folder), entry->d_name, device, depth - 1);
		if (r < 0 && first == 0)
			first = r;
	}
	closedir(folder);
	if (first < 0)
		return first;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int disk_remove(int parent_fd, const char *name)
{
	struct stat st;

	/* The filesystem is that of where the name stands: one that is mounted on it is not ours. */
	if (fstat(parent_fd, &st) < 0)
		return -errno;
	return tree_remove(parent_fd, name, st.st_dev, DISK_DEPTH_MAX);
}
