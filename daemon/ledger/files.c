/* SPDX-License-Identifier: MIT */
/*
 * A ledger is replaced so that at each moment either the old one or the whole new one is found:
 *
 *   ledger.db.building           the new one is made, beside the old one
 *   ledger.db.corrupt-STAMP.txt  what happened is noted
 *   ledger.db.rebuilt-STAMP      renamed: the new one is whole. From here on there is no way back
 *   ledger.db.corrupt-STAMP      the old one, renamed, and its -wal and -shm with it
 *   ledger.db                    the new one, renamed
 *
 * A crash before the third step leaves a file that the next start removes; one after it leaves the
 * rest of the steps to the next start. A write-ahead log must never stay beside another file than
 * its own: SQLite would play it into that.
 *
 * The state folder's lock is held, so nobody else renames here; RENAME_NOREPLACE is for what a person
 * may have put there.
 */
#include "ledger/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fault_point.h"
#include "base/folder.h"

#define PREFIX_REBUILT LEDGER_FILE ".rebuilt"
#define PREFIX_ASIDE LEDGER_FILE ".corrupt"
#define FILE_DAMAGED LEDGER_FILE ".damaged"
#define NOTE_ENDING ".txt"
#define NAME_BYTES 96
#define STAMPS_MAX 1000 /* one after the other */

static const char *const companions[] = {"", "-wal", "-shm"};
static const char *const leftovers[] = {"", "-journal", "-wal", "-shm"};

struct names {
	int (*each)(const char *name, void *context);
	void *context;
};

static int take_name(void *context, const char *name)
{
	const struct names *names = context;

	return strncmp(name, LEDGER_FILE, strlen(LEDGER_FILE)) == 0
		       ? names->each(name, names->context)
		       : 0;
}

/* Calls each for the names that begin with ledger.db; ends with the first that returns not 0. */
static int each_name(int folder_fd, int (*each)(const char *name, void *context), void *context)
{
	struct names names = {.each = each, .context = context};

	return folder_each(folder_fd, take_name, &names);
}

static int has_stamp(const char *name, void *context)
{
	return strstr(name, context) != NULL;
}

int files_stamp(int folder_fd, char stamp[STAMP_BYTES])
{
	time_t now = time(NULL);
	struct tm tm;

	/* One that is taken: the next second's, so that their order is that of time. */
	for (int i = 0; i < STAMPS_MAX; i++, now++) {
		int r;

		strftime(stamp, STAMP_BYTES, "-%Y-%m-%dT%H-%M-%SZ", gmtime_r(&now, &tm));
		r = each_name(folder_fd, has_stamp, stamp);
		if (r <= 0)
			return r;
	}
	return -EEXIST;
}

/* Making the new one. */

static int remove_building(int folder_fd)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(leftovers); i++) {
		snprintf(name, sizeof(name), "%s%s", LEDGER_FILE_BUILDING, leftovers[i]);
		if (unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int files_build(int folder_fd)
{
	_cleanup_close_ int fd = -1;
	int r = remove_building(folder_fd);

	if (r < 0)
		return r;
	fd = openat(folder_fd, LEDGER_FILE_BUILDING,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

/* from becomes to; never in the place of something. */
static int rename_new(int folder_fd, const char *from, const char *to)
{
	struct stat st;

	if (renameat2(folder_fd, from, folder_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A filesystem that cannot promise it: nobody else renames here. */
	if (fstatat(folder_fd, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (fstatat(folder_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(folder_fd, from, folder_fd, to) < 0 ? -errno : 0;
}

int files_publish(int folder_fd, const char *stamp)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES];
	int r;

	fd = openat(folder_fd, LEDGER_FILE_BUILDING, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	snprintf(name, sizeof(name), "%s%s", PREFIX_REBUILT, stamp);
	r = rename_new(folder_fd, LEDGER_FILE_BUILDING, name);
	if (r == 0 && fsync(folder_fd) < 0)
		r = -errno;
	return r;
}

/* Its place. */

static int set_aside(int folder_fd, const char *stamp)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
		snprintf(from, sizeof(from), "%s%s", LEDGER_FILE, companions[i]);
		snprintf(to, sizeof(to), "%s%s%s", PREFIX_ASIDE, stamp, companions[i]);
		r = rename_new(folder_fd, from, to);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return fsync(folder_fd) < 0 ? -errno : 0;
}

int files_switch(int folder_fd, const char *stamp)
{
	char name[NAME_BYTES];
	int r = set_aside(folder_fd, stamp);

	if (r < 0)
		return r;
	FAULT_POINT(rebuild_aside);
	snprintf(name, sizeof(name), "%s%s", PREFIX_REBUILT, stamp);
	r = rename_new(folder_fd, name, LEDGER_FILE);
	if (r < 0)
		return r;
	if (unlinkat(folder_fd, FILE_DAMAGED, 0) < 0 && errno != ENOENT)
		return -errno;
	return fsync(folder_fd) < 0 ? -errno : 0;
}

static int take_published(const char *name, void *context)
{
	char *stamp = context;
	size_t length = strlen(PREFIX_REBUILT);

	if (strncmp(name, PREFIX_REBUILT "-", length + 1) != 0 ||
	    strlen(name + length) >= STAMP_BYTES)
		return 0;
	memcpy(stamp, name + length, strlen(name + length) + 1);
	return 1;
}

int files_recover(int folder_fd, bool *ret_switched)
{
	char stamp[STAMP_BYTES];
	int r = each_name(folder_fd, take_published, stamp);

	*ret_switched = r > 0;
	if (r > 0)
		r = files_switch(folder_fd, stamp);
	return r < 0 ? r : remove_building(folder_fd);
}

/* Words for people. */

static int write_text(int folder_fd, const char *name, int flags, const char *text)
{
	_cleanup_close_ int fd = -1;
	size_t size = strlen(text);

	fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO; /* of a write that ends short */
	if (write(fd, text, size) != (ssize_t)size || write(fd, "\n", 1) != 1)
		return -errno;
	return fsync(fd) < 0 || fsync(folder_fd) < 0 ? -errno : 0;
}

/* One line, and of it what a person may be shown. -ENOENT also for what is no file. */
static int read_text(int folder_fd, const char *name, char **ret_text)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;
	char *text;

	*ret_text = NULL;
	fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	text = malloc(NOTE_BYTES_MAX + 1);
	if (!text)
		return -ENOMEM;
	n = pread(fd, text, NOTE_BYTES_MAX, 0);
	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	*ret_text = text;
	return 0;
}

int files_note(int folder_fd, const char *kind, const char *stamp, const char *text)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s.%s%s%s", LEDGER_FILE, kind, stamp, NOTE_ENDING);
	/* A try of the same second that came to nothing may have left one. */
	return write_text(folder_fd, name, O_TRUNC, text);
}

/* ledger.db.KIND-STAMP.txt: where the stamp begins, or NULL. */
static const char *note_stamp(const char *name)
{
	size_t length = strlen(name), ending = strlen(NOTE_ENDING);

	if (name[strlen(LEDGER_FILE)] != '.' || length < ending ||
	    strcmp(name + length - ending, NOTE_ENDING) != 0)
		return NULL;
	return strchr(name, '-');
}

static int newer_note(const char *name, void *context)
{
	char **newest = context;
	const char *stamp = note_stamp(name);
	char *copy;

	if (!stamp || (*newest && strcmp(stamp, note_stamp(*newest)) <= 0))
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(*newest);
	*newest = copy;
	return 0;
}

int files_note_newest(int folder_fd, char **ret_text, char **ret_name)
{
	_cleanup_free_ char *name = NULL;
	int r;

	*ret_text = NULL;
	r = each_name(folder_fd, newer_note, &name);
	if (r == 0 && name)
		r = read_text(folder_fd, name, ret_text);
	if (ret_name)
		*ret_name = *ret_text ? steal(&name) : NULL;
	return r == -ENOENT ? 0 : r;
}

int files_mark_damaged(int folder_fd, const char *what)
{
	return write_text(folder_fd, FILE_DAMAGED, O_TRUNC, what);
}

int files_damaged(int folder_fd, char **ret_what)
{
	int r = read_text(folder_fd, FILE_DAMAGED, ret_what);

	return r == -ENOENT ? 0 : r;
}

/* Where an open ledger is. */

int files_place_init(struct files_place *place, const char *path)
{
	struct stat file, log;

	*place = (struct files_place){.path = strdup(path)};
	if (!place->path)
		return -ENOMEM;
	if (asprintf(&place->log_path, "%s-wal", path) < 0) {
		place->log_path = NULL;
		return -ENOMEM;
	}
	if (stat(place->path, &file) < 0 || stat(place->log_path, &log) < 0)
		return -errno;
	place->device = file.st_dev;
	place->file = file.st_ino;
	place->log = log.st_ino;
	return 0;
}

void files_place_done(struct files_place *place)
{
	free(place->path);
	free(place->log_path);
	*place = (struct files_place){0};
}

int files_place_check(const struct files_place *place)
{
	struct stat st;

	if (stat(place->path, &st) < 0 || st.st_dev != place->device || st.st_ino != place->file)
		return -ENOLINK;
	if (stat(place->log_path, &st) < 0 || st.st_dev != place->device || st.st_ino != place->log)
		return -ENOLINK;
	return 0;
}
