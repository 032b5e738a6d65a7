/* SPDX-License-Identifier: MIT */
#include "plan/arm_store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "base/list.h"
#include "plan/arm.h"

/*
 * Contents that no Arm names are what a prepare has left that did not come to its end. Which they are is
 * known only from all Arms: one that cannot be read might name any of them, and then none is removed.
 */
struct contents {
	const struct arm_store *store;
	struct text_list names; /* in order */
	bool *named;
};

static int take_name(void *context, const char *name)
{
	struct contents *contents = context;

	/* More than that are for another start. */
	if (!arm_store_is_content(name) || contents->names.count == ARM_STORE_COLLECT_MAX)
		return 0;
	return text_list_add(&contents->names, name);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int mark_arm(struct contents *contents, const char *id)
{
	_cleanup_free_ void *bytes = NULL;
	struct message *message = NULL;
	struct arm arm;
	size_t size = 0;
	int r = arm_store_read(contents->store, id, &bytes, &size, NULL);

	if (r == 0)
		r = arm_decode(&message, bytes, size, id, &arm);
	for (size_t i = 0; r == 0 && i < arm.files.count; i++) {
		struct arm_store_file file;
		char name[ARM_STORE_CONTENT_BYTES];
		const char *key = name, **found;

		/* One that was gone when it was frozen has none. */
		if (arm_store_file_of(&arm.files.items[i], &file) < 0)
			continue;
		arm_store_content_name(&file, name);
		found = bsearch(&key, contents->names.items, contents->names.count,
				sizeof(*contents->names.items), compare);
		if (found)
			contents->named[found - contents->names.items] = true;
	}
	message_free(message);
	return r;
}

static int mark_all(struct contents *contents)
{
	_cleanup_(text_list_done) struct text_list ids = {0};
	int r = arm_store_list(contents->store, &ids);

	for (size_t i = 0; r == 0 && i < ids.count; i++)
		r = mark_arm(contents, ids.items[i]);
	return r;
}

/* 1 when it is gone, and its size; 0 when it is no file that the store made. */
static int remove_file(int folder_fd, const char *name, uint64_t *ret_size)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return 0;
	if (unlinkat(folder_fd, name, 0) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 1;
}

static int remove_unnamed(const struct contents *contents, struct arm_store_collected *collected)
{
	for (size_t i = 0; i < contents->names.count; i++) {
		uint64_t size = 0;
		int r;

		if (contents->named[i])
			continue;
		r = remove_file(contents->store->files_fd, contents->names.items[i], &size);
		if (r < 0)
			return r;
		collected->files += (size_t)r;
		collected->bytes += size;
		FAULT_POINT(arm_unkept);
	}
	return 0;
}

int arm_store_collect(const struct arm_store *store, struct arm_store_collected *ret_collected)
{
	struct contents contents = {.store = store};
	int r = arm_store_each_content(store, take_name, &contents);

	*ret_collected = (struct arm_store_collected){0};
	if (r == 0 && contents.names.count > 0) {
		qsort(contents.names.items, contents.names.count, sizeof(*contents.names.items),
		      compare);
		contents.named = calloc(contents.names.count, sizeof(*contents.named));
		r = contents.named ? mark_all(&contents) : -ENOMEM;
		if (r == 0)
			r = remove_unnamed(&contents, ret_collected);
	}
	free(contents.named);
	text_list_done(&contents.names);
	return r;
}

int arm_store_remove(const struct arm_store *store, const char *id,
		     struct arm_store_collected *ret_collected, int *ret_left)
{
	char name[ARM_STORE_NAME_BYTES];
	uint64_t size;
	int r;

	*ret_collected = (struct arm_store_collected){0};
	*ret_left = 0;
	arm_store_name(id, name);
	if (faccessat(store->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = remove_file(store->fd, name, &size);
	if (r < 0)
		return r;
	if (r == 0)
		return -EPERM;
	/* Before its contents: an Arm must not come back without them. */
	if (fsync(store->fd) < 0) {
		*ret_left = -errno;
		return 0;
	}
	FAULT_POINT(arm_unrecorded);
	*ret_left = arm_store_collect(store, ret_collected);
	return 0;
}
