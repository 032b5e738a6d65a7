/* SPDX-License-Identifier: MIT */

/*
 * The ledger as it lies there. It is not opened as a database: that would make files beside it, and
 * damage is the daemon's to find and to set aside. What can be told from outside is whether it is
 * there, whether it is the one that the daemon has open, whether this trialsd can read its version,
 * and what happened to it.
 */
#include "doctor/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "ledger/files.h"
#include "ledger/schema.h"

/* Offsets in the head of an SQLite file; numbers in it are big-endian. */
#define HEAD_BYTES 100
#define HEAD_MAGIC "SQLite format 3"
#define HEAD_VERSION 60
#define HEAD_APPLICATION 68

static uint32_t head_number(const uint8_t head[HEAD_BYTES], size_t at)
{
	return (uint32_t)head[at] << 24 | (uint32_t)head[at + 1] << 16 |
	       (uint32_t)head[at + 2] << 8 | head[at + 3];
}

/*
 * Whether this process has a ledger open, and not the one that is there (NULL: none is). By its
 * descriptors: a file that was moved or deleted is shown by its new name, or by the old one with
 * " (deleted)" behind it.
 */
static bool holds_another(long pid, const struct stat *there)
{
	bool any = false, same = false;
	char name[64], link[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *folder;

	snprintf(name, sizeof(name), "/proc/%ld/fd", pid);
	folder = opendir(name);
	while (folder && !same && (entry = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		if (n < 0)
			continue;
		link[n] = '\0';
		any = any || strstr(link, "/" LEDGER_FILE);
		same = there && fstatat(dirfd(folder), entry->d_name, &st, 0) == 0 &&
		       st.st_ino == there->st_ino && st.st_dev == there->st_dev;
	}
	if (folder)
		closedir(folder);
	return any && !same;
}

static bool has_trials(int state_fd)
{
	int fd = openat(state_fd, "trials", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool any = false;

	if (!folder) {
		fd_close(fd);
		return false;
	}
	while (!any && (entry = readdir(folder)))
		any = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	closedir(folder);
	return any;
}

/*
 * Found to be no ledger of ours: true. Once a daemon serves it, its mark and version were judged when
 * it was opened, and the head in the file may since be older than the one in its log.
 */
static bool check_head(struct doctor *doctor, int fd, const char *path, bool served)
{
	uint8_t head[HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	uint32_t version;

	if (n == 0)
		return false; /* as good as none */
	if (n < HEAD_BYTES || memcmp(head, HEAD_MAGIC, sizeof(HEAD_MAGIC)) != 0) {
		found(doctor, CHECK_warning,
		      "%s is corrupt: at its next start trialsd sets it aside and rebuilds it",
		      path);
		mend(doctor, "systemctl --user restart trialsd");
		return true;
	}
	if (served)
		return false;
	version = head_number(head, HEAD_VERSION);
	/* What is in its log alone is not seen here. */
	if (!head_number(head, HEAD_APPLICATION) && !version)
		return false;
	if (head_number(head, HEAD_APPLICATION) != (uint32_t)atoll(SCHEMA_APPLICATION_ID)) {
		found(doctor, CHECK_failed, "%s: a database, but not a ledger of trialsd", path);
		mend(doctor, "mv '%s' '%s.other'", path, path);
		return true;
	}
	if (version > (uint32_t)schema_version()) {
		found(doctor, CHECK_failed,
		      "%s: the ledger has schema version %u, this trialsd knows versions up to %d",
		      path, version, schema_version());
		mend(doctor, "start the newer trialsd again, or give this one another state "
			     "folder: --state DIR");
		return true;
	}
	return false;
}

static void check_past(struct doctor *doctor, int state_fd, const char *path)
{
	const char *state = doctor->options->state_folder;
	_cleanup_free_ char *marked = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *name = NULL;

	if (files_damaged(state_fd, &marked) == 0 && marked) {
		found(doctor, CHECK_warning,
		      "%s was found corrupt (%s): at its next start trialsd sets it aside and "
		      "rebuilds it",
		      path, marked);
		mend(doctor, "systemctl --user restart trialsd");
	} else if (files_note_newest(state_fd, &text, &name) == 0 && text) {
		found(doctor, CHECK_warning, "%s", text);
		mend(doctor, "trialctl list; and when you have seen to it: rm '%s/%s'", state,
		     name);
	} else {
		found(doctor, CHECK_ok, "%s", path);
	}
}

/* By the folder's own name, as the kernel shows it in /proc/PID/fd too. */
static bool ledger_path(int state_fd, char *path, size_t size)
{
	char link[64], folder[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", state_fd);
	n = readlink(link, folder, sizeof(folder) - 1);
	if (n < 0)
		return false;
	folder[n] = '\0';
	return snprintf(path, size, "%s/%s", folder, LEDGER_FILE) < (int)size;
}

void check_ledger(struct doctor *doctor)
{
	const char *state = doctor->options->state_folder;
	_cleanup_close_ int state_fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES_MAX + 32];
	bool there, served;
	struct stat st;
	long pid = 0;

	if (state_fd < 0 || !ledger_path(state_fd, path, sizeof(path))) {
		found(doctor, CHECK_not_applicable, "there is no state folder to look at");
		return;
	}
	fd = openat(state_fd, LEDGER_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	there = fd >= 0 && fstat(fd, &st) == 0;
	/* What a daemon asks for itself is about one that serves, whatever /proc/locks shows. */
	served = doctor->options->config_on_disk || doctor->options->config_at_fault;
	if (folder_lock_holder(state, &pid) && pid)
		served = true;
	if (pid && holds_another(pid, there ? &st : NULL)) {
		found(doctor, CHECK_failed,
		      "%s is not the file any more that trialsd (pid %ld) has open: it was deleted, "
		      "moved or replaced",
		      path, pid);
		mend(doctor, "put it back; or: trialctl shutdown, and start trialsd again, which "
			     "rebuilds what it can");
		return;
	}
	if (there && check_head(doctor, fd, path, served))
		return;
	if (!there && has_trials(state_fd)) {
		found(doctor, CHECK_warning,
		      "%s is gone: at its next start trialsd rebuilds it from the Trials' folders",
		      path);
		mend(doctor, "systemctl --user restart trialsd");
		return;
	}
	check_past(doctor, state_fd, path);
}
