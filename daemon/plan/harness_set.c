/* SPDX-License-Identifier: MIT */
/*
 * All Harnesses of one daemon, from two folders. The person's own file takes the place of the
 * shipped one of its name, even when it cannot be read: what they changed there, a login's path
 * say, must not be undone by a typing error.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reload.h"
#include "harness.h"

#define SUFFIX ".harness"

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* NAME of NAME.harness; NULL for any other file (a hidden one, an editor's copy). */
static const char *name_of(const struct dirent *entry, char *buffer, size_t size)
{
	size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX);

	if (entry->d_name[0] == '.' || length <= suffix || length - suffix >= size ||
	    strcmp(entry->d_name + length - suffix, SUFFIX) != 0)
		return NULL;
	memcpy(buffer, entry->d_name, length - suffix);
	buffer[length - suffix] = '\0';
	return buffer;
}

static void entry_done(struct harness_entry *entry)
{
	free(entry->name);
	free(entry->path);
	harness_free(entry->harness);
	fault_done(&entry->fault);
}

/* A new entry, or that of the name, emptied; NULL when out of memory. */
static struct harness_entry *entry_for(struct harness_set *set, const char *name)
{
	struct harness_entry *entries;

	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->entries[i].name, name) == 0) {
			set->faulty -= set->entries[i].harness == NULL;
			entry_done(&set->entries[i]);
			set->entries[i] = (struct harness_entry){.fault = FAULT_INIT};
			return &set->entries[i];
		}
	entries = realloc(set->entries, (set->count + 1) * sizeof(*entries));
	if (!entries)
		return NULL;
	set->entries = entries;
	entries[set->count] = (struct harness_entry){.fault = FAULT_INIT};
	return &entries[set->count++];
}

/* Reads one file into its entry. 0, or -errno for what is no fault of the file's. */
static int entry_read(struct harness_set *set, int folder_fd, const char *folder, const char *name,
		      bool own)
{
	struct harness_entry *entry = entry_for(set, name);
	_cleanup_free_ char *shown = NULL;
	_cleanup_close_ int fd = -1;
	const char *base;
	int r = 0;

	if (!entry)
		return -ENOMEM;
	entry->own = own;
	entry->name = strdup(name);
	if (asprintf(&entry->path, "%s/%s" SUFFIX, folder, name) < 0)
		entry->path = NULL;
	if (!entry->name || !entry->path)
		return -ENOMEM;
	base = strrchr(entry->path, '/') + 1;
	shown = display(entry->path);
	fd = openat(folder_fd, base, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		r = harness_read_at(&entry->harness, name, entry->path, fd, &entry->fault);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return -errno;
	else
		r = fault_errno(&entry->fault, errno, shown);
	set->faulty += r == FAULT;
	return r == FAULT ? 0 : r;
}

static int set_read(struct harness_set *set, const char *folder, bool own, struct fault *fault)
{
	_cleanup_(close_folder) DIR *stream = NULL;
	_cleanup_free_ char *shown = display(folder);
	size_t count = 0;
	struct dirent *entry;
	int r = 0;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && own)
		return 0;
	if (fd < 0)
		return fault_errno(fault, errno, shown);
	stream = fdopendir(fd);
	if (!stream) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	while (r == 0) {
		char buffer[256];
		const char *name;

		errno = 0;
		entry = readdir(stream);
		if (!entry)
			return errno ? fault_errno(fault, errno, shown) : 0;
		name = name_of(entry, buffer, sizeof(buffer));
		if (name && ++count > HARNESS_FILES_MAX)
			return fault_set(fault, ERROR_invalid, "%s: more than %d .harness files",
					 shown, HARNESS_FILES_MAX);
		if (name)
			r = entry_read(set, dirfd(stream), folder, name, own);
	}
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct harness_entry *one = a, *other = b;

	return strcmp(one->name, other->name);
}

int harness_set_load(struct harness_set **ret_set, const char *shipped_folder,
		     const char *own_folder, struct fault *ret_fault)
{
	struct harness_set *set = calloc(1, sizeof(*set));
	int r;

	if (!set)
		return -ENOMEM;
	r = set_read(set, shipped_folder, false, ret_fault);
	if (r == 0 && own_folder && !(set->own_folder = strdup(own_folder)))
		r = -ENOMEM;
	if (r == 0 && own_folder)
		r = set_read(set, own_folder, true, ret_fault);
	if (r != 0) {
		harness_set_free(set);
		return r;
	}
	if (set->count > 0)
		qsort(set->entries, set->count, sizeof(*set->entries), by_name);
	*ret_set = set;
	return 0;
}

struct harness_set *harness_set_free(struct harness_set *set)
{
	if (!set)
		return NULL;
	for (size_t i = 0; i < set->count; i++)
		entry_done(&set->entries[i]);
	free(set->entries);
	free(set->own_folder);
	free(set);
	return NULL;
}

/* Its file may have come since: then a reload is all that is missing. */
static int hint_unknown(const struct harness_set *set, const char *name, struct fault *fault)
{
	_cleanup_free_ char *path = NULL, *shown = NULL;
	char command[RELOAD_COMMAND_BYTES];

	reload_command(getpid(), command);
	if (!set->own_folder || strchr(name, '/') ||
	    asprintf(&path, "%s/%s" SUFFIX, set->own_folder, name) < 0)
		path = NULL;
	if (path && access(path, F_OK) == 0) {
		shown = display(path);
		return fault_hint(fault, "%s is there, and is taken up by a reload: %s", shown,
				  command);
	}
	return fault_hint(
		fault,
		"one of your own is a file ~/.config/trialsd/harness.d/NAME.harness, which "
		"a reload takes up (%s); see trialsd.harness(5)",
		command);
}

static int refuse_unknown(const struct harness_set *set, const char *name, struct fault *fault)
{
	_cleanup_free_ char *names = NULL, *shown = display(name);
	size_t size = 0;
	FILE *file = open_memstream(&names, &size);
	int r;

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		fprintf(file, "%s%s", i ? ", " : "", set->entries[i].name);
	if (fclose(file) != 0)
		return -ENOMEM;
	r = fault_set(fault, ERROR_invalid, "harness: there is no \"%s\"; there are %s", shown,
		      set->count ? names : "none");
	return r < 0 ? r : hint_unknown(set, name, fault);
}

int harness_set_find(const struct harness_set *set, const char *name,
		     const struct harness **ret_harness, struct fault *ret_fault)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct harness_entry *entry = &set->entries[i];
		char command[RELOAD_COMMAND_BYTES];
		int r;

		if (strcmp(entry->name, name) != 0)
			continue;
		if (entry->harness) {
			*ret_harness = entry->harness;
			return 0;
		}
		r = fault_set(ret_fault, ERROR_unavailable, "harness: %s", entry->fault.message);
		return r < 0 ? r
			     : fault_hint(ret_fault, "mend the file, then have it read: %s",
					  reload_command(getpid(), command));
	}
	return refuse_unknown(set, name, ret_fault);
}
