/* SPDX-License-Identifier: MIT */
#include "stamp.h"

#include <fcntl.h>
#include <string.h>

#include "base/mem.h"

/*
 * A ctime has the kernel's tick as its grain: what changes twice in one shows once. So a stamp
 * that was taken shortly after a change never holds, and what it belongs to is learned anew until
 * the change is old enough. A clock that is ahead (a server's) has the same effect.
 */
#define RECENT_NANOSECONDS 50000000ll

static long long nanoseconds(const struct timespec *time)
{
	return (long long)time->tv_sec * 1000000000ll + time->tv_nsec;
}

static bool is_recent(const struct timespec *changed)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return nanoseconds(changed) > nanoseconds(&now) - RECENT_NANOSECONDS;
}

static int add(struct stamps *stamps, const char *path, const struct stat *st, bool exact)
{
	struct stamp stamp = {.path = strdup(path), .exact = exact, .missing = !st};
	struct stamp *items;

	if (!stamp.path)
		return -ENOMEM;
	if (st) {
		stamp.device = st->st_dev;
		stamp.inode = st->st_ino;
		stamp.changed = st->st_ctim;
		stamp.recent = is_recent(&st->st_ctim);
	}
	items = realloc(stamps->items, (stamps->count + 1) * sizeof(*items));
	if (!items) {
		free(stamp.path);
		return -ENOMEM;
	}
	stamps->items = items;
	items[stamps->count++] = stamp;
	return 0;
}

static struct stamp *find(const struct stamps *stamps, const char *path)
{
	for (size_t i = 0; i < stamps->count; i++)
		if (!strcmp(stamps->items[i].path, path))
			return &stamps->items[i];
	return NULL;
}

int stamps_add(struct stamps *stamps, const char *path, int fd, bool exact)
{
	struct stamp *there = find(stamps, path);
	struct stat st;

	if (there) {
		there->exact |= exact;
		return 0;
	}
	if (fd >= 0 && fstat(fd, &st) < 0)
		return -errno;
	return add(stamps, path, fd >= 0 ? &st : NULL, exact);
}

int stamps_add_path(struct stamps *stamps, const char *path, bool exact)
{
	struct stat st;

	if (find(stamps, path))
		return stamps_add(stamps, path, -1, exact);
	return add(stamps, path, lstat(path, &st) == 0 ? &st : NULL, exact);
}

static bool holds(const struct stamp *stamp)
{
	struct stat st;

	if (lstat(stamp->path, &st) < 0)
		return stamp->missing;
	if (stamp->missing || stamp->device != st.st_dev || stamp->inode != st.st_ino)
		return false;
	return !stamp->exact ||
	       (!stamp->recent && nanoseconds(&stamp->changed) == nanoseconds(&st.st_ctim));
}

bool stamps_hold(const struct stamps *stamps)
{
	for (size_t i = 0; i < stamps->count; i++)
		if (!holds(&stamps->items[i]))
			return false;
	return true;
}

void stamps_done(struct stamps *stamps)
{
	for (size_t i = 0; i < stamps->count; i++)
		free(stamps->items[i].path);
	free(stamps->items);
	*stamps = (struct stamps){0};
}
