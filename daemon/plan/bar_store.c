/* SPDX-License-Identifier: MIT */
#include "plan/bar_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/list.h"

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false

#define BAR_FILE_FIELDS(X)                                                                         \
	X(id, STRING, REQUIRED, BAR_ID_BYTES, "digest of bar")                                     \
	X(created_at, TIME, REQUIRED, 0, "when it was set")                                        \
	X(bar, BLOB, REQUIRED, 0, "its canonical form")

MESSAGE_STRUCT_(bar_file, BAR_FILE_FIELDS)
#define THIS bar_file
#define FIELDS BAR_FILE_FIELDS
MESSAGE_TYPE_(bar_file, BAR_FILE_FIELDS)
#include "proto/field_table.h"

#define BAR_USED_FIELDS(X)                                                                         \
	X(id, STRING, REQUIRED, BAR_ID_BYTES, "which it was")                                      \
	X(used_at, TIME, REQUIRED, 0, "when")

MESSAGE_STRUCT_(bar_used, BAR_USED_FIELDS)
#define THIS bar_used
#define FIELDS BAR_USED_FIELDS
MESSAGE_TYPE_(bar_used, BAR_USED_FIELDS)
#include "proto/field_table.h"

#define BAR_ENDING ".bar"
#define USED_ENDING ".used"
#define NAME_BYTES (BAR_NAME_BYTES_MAX + sizeof(USED_ENDING))

/* --- Files ---------------------------------------------------------------------------------------- */

static int read_file(int folder_fd, const char *name, size_t most, void **ret_bytes,
		     size_t *ret_size, struct stat *ret_st)
{
	_cleanup_close_ int fd = openat(folder_fd, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t total = 0;

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode) || ret_st->st_size <= 0 || (size_t)ret_st->st_size > most)
		return -EBADMSG;
	bytes = malloc((size_t)ret_st->st_size);
	if (!bytes)
		return -ENOMEM;
	while (total < (size_t)ret_st->st_size) {
		ssize_t n = pread(fd, bytes + total, (size_t)ret_st->st_size - total, (off_t)total);

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

static int write_message(int folder_fd, const char *name, const struct message_type *type,
			 const void *structure)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, type, structure);
	if (r == 0)
		r = file_put(folder_fd, name, buffer.data, buffer.size, 0400);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static void file_name(const char *name, const char *ending, char ret_name[NAME_BYTES])
{
	snprintf(ret_name, NAME_BYTES, "%.*s%s", BAR_NAME_BYTES_MAX, name, ending);
}

/* --- The folder ----------------------------------------------------------------------------------- */

int bar_store_open(struct bar_store *store, int state_fd, const char *state_folder,
		   struct fault *ret_fault)
{
	_cleanup_free_ char *path = NULL;
	int r = folder_below(state_fd, state_folder, "bars", &path, &store->fd, ret_fault);

	if (r == 0)
		r = file_new_clear(store->fd);
	if (r != 0)
		bar_store_close(store);
	return r;
}

void bar_store_close(struct bar_store *store)
{
	fd_close(store->fd);
	store->fd = -1;
}

static int take_name(void *context, const char *name)
{
	struct text_list *names = context;
	size_t length = strlen(name), ending = strlen(BAR_ENDING);
	char bar[BAR_NAME_BYTES_MAX + 1];

	if (length <= ending || length - ending > BAR_NAME_BYTES_MAX ||
	    strcmp(name + length - ending, BAR_ENDING) != 0)
		return 0;
	snprintf(bar, sizeof(bar), "%.*s", (int)(length - ending), name);
	if (!bar_name_valid(bar))
		return 0;
	return names->count == BAR_STORE_BARS_MAX ? -E2BIG : text_list_add(names, bar);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int bar_store_list(const struct bar_store *store, struct text_list *ret_names)
{
	_cleanup_(text_list_done) struct text_list names = {0};
	int r = folder_each(store->fd, take_name, &names);

	if (r < 0)
		return r;
	if (names.count > 0)
		qsort(names.items, names.count, sizeof(*names.items), compare);
	*ret_names = names;
	names = (struct text_list){0};
	return 0;
}

/* --- Reading -------------------------------------------------------------------------------------- */

void bar_kept_done(struct bar_kept *kept)
{
	bar_held_done(&kept->held);
	*kept = BAR_KEPT_INIT;
}

/* Every file of today has these keys, and none of the older form had. */
static int decode_file(const void *bytes, size_t size, struct bar_kept *kept)
{
	struct message *message = NULL;
	struct decode_error error;
	struct bar_file file;
	char id[BAR_ID_BYTES + 1];
	int r = message_parse(&message, bytes, size);

	if (r == 0)
		r = message_decode(message, message_root(message), &bar_file_type,
				   UNKNOWN_KEYS_REFUSED, &file, &error);
	if (r == 0) {
		bar_id_of(file.bar.data, file.bar.size, id);
		/* What it claims to be, and is not, is no older form either. */
		r = strcmp(id, file.id) == 0 ? bar_decode(file.bar.data, file.bar.size, &kept->held)
					     : -EBADMSG;
		memcpy(kept->id, id, sizeof(id));
		kept->created_at = file.created_at;
	} else if (r == -EBADMSG) {
		r = bar_decode_legacy(bytes, size, &kept->held);
		bar_id_of(bytes, size, kept->id);
	}
	message_free(message);
	return r;
}

/* 0: there is a mark. id is "" where the mark is damaged, which says all the same that it was used. */
static int read_used(const struct bar_store *store, const char *name, char ret_id[BAR_ID_BYTES + 1],
		     uint64_t *ret_used_at)
{
	_cleanup_free_ void *bytes = NULL;
	struct message *message = NULL;
	struct decode_error error;
	char file[NAME_BYTES];
	struct bar_used used;
	struct stat st = {0};
	size_t size = 0;
	int r;

	ret_id[0] = '\0';
	*ret_used_at = 0;
	file_name(name, USED_ENDING, file);
	r = read_file(store->fd, file, 4096, &bytes, &size, &st);
	if (r == -EBADMSG)
		return 0;
	if (r < 0)
		return r;
	r = message_parse(&message, bytes, size);
	if (r == 0)
		r = message_decode(message, message_root(message), &bar_used_type,
				   UNKNOWN_KEYS_REFUSED, &used, &error);
	if (r == 0) {
		snprintf(ret_id, BAR_ID_BYTES + 1, "%s", used.id);
		*ret_used_at = used.used_at;
	}
	message_free(message);
	return r == -EBADMSG ? 0 : r;
}

int bar_store_read(const struct bar_store *store, const char *name, struct bar_kept *ret_kept)
{
	_cleanup_free_ void *bytes = NULL;
	struct bar_kept kept = BAR_KEPT_INIT;
	char file[NAME_BYTES], used[BAR_ID_BYTES + 1] = "";
	struct stat st = {0};
	size_t size = 0;
	int r;

	*ret_kept = BAR_KEPT_INIT;
	if (!bar_name_valid(name))
		return -ENOENT;
	file_name(name, BAR_ENDING, file);
	r = read_file(store->fd, file, BAR_STORE_BYTES_MAX, &bytes, &size, &st);
	if (r == 0)
		r = decode_file(bytes, size, &kept);
	if (r == 0 && strcmp(kept.held.bar.name, name) != 0)
		r = -EBADMSG;
	if (r == 0 && kept.held.legacy)
		kept.created_at = (uint64_t)st.st_mtim.tv_sec * 1000000u +
				  (uint64_t)st.st_mtim.tv_nsec / 1000u;
	if (r == 0) {
		r = read_used(store, name, used, &kept.used_at);
		kept.used = r == 0 || kept.held.legacy;
		if (r == 0 && used[0] && strcmp(used, kept.id) != 0)
			r = -EBADMSG;
		else if (r == -ENOENT)
			r = 0;
	}
	if (r < 0)
		bar_kept_done(&kept);
	*ret_kept = kept;
	return r;
}

/* --- Changing ------------------------------------------------------------------------------------- */

/* What is there of that name, and may not be replaced by another one. */
static int may_replace(const struct bar_store *store, const char *name, const char *id, int found)
{
	char used[BAR_ID_BYTES + 1] = "";
	uint64_t used_at;
	int r = read_used(store, name, used, &used_at);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	/* The very same once more is what mends one that is damaged or gone. */
	if (found != 0 && strcmp(used, id) == 0)
		return 0;
	return found == 0 ? -EPERM : -EUCLEAN;
}

static int check_room(const struct bar_store *store)
{
	_cleanup_(text_list_done) struct text_list names = {0};
	int r = bar_store_list(store, &names);

	return r < 0 ? r : names.count >= BAR_STORE_BARS_MAX ? -E2BIG : 0;
}

static int put(const struct bar_store *store, const struct bar_held *held, const struct blob *bytes,
	       uint64_t now, bool only_existing, enum bar_put *ret_put)
{
	const char *name = held->bar.name;
	struct bar_kept kept;
	struct bar_file new = {.has = {.created_at = true}, .created_at = now, .bar = *bytes};
	char id[BAR_ID_BYTES + 1], file[NAME_BYTES];
	int found = bar_store_read(store, name, &kept), r;
	bool same = found == 0 && bar_same_asked(&kept.held.bar, &held->bar);
	bool legacy = found == 0 && kept.held.legacy;

	bar_kept_done(&kept);
	if (found < 0 && found != -ENOENT && found != -EBADMSG)
		return found;
	*ret_put = same ? BAR_PUT_EXISTED : BAR_PUT_NEW;
	/* Whoever wrote it may not have come to that yet. */
	if (same)
		return fsync(store->fd) < 0 ? -errno : 0;
	if (legacy)
		return -EPERM;
	bar_id_of(bytes->data, bytes->size, id);
	r = may_replace(store, name, id, found);
	if (r == 0 && only_existing)
		r = -ESTALE;
	if (r == 0 && found == -ENOENT)
		r = check_room(store);
	if (r < 0)
		return r;
	new.id = id;
	file_name(name, BAR_ENDING, file);
	return write_message(store->fd, file, &bar_file_type, &new);
}

int bar_store_put(struct bar_store *store, const void *bytes, size_t size, uint64_t now,
		  bool only_existing, enum bar_put *ret_put)
{
	const struct blob blob = {.data = bytes, .size = size};
	struct bar_held held;
	int r = bar_decode(bytes, size, &held);

	if (r < 0)
		return r == -EBADMSG ? -EINVAL : r;
	pthread_mutex_lock(&store->lock);
	r = put(store, &held, &blob, now, only_existing, ret_put);
	pthread_mutex_unlock(&store->lock);
	bar_held_done(&held);
	return r;
}

static int use(const struct bar_store *store, const char *name, const char *id, uint64_t now)
{
	struct bar_used used = {.has = {.used_at = true}, .id = id, .used_at = now};
	char file[NAME_BYTES], marked[BAR_ID_BYTES + 1];
	struct bar_kept kept;
	uint64_t used_at;
	int r = bar_store_read(store, name, &kept);

	if (r == 0 && strcmp(kept.id, id) != 0)
		r = -ESTALE;
	bar_kept_done(&kept);
	if (r < 0)
		return r;
	r = read_used(store, name, marked, &used_at);
	if (r != -ENOENT)
		return r;
	file_name(name, USED_ENDING, file);
	return write_message(store->fd, file, &bar_used_type, &used);
}

int bar_store_use(struct bar_store *store, const char *name, const char *id, uint64_t now)
{
	int r;

	pthread_mutex_lock(&store->lock);
	r = use(store, name, id, now);
	pthread_mutex_unlock(&store->lock);
	return r;
}
