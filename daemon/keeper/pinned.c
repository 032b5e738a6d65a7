/* SPDX-License-Identifier: MIT */
#include "pinned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/*
 * bwrap makes its mounts by path. Where a path leads through a tree that others may write to, the
 * mount is looked for afterwards, where nobody can be in the way any more.
 */

static int walk(int root, const char *path, int *ret_fd)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int fd = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest = copy, *name;

	if (!copy)
		return -ENOMEM;
	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		int below;

		if (!*name)
			continue;
		below = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close(fd);
		fd = below;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

static bool is_pinned(int root, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct statvfs fs;
	struct statx stx;

	return walk(root, path, &fd) == 0 && statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) == 0 &&
	       (stx.stx_attributes_mask & stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 &&
	       fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
}

int pinned_check(pid_t pid, const struct text_list *paths, struct fault *ret_fault)
{
	_cleanup_close_ int root = -1;
	char name[40];

	if (paths->count == 0)
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fault_void(ret_fault, CAUSE_sandbox_unavailable,
				  "the sandbox cannot be looked into: %s: %s", name,
				  strerror(errno));
	for (size_t i = 0; i < paths->count; i++)
		if (!is_pinned(root, paths->items[i]))
			return fault_void(
				ret_fault, CAUSE_sandbox_unavailable,
				"the sandbox is not what was asked for, nothing was started in it: a part of the repository is not read-only (number %zu)",
				i + 1);
	return 0;
}
