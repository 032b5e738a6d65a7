/* SPDX-License-Identifier: MIT */
#include "queue/home_group.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NAME_BYTES 64
#define GROUP_BYTES_MAX 3072

static void name_of(const struct home_folder *folder, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "home-%x:%x-%llu.group", major(folder->device),
		 minor(folder->device), (unsigned long long)folder->inode);
}

static bool is_group(const char *group)
{
	return group[0] == '/' && strlen(group) <= GROUP_BYTES_MAX && !strstr(group, "/../") &&
	       !strchr(group, '\n');
}

int home_group_note(int locks_fd, const struct home_folder *folder, const char *group)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES], new[NAME_BYTES + 24];
	ssize_t n;

	if (!is_group(group))
		return -EINVAL;
	name_of(folder, name);
	/* Under a name of this process, since a name that is shared would need a lock. */
	snprintf(new, sizeof(new), "%s.%d", name, (int)getpid());
	fd = openat(locks_fd, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	n = write(fd, group, strlen(group));
	if (n == (ssize_t)strlen(group) && renameat(locks_fd, new, locks_fd, name) == 0)
		return 0;
	n = n < 0 || errno ? -errno : -EIO;
	unlinkat(locks_fd, new, 0);
	return (int)n;
}

static ssize_t read_at(int folder_fd, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(folder_fd, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

bool home_group_is_populated(int locks_fd, const struct home_folder *folder)
{
	char name[NAME_BYTES], group[GROUP_BYTES_MAX + 2], path[GROUP_BYTES_MAX + 64], events[256];

	name_of(folder, name);
	if (read_at(locks_fd, name, group, sizeof(group)) <= 0 || !is_group(group))
		return false;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/payload/cgroup.events", group);
	return read_at(AT_FDCWD, path, events, sizeof(events)) > 0 &&
	       strstr(events, "populated 1") != NULL;
}
