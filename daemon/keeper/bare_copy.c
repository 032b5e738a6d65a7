/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bare_home.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/mem.h"

#define BLOCK_BYTES (64u * 1024u)

static int copy_bytes(int from, int to, struct bare_room *room)
{
	char block[BLOCK_BYTES];
	int r = 0;

	while (r == 0) {
		ssize_t n = read(from, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if ((uint64_t)n > room->bytes)
			return -EFBIG;
		room->bytes -= (uint64_t)n;
		r = file_write(to, block, (size_t)n);
	}
	return r;
}

/* Of a runner's two Harnesses, which have a file in common, the second one's is the same. */
static int create(int folder_fd, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(folder_fd, name, flags, 0600);

	if (fd < 0 && errno == EEXIST && unlinkat(folder_fd, name, 0) == 0)
		fd = openat(folder_fd, name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

int bare_write(int fd, int folder_fd, const char *name, unsigned int mode, struct bare_room *room)
{
	_cleanup_close_ int to = create(folder_fd, name);
	int r = to < 0 ? to : copy_bytes(fd, to, room);

	return r == 0 && fchmod(to, mode & 0777) < 0 ? -errno : r;
}

/* A link whose text leads to somewhere below the folder that is copied, which is so far above it. */
static bool stays_below(const char *text, unsigned int depth)
{
	long level = depth;

	if (*text == '/')
		return false;
	while (*text) {
		size_t length = strcspn(text, "/");

		if (length == 2 && text[0] == '.' && text[1] == '.')
			level--;
		else if (length > 0 && !(length == 1 && text[0] == '.'))
			level++;
		if (level < 0)
			return false;
		text += length + strspn(text + length, "/");
	}
	return true;
}

static int copy_link(int from, const char *name, int folder_fd, unsigned int depth)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (!stays_below(text, depth))
		return 0;
	return symlinkat(text, folder_fd, name) < 0 && errno != EEXIST ? -errno : 0;
}

static int copy_tree(int from, int to, unsigned int depth, struct bare_room *room);

static int copy_folder(int from, int folder_fd, const char *name, unsigned int depth,
		       struct bare_room *room)
{
	_cleanup_close_ int to = -1;

	if (mkdirat(folder_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	to = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return to < 0 ? -errno : copy_tree(from, to, depth, room);
}

/* What cannot be read, or is neither file, folder nor link, is left out. */
static int copy_entry(int from, const char *name, int to, unsigned int depth,
		      struct bare_room *room)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (room->entries == 0)
		return -EFBIG;
	room->entries--;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to, depth);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == EACCES || errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return copy_folder(fd, to, name, depth + 1, room);
	return S_ISREG(st.st_mode) ? bare_write(fd, to, name, (st.st_mode & 0555) | 0400, room) : 0;
}

struct copying {
	int from;
	int to;
	unsigned int depth;
	struct bare_room *room;
};

static int take_entry(void *context, const char *name)
{
	const struct copying *copying = context;

	return copy_entry(copying->from, name, copying->to, copying->depth, copying->room);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as BARE_HOME_DEPTH_MAX. */
static int copy_tree(int from, int to, unsigned int depth, struct bare_room *room)
{
	struct copying copying = {.from = from, .to = to, .depth = depth, .room = room};

	return depth > BARE_HOME_DEPTH_MAX ? -EFBIG : folder_each(from, take_entry, &copying);
}

int bare_copy(int fd, int folder_fd, const char *name, struct bare_room *room)
{
	_cleanup_close_ int from = -1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	/* A file of its own, so that it is read from its beginning. */
	from = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	return S_ISDIR(st.st_mode)
		       ? copy_folder(from, folder_fd, name, 0, room)
		       : bare_write(from, folder_fd, name, (st.st_mode & 0555) | 0400, room);
}
