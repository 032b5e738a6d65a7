/* SPDX-License-Identifier: MIT */
#include "plan/folder_digest.h"

#include <fcntl.h>
#include <limits.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/list.h"
#include "plan/program.h"

/*
 * Each entry goes into the digest as "KIND MODE LENGTH NAME", and where that ends is told by what it
 * begins with, so that no two folders are written alike. Each folder and file is looked at before it is
 * read and after: what changed in between is read again from the start, and given up in the end.
 */
#define TRIES 3
#define BUFFER_BYTES (256u * 1024u)

struct walk {
	struct sha256_ctx hash;
	uint8_t *buffer;
	uint64_t entries;
	uint64_t files;
	uint64_t bytes;
};

static int walk_folder(struct walk *walk, int fd, unsigned int depth);

static void put(struct walk *walk, const void *bytes, size_t size)
{
	sha256_update(&walk->hash, size, bytes);
}

/* size: of what follows the name, of a file and a link. */
static void put_head(struct walk *walk, char kind, mode_t mode, uint64_t size, const char *name)
{
	char head[64];
	int length = snprintf(head, sizeof(head), "%c %04o %llu %zu ", kind,
			      (unsigned int)(mode & 07777), (unsigned long long)size, strlen(name));

	put(walk, head, (size_t)length);
	put(walk, name, strlen(name));
}

static int reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_NOCTTY | O_CLOEXEC);
}

static int steady(const struct program_stamp *before, int fd)
{
	struct program_stamp after;
	int r = program_stamp_of(fd, &after);

	return r == 0 && !program_stamp_equal(before, &after) ? -EBUSY : r;
}

/* --- Entries -------------------------------------------------------------------------------------- */

static int walk_file(struct walk *walk, int entry_fd, const struct stat *st, const char *name)
{
	_cleanup_close_ int fd = reopen(entry_fd, O_RDONLY | O_NONBLOCK);
	struct program_stamp before;
	uint64_t total = 0;
	int r;

	if (fd < 0)
		return -errno;
	walk->files++;
	if ((uint64_t)st->st_size > FOLDER_BYTES_MAX - walk->bytes)
		return -EFBIG;
	r = program_stamp_of(fd, &before);
	if (r < 0 || before.size != st->st_size)
		return r < 0 ? r : -EBUSY;
	put_head(walk, 'f', st->st_mode, (uint64_t)st->st_size, name);
	for (;;) {
		ssize_t n = pread(fd, walk->buffer, BUFFER_BYTES, (off_t)total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > (uint64_t)st->st_size)
			return -EBUSY;
		put(walk, walk->buffer, (size_t)n);
	}
	walk->bytes += total;
	return total < (uint64_t)st->st_size ? -EBUSY : steady(&before, fd);
}

static int walk_link(struct walk *walk, int entry_fd, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(entry_fd, "", text, sizeof(text));

	if (n < 0 || (size_t)n == sizeof(text))
		return n < 0 ? -errno : -ENAMETOOLONG;
	put_head(walk, 'l', 0, (uint64_t)n, name);
	put(walk, text, (size_t)n);
	return 0;
}

static int walk_entry(struct walk *walk, int folder_fd, const char *name, unsigned int depth)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	/* Its folder has changed since it was listed. */
	if (fd < 0)
		return errno == ENOENT ? -EBUSY : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return walk_file(walk, fd, &st, name);
	if (S_ISLNK(st.st_mode))
		return walk_link(walk, fd, name);
	put_head(walk, S_ISDIR(st.st_mode) ? 'd' : 'o',
		 S_ISDIR(st.st_mode) ? st.st_mode : st.st_mode & S_IFMT, 0, name);
	return S_ISDIR(st.st_mode) ? walk_folder(walk, fd, depth + 1) : 0;
}

/* --- Folders -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct listing {
	struct walk *walk;
	struct text_list *names;
};

static int take_name(void *context, const char *name)
{
	struct listing *listing = context;

	return ++listing->walk->entries > FOLDER_ENTRIES_MAX ? -EFBIG
							     : text_list_add(listing->names, name);
}

static int list_names(struct walk *walk, int fd, struct text_list *ret_names)
{
	struct listing listing = {.walk = walk, .names = ret_names};
	int r = folder_each(fd, take_name, &listing);

	if (r == 0 && ret_names->count > 0)
		qsort(ret_names->items, ret_names->count, sizeof(*ret_names->items), compare);
	return r;
}

static int walk_folder(struct walk *walk, int entry_fd, unsigned int depth)
{
	_cleanup_(text_list_done) struct text_list names = {0};
	_cleanup_close_ int fd = -1;
	struct program_stamp before;
	char end[32];
	int r;

	if (depth > FOLDER_DEPTH_MAX)
		return -ELOOP;
	fd = openat(entry_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = program_stamp_of(fd, &before);
	if (r == 0)
		r = list_names(walk, fd, &names);
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = walk_entry(walk, fd, names.items[i], depth);
	if (r == 0)
		put(walk, end, (size_t)snprintf(end, sizeof(end), "e %zu ", names.count));
	return r == 0 ? steady(&before, fd) : r;
}

static int digest_once(int fd, struct walk *walk, struct folder_digest *ret)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	sha256_init(&walk->hash);
	put_head(walk, 'd', st.st_mode, 0, "");
	r = walk_folder(walk, fd, 1);
	if (r < 0)
		return r;
	sha256_digest(&walk->hash, sizeof(digest), digest);
	base16_encode_update(ret->sha256, sizeof(digest), digest);
	ret->sha256[64] = '\0';
	ret->files = walk->files;
	ret->bytes = walk->bytes;
	return 0;
}

int folder_digest(int fd, struct folder_digest *ret_digest)
{
	_cleanup_free_ uint8_t *buffer = malloc(BUFFER_BYTES);
	int r = buffer ? -EBUSY : -ENOMEM;

	for (int i = 0; r == -EBUSY && i < TRIES; i++) {
		struct walk walk = {.buffer = buffer};

		r = digest_once(fd, &walk, ret_digest);
	}
	return r;
}
