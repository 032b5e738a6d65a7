/* SPDX-License-Identifier: MIT */
#include "queue/folder_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"

int folder_identity(int fd, char ret_text[FOLDER_IDENTITY_BYTES])
{
	struct statfs system;
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0 ||
	    fstatfs(fd, &system) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_INO))
		return -EOPNOTSUPP;
	/* An overlay makes a folder anew when something in it is first changed; its inode stays. */
	if ((st.stx_mask & STATX_BTIME) && system.f_type != OVERLAYFS_SUPER_MAGIC)
		snprintf(ret_text, FOLDER_IDENTITY_BYTES, "inode %llu made %lld.%09u",
			 (unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec,
			 st.stx_btime.tv_nsec);
	else
		snprintf(ret_text, FOLDER_IDENTITY_BYTES, "inode %llu device %u:%u",
			 (unsigned long long)st.stx_ino, st.stx_dev_major, st.stx_dev_minor);
	return 0;
}

int folder_identity_at(const char *path, char ret_text[FOLDER_IDENTITY_BYTES])
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* Of an older kernel, or under a filter that knows no such call. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : folder_identity(fd, ret_text);
}

bool folder_identity_same(const char *one, const char *other)
{
	return strcmp(one, other) == 0;
}
