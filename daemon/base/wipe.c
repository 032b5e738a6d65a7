/* SPDX-License-Identifier: MIT */

/*
 * Two threads share the deletion: unlinking is the kernel's work under the lock of one folder, so
 * that two folders go twice as fast on two processors. What they share is the listing of the folder
 * that is being removed: each takes an entry of it that the other is not busy with.
 *
 * A folder found inside an entry is moved up into that listing when the other thread has nothing to
 * do, or when it lies too deep (so that depth costs no descriptors); else it is removed where it is.
 * Moving is one call, whatever lies below. Where it is refused (a process that Landlock keeps from
 * moving things between folders) all is removed where it is.
 */
#include "base/wipe.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define WIPE_THREADS 2
#define DEPTH_MAX 24 /* each level costs a descriptor meanwhile */
#define NAME_BYTES 256

struct wipe {
	int fd; /* what is being removed */
	uint64_t mount;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	DIR *listing;
	bool found; /* in this reading of the listing there was something to do */
	unsigned int busy_count;
	char busy[WIPE_THREADS][NAME_BYTES];
	int error;	   /* the first; ends the work */
	atomic_bool idle;  /* a thread waits for something to do */
	atomic_bool fixed; /* folders cannot be moved here */
	_Atomic uint64_t moved;
	_Atomic uint64_t *removed;
};

static bool is_inside(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int look(int fd, uint64_t *ret_mount, unsigned int *ret_mode)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_MNT_ID, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*ret_mount = st.stx_mnt_id;
	if (ret_mode)
		*ret_mode = st.stx_mode & 07777u;
	return 0;
}

/* Whoever owns a folder may close it to himself; and must open it again to empty it. */
static int allow(int parent_fd, const char *name)
{
	_cleanup_close_ int fd = openat(parent_fd, name,
					O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[32];

	if (fd < 0)
		return -errno;
	/* A descriptor of this kind takes no fchmod. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0700) < 0 ? -errno : 0;
}

/* -errno; the folder that name is, when it is one on this mount. */
static int folder_open(int parent_fd, const char *name, uint64_t mount, int *ret_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_close_ int fd = openat(parent_fd, name, flags);
	unsigned int mode = 0;
	uint64_t there = 0;
	int r;

	if (fd < 0 && errno == EACCES) {
		r = allow(parent_fd, name);
		if (r < 0)
			return r;
		fd = openat(parent_fd, name, flags);
	}
	if (fd < 0)
		return -errno;
	r = look(fd, &there, &mode);
	if (r < 0)
		return r;
	if (there != mount)
		return -EXDEV;
	if ((mode & 0700) != 0700 && fchmod(fd, 0700) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* A folder's parent is written in it: one that is closed cannot be moved. */
static int move(int from_fd, const char *from, int to_fd, const char *to)
{
	int r;

	if (renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EACCES)
		return -errno;
	r = allow(from_fd, from);
	if (r < 0)
		return r == -ENOTDIR ? -EACCES : r;
	return renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* --- Setting aside -------------------------------------------------------------------------------- */

static bool is_kept(const char *name, const char *const *keep, size_t keep_count)
{
	size_t i;

	for (i = 0; i < keep_count; i++)
		if (strcmp(name, keep[i]) == 0)
			return true;
	return false;
}

/* What a reading gives while entries go away is not said to be all: it is read until it is empty. */
static int move_all(DIR *folder, int aside_fd, const char *const *keep, size_t keep_count)
{
	struct dirent *entry;
	bool found;
	int r;

	do {
		found = false;
		rewinddir(folder);
		while ((errno = 0, entry = readdir(folder))) {
			if (!is_inside(entry->d_name) || is_kept(entry->d_name, keep, keep_count))
				continue;
			found = true;
			r = move(dirfd(folder), entry->d_name, aside_fd, entry->d_name);
			/* What is missing may be where it goes to. */
			if (r == -ENOENT &&
			    faccessat(dirfd(folder), entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			if (r < 0)
				return r;
		}
		if (errno)
			return -errno;
	} while (found);
	return 0;
}

int wipe_set_aside(int folder_fd, int parent_fd, const char *aside, const char *const *keep,
		   size_t keep_count)
{
	_cleanup_close_ int fd = -1, aside_fd = -1;
	uint64_t mount = 0;
	DIR *folder;
	int r = look(parent_fd, &mount, NULL);

	if (r == 0)
		/* A description of its own: the caller's holds a lock and a position. */
		r = folder_open(folder_fd, ".", mount, &fd);
	if (r < 0)
		return r;
	if (mkdirat(parent_fd, aside, 0700) < 0)
		return -errno;
	r = folder_open(parent_fd, aside, mount, &aside_fd);
	if (r < 0)
		return r;
	folder = fdopendir(fd);
	if (!folder)
		return -errno;
	fd_steal(&fd);
	r = move_all(folder, aside_fd, keep, keep_count);
	closedir(folder);
	return r;
}

/* --- Removing ------------------------------------------------------------------------------------- */

static void count(struct wipe *wipe)
{
	if (wipe->removed)
		atomic_fetch_add_explicit(wipe->removed, 1, memory_order_relaxed);
}

static int move_up(struct wipe *wipe, int parent_fd, const char *name)
{
	char to[32];
	int r;

	/* Names of before a crash, or made to be in the way: the next one, then. */
	do {
		snprintf(to, sizeof(to), "moved.%llu",
			 (unsigned long long)atomic_fetch_add(&wipe->moved, 1));
		r = move(parent_fd, name, wipe->fd, to);
	} while (r == -EEXIST);
	if (r == 0) {
		pthread_mutex_lock(&wipe->lock);
		wipe->found = true;
		pthread_cond_broadcast(&wipe->changed);
		pthread_mutex_unlock(&wipe->lock);
	}
	return r;
}

static int empty(struct wipe *wipe, int parent_fd, const char *name, unsigned int depth);

static int remove_folder(struct wipe *wipe, int parent_fd, const char *name, unsigned int depth)
{
	int r;

	if (depth >= DEPTH_MAX)
		return move_up(wipe, parent_fd, name);
	if (depth > 0 && atomic_load(&wipe->idle) && !atomic_load(&wipe->fixed)) {
		r = move_up(wipe, parent_fd, name);
		if (r != -EXDEV && r != -EACCES && r != -EPERM)
			return r;
		atomic_store(&wipe->fixed, true);
	}
	r = empty(wipe, parent_fd, name, depth);
	if (r < 0)
		return r;
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
		return errno == ENOENT ? 0 : -errno;
	count(wipe);
	return 0;
}

static int remove_entry(struct wipe *wipe, int parent_fd, const char *name, int type,
			unsigned int depth)
{
	if (type != DT_DIR) {
		if (unlinkat(parent_fd, name, 0) == 0) {
			count(wipe);
			return 0;
		}
		if (errno == ENOENT)
			return 0;
		/* Linux says the one, POSIX the other. */
		if (type != DT_UNKNOWN || (errno != EISDIR && errno != EPERM))
			return -errno;
	}
	return remove_folder(wipe, parent_fd, name, depth);
}

/* All that is in a folder. */
static int empty(struct wipe *wipe, int parent_fd, const char *name, unsigned int depth)
{
	struct dirent *entry;
	bool found;
	DIR *folder;
	int r, fd;

	r = folder_open(parent_fd, name, wipe->mount, &fd);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	folder = fdopendir(fd);
	if (!folder) {
		r = -errno;
		close(fd);
		return r;
	}
	do {
		found = false;
		rewinddir(folder);
		while (r == 0 && (errno = 0, entry = readdir(folder))) {
			if (!is_inside(entry->d_name))
				continue;
			found = true;
			r = remove_entry(wipe, dirfd(folder), entry->d_name, entry->d_type,
					 depth + 1);
		}
		if (r == 0 && errno)
			r = -errno;
	} while (r == 0 && found);
	closedir(folder);
	return r;
}

static bool is_busy(const struct wipe *wipe, const char *name)
{
	size_t i;

	for (i = 0; i < WIPE_THREADS; i++)
		if (strcmp(wipe->busy[i], name) == 0)
			return true;
	return false;
}

/*
 * The next entry that nobody is busy with; false when the work is over. With the lock held. A
 * reading that found nothing while the other thread is busy decides nothing: it may yet move
 * something up.
 */
static bool take(struct wipe *wipe, char *busy, int *ret_type)
{
	struct dirent *entry;

	while (!wipe->error) {
		while ((errno = 0, entry = readdir(wipe->listing))) {
			if (!is_inside(entry->d_name) || is_busy(wipe, entry->d_name))
				continue;
			wipe->found = true;
			wipe->busy_count++;
			snprintf(busy, NAME_BYTES, "%s", entry->d_name);
			*ret_type = entry->d_type;
			return true;
		}
		if (errno) {
			wipe->error = -errno;
			break;
		}
		if (!wipe->found && wipe->busy_count == 0)
			return false;
		while (!wipe->found && wipe->busy_count > 0 && !wipe->error) {
			atomic_store(&wipe->idle, true);
			pthread_cond_wait(&wipe->changed, &wipe->lock);
		}
		atomic_store(&wipe->idle, false);
		wipe->found = false;
		rewinddir(wipe->listing);
	}
	return false;
}

static void work(struct wipe *wipe, char *busy)
{
	int type, r;

	pthread_mutex_lock(&wipe->lock);
	while (take(wipe, busy, &type)) {
		pthread_mutex_unlock(&wipe->lock);
		r = remove_entry(wipe, wipe->fd, busy, type, 0);
		pthread_mutex_lock(&wipe->lock);
		busy[0] = '\0';
		wipe->busy_count--;
		if (r < 0 && !wipe->error)
			wipe->error = r;
		pthread_cond_broadcast(&wipe->changed);
	}
	pthread_cond_broadcast(&wipe->changed);
	pthread_mutex_unlock(&wipe->lock);
}

static void *second(void *context)
{
	struct wipe *wipe = context;

	work(wipe, wipe->busy[1]);
	return NULL;
}

int wipe_remove(int parent_fd, const char *name, _Atomic uint64_t *removed)
{
	struct wipe wipe = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.removed = removed,
	};
	pthread_t thread;
	bool threaded;
	int r;

	r = look(parent_fd, &wipe.mount, NULL);
	if (r == 0)
		r = folder_open(parent_fd, name, wipe.mount, &wipe.fd);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	wipe.listing = fdopendir(wipe.fd);
	if (!wipe.listing) {
		r = -errno;
		close(wipe.fd);
		return r;
	}
	threaded = pthread_create(&thread, NULL, second, &wipe) == 0;
	work(&wipe, wipe.busy[0]);
	if (threaded)
		pthread_join(thread, NULL);
	closedir(wipe.listing);
	if (wipe.error)
		return wipe.error;
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
		return -errno;
	count(&wipe);
	return 0;
}
