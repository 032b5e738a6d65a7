/* SPDX-License-Identifier: MIT */

/*
 * Reading: opened without waiting (a FIFO, a lease) and without following, looked at by its
 * descriptor before a byte is read, and once more after the last one. Whoever writes in place
 * changes size or time in between, and the reader comes again.
 *
 * Replacing: the host's own program takes none of our locks, so a comparison before a plain rename
 * leaves a moment in which its newer login would be overwritten. The two names are exchanged
 * instead, and what came out is looked at: if it is not what was compared, they are exchanged back.
 * At each moment the name is that of a whole file.
 *
 * Overwriting, where the file itself is bound into a sandbox: whoever has it open could write between
 * our look and our write, or between our write and the cut behind it, and what he wrote would be lost.
 * So it is done under a write lease, which is granted only when nobody else has it open, and makes
 * whoever opens it meanwhile wait (fcntl(2), F_SETLEASE; a bound file too since Linux 5.3).
 */
#include "login_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/fault_point.h"
#include "base/mem.h"
#include "base/file.h"

/* In the host's folder, under the login's lock: one that a killed keeper left is replaced. */
#define NEW_PREFIX ".trialsd-new-"
/* What stood in the way of a login; the next wipe of a home takes it. */
#define ASIDE_PREFIX ".trialsd-aside-"
/* Somebody who replaces it that often, each time between two calls of ours, is not to be outrun. */
#define EXCHANGES_MAX 1000

void login_content_done(struct login_content *content)
{
	if (content->data)
		explicit_bzero(content->data, content->size);
	free(content->data);
	*content = (struct login_content){0};
}

struct blob login_content_blob(const struct login_content *content)
{
	return (struct blob){.data = content->data, .size = content->size};
}

int login_content_copy(struct login_content *to, const void *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	login_content_done(to);
	to->data = copy;
	to->size = size;
	return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A rename changes ctime, so it does not count. */
bool login_stat_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && same_time(&a->st_mtim, &b->st_mtim);
}

static int refuse(char reason[GATE_REASON_BYTES], const char *why)
{
	snprintf(reason, GATE_REASON_BYTES, "%s", why);
	return -EBADMSG;
}

static int check_stat(const struct stat *st, char reason[GATE_REASON_BYTES])
{
	if (S_ISDIR(st->st_mode))
		return refuse(reason, "it is a folder");
	if (S_ISFIFO(st->st_mode))
		return refuse(reason, "it is a FIFO");
	if (!S_ISREG(st->st_mode))
		return refuse(reason, "it is not a regular file");
	if (st->st_uid != geteuid())
		return refuse(reason, "it belongs to another user");
	if (st->st_nlink > 1)
		return refuse(reason, "it has a second name (hard link)");
	if (st->st_size > (off_t)GATE_BYTES_MAX) {
		snprintf(reason, GATE_REASON_BYTES, "it is over %u KiB", GATE_BYTES_MAX / 1024);
		return -EBADMSG;
	}
	/* Unlinked since it was opened: another is coming, or none. */
	return st->st_nlink == 0 ? -EAGAIN : 0;
}

static int open_refused(int folder_fd, const char *name, int error, struct login_content *ret,
			char reason[GATE_REASON_BYTES])
{
	if (error == ENOENT)
		return -ENOENT;
	/* A lease that somebody has on it. */
	if (error == EWOULDBLOCK || error == EINTR)
		return -EAGAIN;
	/* What it is, for whoever asks whether it stays so. */
	if (fstatat(folder_fd, name, &ret->st, AT_SYMLINK_NOFOLLOW) < 0)
		ret->st = (struct stat){0};
	if (error == ELOOP)
		return refuse(reason, "it is a symbolic link");
	if (error == EACCES || error == EPERM)
		return refuse(reason, "it cannot be read");
	if (error == ENXIO || error == ENODEV)
		return refuse(reason, "it is not a regular file");
	return -error;
}

int login_file_read(int folder_fd, const char *name, struct login_content *ret,
		    char ret_reason[GATE_REASON_BYTES])
{
	_cleanup_close_ int fd = openat(folder_fd, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_login_content_ struct login_content content = {0};
	struct stat after;
	ssize_t n;
	int r;

	*ret = (struct login_content){0};
	ret_reason[0] = '\0';
	if (fd < 0)
		return open_refused(folder_fd, name, errno, ret, ret_reason);
	if (fstat(fd, &content.st) < 0)
		return -errno;
	r = check_stat(&content.st, ret_reason);
	if (r < 0) {
		ret->st = content.st;
		return r;
	}
	content.size = (size_t)content.st.st_size;
	content.data = malloc(content.size + 1);
	if (!content.data)
		return -ENOMEM;
	/* One more than there should be, to see that it does not grow. */
	n = pread(fd, content.data, content.size + 1, 0);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if ((size_t)n != content.size || fstat(fd, &after) < 0 ||
	    !login_stat_same(&content.st, &after))
		return -EAGAIN;
	*ret = content;
	content = (struct login_content){0};
	return 0;
}

/* What stands under the name, whatever it is, has another one from then on. */
static int set_aside(int folder_fd, const char *name)
{
	char aside[sizeof(ASIDE_PREFIX) + 16];
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(aside, sizeof(aside), ASIDE_PREFIX "%016llx", (unsigned long long)random);
	return renameat2(folder_fd, name, folder_fd, aside, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int write_beside(int folder_fd, const char *name, const void *data, size_t size,
			bool durable)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT) {
		/* A folder: in a home of its own, a Trial may make what it likes. */
		r = errno == EISDIR || errno == EPERM ? set_aside(folder_fd, name) : -errno;
		if (r < 0)
			return r;
	}
	fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	FAULT_POINT(carry_created);
	r = file_write_at(fd, data, size, 0);
	FAULT_POINT(carry_written);
	if (r == 0 && durable && fsync(fd) < 0)
		r = -errno;
	FAULT_POINT(carry_synced);
	return r;
}

/* Where a file system cannot exchange. */
static int replace_plainly(int folder_fd, const char *beside, const char *name,
			   const struct stat *was)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!login_stat_same(&st, was))
		return -EAGAIN;
	return renameat(folder_fd, beside, folder_fd, name) < 0 ? -errno : 0;
}

/* Held, so that no other file is given its number. */
static int hold(int folder_fd, const char *name)
{
	int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_held(int folder_fd, const char *name, int held_fd)
{
	struct stat there, held;

	return fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(held_fd, &held) == 0 && there.st_dev == held.st_dev &&
	       there.st_ino == held.st_ino;
}

/*
 * Beside is what somebody put under the name meanwhile; ours is there now. What comes out of each
 * exchange should be what went in before: if it is not, it is newer still, and belongs there.
 * *ret_ours: beside is what was put there by us, or was compared, and not the newest of them all.
 */
static int exchange_back(int folder_fd, const char *beside, const char *name, int ours_fd,
			 bool *ret_ours)
{
	_cleanup_close_ int there_fd = -1;

	for (int i = 0; i < EXCHANGES_MAX; i++) {
		_cleanup_close_ int newer_fd = hold(folder_fd, beside);

		/* It goes back all the same where there is no descriptor to hold it by. */
		if (renameat2(folder_fd, beside, folder_fd, name, RENAME_EXCHANGE) < 0)
			return -errno;
		*ret_ours = is_held(folder_fd, beside, i == 0 ? ours_fd : there_fd);
		if (*ret_ours || newer_fd < 0)
			return -EAGAIN;
		fd_close(there_fd);
		there_fd = fd_steal(&newer_fd);
	}
	return -EAGAIN;
}

static int exchange(int folder_fd, const char *beside, const char *name, const struct stat *was,
		    bool *ret_ours)
{
	_cleanup_close_ int ours_fd = hold(folder_fd, beside);
	struct stat st;

	if (ours_fd < 0)
		return ours_fd;
	if (renameat2(folder_fd, beside, folder_fd, name, RENAME_EXCHANGE) < 0) {
		if (errno == ENOENT)
			return -EAGAIN;
		return errno == EINVAL || errno == ENOSYS
			       ? replace_plainly(folder_fd, beside, name, was)
			       : -errno;
	}
	FAULT_POINT(carry_exchanged);
	if (fstatat(folder_fd, beside, &st, AT_SYMLINK_NOFOLLOW) == 0 && login_stat_same(&st, was))
		return 0;
	*ret_ours = false;
	return exchange_back(folder_fd, beside, name, ours_fd, ret_ours);
}

static int name_beside(const char *name, char beside[NAME_MAX + 1])
{
	int size = snprintf(beside, NAME_MAX + 1, NEW_PREFIX "%s", name);

	return size > NAME_MAX ? -ENAMETOOLONG : 0;
}

void login_file_tidy(int folder_fd, const char *name)
{
	char beside[NAME_MAX + 1];

	if (name_beside(name, beside) == 0)
		unlinkat(folder_fd, beside, 0);
}

int login_file_replace(int folder_fd, const char *name, const void *data, size_t size,
		       const struct stat *was, bool durable)
{
	char beside[NAME_MAX + 1];
	int r = name_beside(name, beside);
	bool ours = true;

	if (r < 0)
		return r;
	r = write_beside(folder_fd, beside, data, size, durable);
	if (r == 0 && was)
		r = exchange(folder_fd, beside, name, was, &ours);
	else if (r == 0 && renameat(folder_fd, beside, folder_fd, name) < 0)
		r = -errno;
	if (r == 0 && durable && fsync(folder_fd) < 0)
		r = -errno;
	FAULT_POINT(carry_durable);
	/* What it took the place of, or what did not come into its place. */
	if (ours)
		unlinkat(folder_fd, beside, 0);
	return r;
}

int login_file_put(int folder_fd, const char *name, const void *data, size_t size)
{
	int r = login_file_replace(folder_fd, name, data, size, NULL, true);

	if (r != -EISDIR && r != -ENOTEMPTY && r != -EEXIST)
		return r;
	r = set_aside(folder_fd, name);
	return r < 0 ? r : login_file_replace(folder_fd, name, data, size, NULL, true);
}

/* SIGURG, which is ignored unless somebody asks for it, tells that another waits; SIGIO would end us. */
static int lease_take(int fd)
{
	return fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0 ? -errno : 0;
}

static int still_holds(int fd, const struct login_content *was)
{
	_cleanup_free_ uint8_t *data = malloc(was->size + 1);
	ssize_t n;
	int r;

	if (!data)
		return -ENOMEM;
	n = pread(fd, data, was->size + 1, 0);
	r = n == (ssize_t)was->size && memcmp(data, was->data, was->size) == 0 ? 0 : -EAGAIN;
	explicit_bzero(data, was->size + 1);
	return r;
}

/* Never shorter than what is in it, until it is cut: one that is killed in between leaves blanks. */
static int overwrite(int fd, const void *data, size_t size, size_t was_size)
{
	size_t length = was_size > size ? was_size : size;
	_cleanup_free_ char *padded = malloc(length + 1);
	struct stat st;
	int r;

	if (!padded)
		return -ENOMEM;
	memcpy(padded, data, size);
	memset(padded + size, '\n', length - size);
	r = file_write_at(fd, padded, length, 0);
	explicit_bzero(padded, length);
	if (r < 0 || length == size)
		return r;
	/* Without a lease another may have written by now. */
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_size == (off_t)length && ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

int login_file_overwrite(int folder_fd, const char *name, const struct login_content *was,
			 const void *data, size_t size, bool insist)
{
	_cleanup_close_ int fd = openat(folder_fd, name,
					O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char reason[GATE_REASON_BYTES];
	struct stat st;
	int r;

	if (fd < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	r = check_stat(&st, reason);
	if (r < 0)
		return r;
	/* Where there are no leases, as on a network's file system, it is done without. */
	if (lease_take(fd) == -EAGAIN && !insist)
		return -EAGAIN;
	r = still_holds(fd, was);
	return r == 0 ? overwrite(fd, data, size, was->size) : r;
}
