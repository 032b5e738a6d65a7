/* SPDX-License-Identifier: MIT */
#include "plan/arm_store.h"

#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "plan/program.h"

/*
 * A file comes under its name with all of its bytes, so a reader needs no lock and a crash leaves
 * nothing but a file that begins with FILE_NEW, which nobody reads and the next start removes. Contents are
 * synced before the Arm that needs them: there is no Arm whose files could be missing.
 */
#define ENDING ".arm"
#define BUFFER_BYTES (256u * 1024u)

static void hexadecimal(const struct sha256_ctx *hash, char ret_text[ARM_ID_BYTES + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx copy = *hash;

	sha256_digest(&copy, sizeof(digest), digest);
	base16_encode_update(ret_text, sizeof(digest), digest);
	ret_text[ARM_ID_BYTES] = '\0';
}

static bool is_digits(const char *text, size_t length)
{
	return strspn(text, "0123456789abcdef") >= length;
}

/* --- The folders ---------------------------------------------------------------------------------- */

int arm_store_open(struct arm_store *ret_store, int state_fd, const char *state_folder,
		   struct fault *ret_fault)
{
	_cleanup_free_ char *path = NULL, *files = NULL;
	struct arm_store store = ARM_STORE_INIT;
	int r;

	r = folder_below(state_fd, state_folder, "arms", &path, &store.fd, ret_fault);
	if (r == 0)
		r = folder_below(store.fd, path, "files", &files, &store.files_fd, ret_fault);
	if (r == 0)
		r = file_new_clear(store.fd);
	if (r == 0)
		r = file_new_clear(store.files_fd);
	if (r != 0) {
		arm_store_close(&store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void arm_store_close(struct arm_store *store)
{
	fd_close(store->fd);
	fd_close(store->files_fd);
	*store = ARM_STORE_INIT;
}

/* --- Arms ----------------------------------------------------------------------------------------- */

void arm_store_name(const char *id, char ret_name[ARM_STORE_NAME_BYTES])
{
	snprintf(ret_name, ARM_STORE_NAME_BYTES, "%.*s" ENDING, ARM_ID_BYTES, id);
}

static bool is_id(const char *id)
{
	return strlen(id) == ARM_ID_BYTES && is_digits(id, ARM_ID_BYTES);
}

static bool is_of(const char *id, const void *bytes, size_t size)
{
	char digest[ARM_ID_BYTES + 1];
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, size, bytes);
	hexadecimal(&hash, digest);
	return strcmp(digest, id) == 0;
}

static int read_whole(int fd, void **ret_bytes, size_t *ret_size)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t total = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > ARM_STORE_ARM_BYTES_MAX)
		return -EBADMSG;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	while (total < (size_t)st.st_size) {
		ssize_t n = pread(fd, bytes + total, (size_t)st.st_size - total, (off_t)total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		total += (size_t)n;
	}
	*ret_bytes = steal(&bytes);
	*ret_size = total;
	return 0;
}

int arm_store_read(const struct arm_store *store, const char *id, void **ret_bytes,
		   size_t *ret_size, uint64_t *ret_prepared_at)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ void *bytes = NULL;
	char name[ARM_STORE_NAME_BYTES];
	size_t size = 0;
	struct stat st;
	int r;

	if (!is_id(id))
		return -ENOENT;
	arm_store_name(id, name);
	fd = openat(store->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	r = read_whole(fd, &bytes, &size);
	if (r == 0 && !is_of(id, bytes, size))
		r = -EBADMSG;
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return r;
	if (ret_prepared_at)
		*ret_prepared_at = (uint64_t)st.st_mtim.tv_sec * 1000000u +
				   (uint64_t)st.st_mtim.tv_nsec / 1000u;
	*ret_bytes = steal(&bytes);
	*ret_size = size;
	return 0;
}

static int sync_folders(const struct arm_store *store)
{
	return fsync(store->files_fd) < 0 || fsync(store->fd) < 0 ? -errno : 0;
}

int arm_store_add(const struct arm_store *store, const char *id, const void *bytes, size_t size,
		  bool *ret_existed)
{
	_cleanup_free_ void *old = NULL;
	char name[ARM_STORE_NAME_BYTES];
	size_t old_size;

	if (!is_id(id) || !is_of(id, bytes, size))
		return -EINVAL;
	if (size > ARM_STORE_ARM_BYTES_MAX)
		return -EFBIG;
	*ret_existed = arm_store_read(store, id, &old, &old_size, NULL) == 0;
	/* Its files may have been lost and taken again. */
	if (fsync(store->files_fd) < 0)
		return -errno;
	if (*ret_existed)
		return sync_folders(store);
	arm_store_name(id, name);
	return file_put(store->fd, name, bytes, size, 0400);
}

static int take_id(void *context, const char *name)
{
	struct text_list *ids = context;
	char id[ARM_ID_BYTES + 1];

	if (strlen(name) != ARM_STORE_NAME_BYTES - 1 || !is_digits(name, ARM_ID_BYTES) ||
	    strcmp(name + ARM_ID_BYTES, ENDING) != 0)
		return 0;
	if (ids->count == ARM_STORE_ARMS_MAX)
		return -E2BIG;
	snprintf(id, sizeof(id), "%.*s", ARM_ID_BYTES, name);
	return text_list_add(ids, id);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int arm_store_list(const struct arm_store *store, struct text_list *ret_ids)
{
	_cleanup_(text_list_done) struct text_list ids = {0};
	int r = folder_each(store->fd, take_id, &ids);

	if (r < 0)
		return r;
	if (ids.count > 0)
		qsort(ids.items, ids.count, sizeof(*ids.items), compare);
	*ret_ids = ids;
	ids = (struct text_list){0};
	return 0;
}

int arm_store_find(const struct arm_store *store, const char *digits, char ret_id[ARM_ID_BYTES + 1])
{
	_cleanup_(text_list_done) struct text_list ids = {0};
	size_t length = strlen(digits), found = 0;
	int r;

	if (length < 8 || length > ARM_ID_BYTES || !is_digits(digits, length))
		return -EINVAL;
	r = arm_store_list(store, &ids);
	for (size_t i = 0; r == 0 && i < ids.count; i++) {
		if (strncmp(ids.items[i], digits, length) != 0)
			continue;
		memcpy(ret_id, ids.items[i], ARM_ID_BYTES + 1);
		found++;
	}
	if (r < 0)
		return r;
	return found == 1 ? 0 : found == 0 ? -ENOENT : -ENOTUNIQ;
}

/* --- Contents of mapped files --------------------------------------------------------------------- */

#define EXECUTABLE ".x"

void arm_store_content_name(const struct arm_store_file *file,
			    char ret_name[ARM_STORE_CONTENT_BYTES])
{
	snprintf(ret_name, ARM_STORE_CONTENT_BYTES, "%.*s%s", ARM_ID_BYTES, file->sha256,
		 file->executable ? EXECUTABLE : "");
}

bool arm_store_is_content(const char *name)
{
	return strlen(name) >= ARM_ID_BYTES && is_digits(name, ARM_ID_BYTES) &&
	       (name[ARM_ID_BYTES] == '\0' || strcmp(name + ARM_ID_BYTES, EXECUTABLE) == 0);
}

int arm_store_each_content(const struct arm_store *store,
			   int (*take)(void *context, const char *name), void *context)
{
	return folder_each(store->files_fd, take, context);
}

/* To copy_fd too, where that is not -1. */
static int digest_of(int fd, int copy_fd, struct arm_store_file *file)
{
	_cleanup_free_ uint8_t *buffer = malloc(BUFFER_BYTES);
	struct sha256_ctx hash;
	uint64_t total = 0;
	int r = buffer ? 0 : -ENOMEM;

	sha256_init(&hash);
	while (r == 0) {
		ssize_t n = pread(fd, buffer, BUFFER_BYTES, (off_t)total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		total += (uint64_t)n;
		if (total > ARM_STORE_FILE_BYTES_MAX)
			return -EFBIG;
		sha256_update(&hash, (size_t)n, buffer);
		r = copy_fd < 0 ? 0 : file_write(copy_fd, buffer, (size_t)n);
	}
	hexadecimal(&hash, file->sha256);
	file->size = total;
	return r;
}

/* The same before and after it was read, or it is not known what was read. */
static int digest_steady(int fd, int copy_fd, struct arm_store_file *file)
{
	struct program_stamp before, after;
	int r = program_stamp_of(fd, &before);

	if (r == 0)
		r = digest_of(fd, copy_fd, file);
	if (r == 0)
		r = program_stamp_of(fd, &after);
	return r == 0 && !program_stamp_equal(&before, &after) ? -EBUSY : r;
}

/* What is there already is as good, unless it is damaged: then this takes its place. */
static int take_copy(const struct arm_store *store, int fd, struct arm_store_file *file)
{
	_cleanup_close_ int copy = -1;
	char name[ARM_STORE_CONTENT_BYTES], new[FILE_NEW_BYTES];
	int r = file_new_open(store->files_fd, new, &copy);

	if (r < 0)
		return r;
	r = digest_steady(fd, copy, file);
	if (r < 0 || arm_store_check_file(store, file) == 0) {
		unlinkat(store->files_fd, new, 0);
		return r;
	}
	arm_store_content_name(file, name);
	return file_new_settle(store->files_fd, copy, new, name, file->executable ? 0500 : 0400);
}

int arm_store_take(const struct arm_store *store, int fd, struct arm_store_file *file)
{
	_cleanup_close_ int source = -1;
	char path[32];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > ARM_STORE_FILE_BYTES_MAX)
		return -EFBIG;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	source = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (source < 0)
		return -errno;
	return store ? take_copy(store, source, file) : digest_steady(source, -1, file);
}

int arm_store_open_file(const struct arm_store *store, const struct arm_store_file *file,
			int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char name[ARM_STORE_CONTENT_BYTES];
	struct stat st;

	if (!is_id(file->sha256))
		return -ENOENT;
	arm_store_content_name(file, name);
	fd = openat(store->files_fd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != file->size || st.st_uid != geteuid())
		return -EBADMSG;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int arm_store_check_file(const struct arm_store *store, const struct arm_store_file *file)
{
	_cleanup_close_ int fd = -1;
	struct arm_store_file found;
	int r = arm_store_open_file(store, file, &fd);

	if (r == 0)
		r = digest_of(fd, -1, &found);
	return r == 0 && strcmp(found.sha256, file->sha256) != 0 ? -EBADMSG : r;
}

int arm_store_check(const struct arm_store *store, const struct arm_file_list *files)
{
	struct arm_store_file kept;
	int r = 0;

	for (size_t i = 0; r == 0 && i < files->count; i++) {
		r = arm_store_file_of(&files->items[i], &kept);
		if (r == 0)
			r = arm_store_check_file(store, &kept);
	}
	return r;
}

int arm_store_file_of(const struct arm_file *file, struct arm_store_file *ret_file)
{
	if (!file->sha256 || !file->has.size || !is_id(file->sha256))
		return -EBADMSG;
	*ret_file = (struct arm_store_file){
		.size = file->size,
		.executable = (file->mode & 0111) != 0,
	};
	memcpy(ret_file->sha256, file->sha256, ARM_ID_BYTES + 1);
	return 0;
}
