/* SPDX-License-Identifier: MIT */
#include "queue/home_wipe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>

#include "base/wipe.h"
#include "base/list.h"
#include "plan/plan.h"

#define KEEP_MAX 32

void home_aside_name(ino_t inode, char ret_name[HOME_ASIDE_BYTES])
{
	char random[SD_ID128_STRING_MAX] = "";
	sd_id128_t id;

	if (sd_id128_randomize(&id) >= 0)
		sd_id128_to_string(id, random);
	snprintf(ret_name, HOME_ASIDE_BYTES, HOME_ASIDE_PREFIX "%llx-%s", (unsigned long long)inode,
		 random);
}

bool home_aside_parse(const char *name, ino_t *ret_inode)
{
	static const char hexadecimal[] = "0123456789abcdef";
	const char *at = name + strlen(HOME_ASIDE_PREFIX);
	size_t length;

	if (strncmp(name, HOME_ASIDE_PREFIX, strlen(HOME_ASIDE_PREFIX)) != 0)
		return false;
	length = strspn(at, hexadecimal);
	if (length == 0 || length > 16 || at[length] != '-')
		return false;
	*ret_inode = (ino_t)strtoull(at, NULL, 16);
	at += length + 1;
	return strlen(at) == 32 && strspn(at, hexadecimal) == 32;
}

/* --- Emptying ------------------------------------------------------------------------------------- */

static bool is_lock_file(int folder_fd, const char *name)
{
	struct stat st;

	return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 1 && st.st_uid == getuid() && st.st_size <= HOME_LOCK_BYTES_MAX;
}

static size_t choose_kept(const struct home_folder *folder, const struct home_where *where,
			  const char *kept[KEEP_MAX])
{
	size_t count = 0;

	kept[count++] = where->login;
	for (size_t i = 0; i < where->keep_count && count < KEEP_MAX; i++)
		if (strcmp(where->keep[i], where->login) != 0 &&
		    is_lock_file(folder->fd, where->keep[i]))
			kept[count++] = where->keep[i];
	return count;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* 1 when there is nothing in it but what is kept. */
static int is_empty(int folder_fd, const char *const *kept, size_t count)
{
	const struct dirent *entry;
	DIR *listing;
	int fd, r = 1;

	fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = fd < 0 ? NULL : fdopendir(fd);
	if (!listing) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	while (r == 1 && (errno = 0, entry = readdir(listing)))
		r = is_one_of(entry->d_name, kept, count);
	if (r == 1 && errno)
		r = -errno;
	closedir(listing);
	return r;
}

static int unfinished(struct fault *fault, const struct home_where *where, const char *why)
{
	_cleanup_free_ char *path = display(where->path);
	_cleanup_free_ char *shown = display(why);

	return fault_void(fault, CAUSE_session_unavailable,
			  "the Trials home of %s, %s, cannot be emptied: %s", where->product, path,
			  shown);
}

static int mounted(struct fault *fault, const struct home_where *where, const char *point)
{
	_cleanup_free_ char *why = NULL, *shown = display(point);
	int r;

	if (asprintf(&why, "something is mounted in it, at %s", point) < 0) {
		why = NULL;
		return -ENOMEM;
	}
	r = unfinished(fault, where, why);
	return r < 0 ? r : fault_hint(fault, "umount '%s'", shown);
}

static const char *reason_of(int error)
{
	switch (error) {
	case -EBUSY:
	case -EXDEV:
		return "something is mounted in it";
	case -EPERM:
		return "something in it may not be moved (is it immutable? lsattr tells)";
	default:
		return strerror(-error);
	}
}

static int set_aside(const struct home_folder *folder, const struct home_where *where,
		     const char *const *kept, size_t count, bool *ret_unfinished,
		     struct fault *ret_fault)
{
	char aside[HOME_ASIDE_BYTES];
	int r = is_empty(folder->fd, kept, count);

	if (r == 1)
		return 0;
	if (r == 0) {
		home_aside_name(folder->inode, aside);
		r = wipe_set_aside(folder->fd, folder->parent_fd, aside, kept, count);
	}
	/* Somebody who is not held off by the lock may have put something there since. */
	if (r == 0)
		r = is_empty(folder->fd, kept, count);
	if (r == 1)
		return 0;
	*ret_unfinished = true;
	return unfinished(ret_fault, where, r == 0 ? "somebody else writes to it" : reason_of(r));
}

int home_wipe_empty(const struct home_folder *folder, const struct home_where *where,
		    bool *ret_unfinished, struct fault *ret_fault)
{
	_cleanup_(home_folder_done) struct home_folder now = HOME_FOLDER_INIT;
	const char *kept[KEEP_MAX];
	size_t count;
	int r;

	*ret_unfinished = false;
	r = home_folder_open(&now, where, ret_fault);
	if (r == 0 && !home_folder_same(&now, folder))
		return -ESTALE;
	if (r == 0 && now.mounted) {
		*ret_unfinished = true;
		return mounted(ret_fault, where, now.mounted);
	}
	if (r == 0)
		r = home_login_check(&now, where, ret_fault);
	if (r)
		return r;
	count = choose_kept(&now, where, kept);
	r = set_aside(&now, where, kept, count, ret_unfinished, ret_fault);
	return r ? r : home_login_check(&now, where, ret_fault);
}

/* --- What is set aside ---------------------------------------------------------------------------- */

/* Each entry of the parent in turn. */
static int each_entry(int parent_fd, int (*call)(const struct dirent *entry, void *context),
		      void *context)
{
	const struct dirent *entry;
	DIR *listing;
	int fd, r = 0;

	fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = fd < 0 ? NULL : fdopendir(fd);
	if (!listing) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(listing)))
		r = call(entry, context);
	if (r == 0 && errno)
		r = -errno;
	closedir(listing);
	return r;
}

struct leftovers {
	const struct home_folder *folder;
	struct text_list *names;
	ino_t inode; /* that is looked for */
};

static int is_inode(const struct dirent *entry, void *context)
{
	const struct leftovers *leftovers = context;

	return entry->d_ino == leftovers->inode;
}

static int leftover_add(const struct dirent *entry, void *context)
{
	struct leftovers *leftovers = context;
	int r = 0;

	if (!home_aside_parse(entry->d_name, &leftovers->inode))
		return 0;
	/* Of another home beside this one, whose lock we have not. */
	if (leftovers->inode != leftovers->folder->inode)
		r = each_entry(leftovers->folder->parent_fd, is_inode, leftovers);
	if (r != 0)
		return r < 0 ? r : 0;
	return text_list_add(leftovers->names, entry->d_name);
}

int home_wipe_leftovers(const struct home_folder *folder, struct text_list *ret_names)
{
	struct text_list names = {0};
	struct leftovers leftovers = {.folder = folder, .names = &names};
	int r = each_entry(folder->parent_fd, leftover_add, &leftovers);

	if (r < 0)
		text_list_done(&names);
	else
		*ret_names = names;
	return r;
}

int home_wipe_remove(int parent_fd, const char *name, _Atomic uint64_t *removed)
{
	_cleanup_close_ int fd = openat(parent_fd, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != getuid())
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return wipe_remove(parent_fd, name, removed);
}
