/* SPDX-License-Identifier: MIT */
#include "tree_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/file.h"

#define BUFFER_BYTES (64u * 1024u)
#define PATH_BYTES 4096u
/* Shorter content says nothing of a login: "{}" is that of many files. */
#define SECRET_BYTES_MIN 16u

struct tree {
	const struct tree_rules *rules;
	struct tree_result *result;
	uint64_t mount, to_mount;
	bool full; /* no further entry is looked at */
	char path[PATH_BYTES];
	char *buffer;
};

void tree_left_out(struct tree_result *result, const char *path)
{
	char *example;

	result->left_out++;
	if (result->example_count == TREE_EXAMPLES_MAX)
		return;
	example = result->examples[result->example_count++];
	memcpy(example, path, strnlen(path, TREE_EXAMPLE_BYTES - 1));
}

static int leave_out(struct tree *tree)
{
	tree_left_out(tree->result, tree->path);
	return 0;
}

static int cut(struct tree *tree)
{
	tree->result->cut = true;
	return leave_out(tree);
}

/* --- What is never copied ------------------------------------------------------------------------- */

static ssize_t read_at(int fd, char *buffer, size_t size, off_t offset)
{
	ssize_t n;

	do
		n = pread(fd, buffer, size, offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int tree_secret_read(struct tree_secret *ret_secret, int folder_fd, const char *name)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *bytes = NULL;
	struct stat st;
	ssize_t n = 0;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) < 0)
		return -errno;
	/* Of one that cannot be read it still counts which one it is. */
	if (fd >= 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)SECRET_BYTES_MIN &&
	    st.st_size <= (off_t)TREE_SECRET_BYTES_MAX) {
		bytes = malloc((size_t)st.st_size);
		if (!bytes)
			return -ENOMEM;
		n = read_at(fd, bytes, (size_t)st.st_size, 0);
	}
	*ret_secret = (struct tree_secret){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = n > 0 && n == st.st_size ? (size_t)n : 0,
	};
	if (ret_secret->size > 0)
		ret_secret->bytes = steal(&bytes);
	return 0;
}

void tree_secret_done(struct tree_secret *secret)
{
	if (secret->bytes)
		explicit_bzero(secret->bytes, secret->size);
	free(secret->bytes);
	*secret = (struct tree_secret){0};
}

static bool is_same(const struct tree *tree, const struct tree_secret *secret, int fd)
{
	size_t done = 0;

	while (done < secret->size) {
		size_t size = secret->size - done;
		ssize_t n = read_at(fd, tree->buffer, size < BUFFER_BYTES ? size : BUFFER_BYTES,
				    (off_t)done);

		if (n <= 0 || memcmp(tree->buffer, secret->bytes + done, (size_t)n) != 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* fd -1: by what it is alone. */
static bool is_secret(const struct tree *tree, const struct stat *st, int fd)
{
	for (size_t i = 0; i < tree->rules->secret_count; i++) {
		const struct tree_secret *secret = &tree->rules->secrets[i];

		if (fd < 0 && secret->device == st->st_dev && secret->inode == st->st_ino)
			return true;
		if (fd >= 0 && secret->size > 0 && (off_t)secret->size == st->st_size &&
		    is_same(tree, secret, fd))
			return true;
	}
	return false;
}

static bool is_among(const struct tree *tree, const struct text_list *paths)
{
	for (size_t i = 0; paths && i < paths->count; i++)
		if (strcmp(paths->items[i], tree->path) == 0)
			return true;
	return false;
}

/* --- Files ---------------------------------------------------------------------------------------- */

int tree_allow(int folder_fd)
{
	char path[32];

	/* A descriptor of O_PATH takes no fchmod. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder_fd);
	return chmod(path, 0700) < 0 ? -errno : 0;
}

/* What an O_PATH descriptor is of, for reading; its owner may have closed it to himself. */
static int reopen(int fd, int flags, mode_t mode)
{
	char path[32];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	if (opened < 0 && errno == EACCES && chmod(path, mode) == 0)
		opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	return opened < 0 ? -errno : opened;
}

static int copy_range(struct tree *tree, int from, int to, off_t start, off_t end)
{
	while (start < end) {
		size_t size = end - start < (off_t)BUFFER_BYTES ? (size_t)(end - start)
								: BUFFER_BYTES;
		ssize_t n = read_at(from, tree->buffer, size, start);
		int r;

		if (n <= 0)
			return (int)n;
		r = file_write_at(to, tree->buffer, (size_t)n, start);
		if (r < 0)
			return r;
		start += n;
	}
	return 0;
}

/* All up to size, which the file has in spite of what may be written to it meanwhile. */
static int copy_bytes(struct tree *tree, int from, int to, off_t size)
{
	off_t start = 0;

	while (start < size) {
		off_t data = lseek(from, start, SEEK_DATA), hole;
		int r;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0 || (hole = lseek(from, data, SEEK_HOLE)) < 0)
			return -errno;
		if (data >= size)
			break;
		r = copy_range(tree, from, to, data, hole < size ? hole : size);
		if (r < 0)
			return r;
		start = hole;
	}
	return ftruncate(to, size) < 0 ? -errno : 0;
}

static int copy_file(struct tree *tree, int fd, const struct stat *st, int to_fd,
		     const char *to_name)
{
	_cleanup_close_ int from = -1, to = -1;
	struct tree_result *result = tree->result;
	int r;

	if (st->st_nlink > 1 || is_secret(tree, st, -1))
		return leave_out(tree);
	if ((uint64_t)st->st_size > tree->rules->bytes - result->bytes)
		return cut(tree);
	from = reopen(fd, 0, 0600);
	if (from < 0)
		return from == -EACCES || from == -EPERM ? leave_out(tree) : from;
	if (is_secret(tree, st, from))
		return leave_out(tree);
	to = openat(to_fd, to_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	r = copy_bytes(tree, from, to, st->st_size);
	if (r < 0)
		return r;
	result->bytes += (uint64_t)st->st_size;
	result->files++;
	return 0;
}

/* --- Folders -------------------------------------------------------------------------------------- */

static int mount_of(int fd, uint64_t *ret_mount)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*ret_mount = st.stx_mnt_id;
	return 0;
}

static int copy_entry(struct tree *tree, int from_fd, const char *name, int to_fd,
		      const char *to_name, unsigned int depth);

/* The path of what is below, while it is looked at; false: it would be too long. */
static bool path_push(struct tree *tree, const char *name, size_t *ret_length)
{
	size_t length = strlen(tree->path), more = strlen(name);

	*ret_length = length;
	if (length + 1 + more >= PATH_BYTES)
		return false;
	if (length > 0)
		tree->path[length++] = '/';
	memcpy(tree->path + length, name, more + 1);
	return true;
}

static int copy_below(struct tree *tree, DIR *folder, int to, unsigned int depth)
{
	struct dirent *entry;
	size_t length;
	int r = 0;

	while (r == 0 && !tree->full && (errno = 0, entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (path_push(tree, entry->d_name, &length))
			r = copy_entry(tree, dirfd(folder), entry->d_name, to, entry->d_name,
				       depth + 1);
		else
			r = cut(tree);
		tree->path[length] = '\0';
	}
	return r == 0 && !tree->full ? -errno : r;
}

static int copy_folder(struct tree *tree, int fd, int to_fd, const char *to_name,
		       unsigned int depth)
{
	_cleanup_close_ int from = -1, to = -1;
	uint64_t mount = 0;
	DIR *folder;
	int r;

	if (depth >= TREE_DEPTH_MAX)
		return cut(tree);
	from = reopen(fd, O_DIRECTORY, 0700);
	if (from < 0)
		return from == -EACCES || from == -EPERM ? leave_out(tree) : from;
	if (mkdirat(to_fd, to_name, 0700) < 0 && errno != EEXIST)
		return -errno;
	to = openat(to_fd, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return -errno;
	r = mount_of(to, &mount);
	if (r < 0 || mount != tree->to_mount)
		return r < 0 ? r : -EXDEV;
	folder = fdopendir(from);
	if (!folder)
		return -errno;
	fd_steal(&from);
	r = copy_below(tree, folder, to, depth);
	closedir(folder);
	return r;
}

static int copy_entry(struct tree *tree, int from_fd, const char *name, int to_fd,
		      const char *to_name, unsigned int depth)
{
	_cleanup_close_ int fd = openat(from_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t mount = 0;
	struct stat st = {0};
	int r;

	/* A name in a folder that may be listed and not entered: it is entered by whoever owns it. */
	if (fd < 0 && errno == EACCES && tree_allow(from_fd) == 0)
		fd = openat(from_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = mount_of(fd, &mount);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0 || mount != tree->mount || is_among(tree, tree->rules->unspoken))
		return r;
	if (++tree->result->entries > tree->rules->entries) {
		tree->full = true;
		return cut(tree);
	}
	if (is_among(tree, tree->rules->except))
		return leave_out(tree);
	if (S_ISDIR(st.st_mode))
		return copy_folder(tree, fd, to_fd, to_name, depth);
	if (S_ISREG(st.st_mode))
		return copy_file(tree, fd, &st, to_fd, to_name);
	return leave_out(tree);
}

int tree_copy(const struct tree_rules *rules, struct tree_result *result, int from_fd,
	      const char *name, const char *path, int to_fd, const char *to_name)
{
	_cleanup_free_ char *buffer = malloc(BUFFER_BYTES);
	struct tree tree = {.rules = rules, .result = result, .buffer = buffer};
	int r;

	if (!buffer)
		return -ENOMEM;
	if (strlen(path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(tree.path, path, strlen(path) + 1);
	r = mount_of(from_fd, &tree.mount);
	if (r == 0)
		r = mount_of(to_fd, &tree.to_mount);
	return r == 0 ? copy_entry(&tree, from_fd, name, to_fd, to_name, 0) : r;
}
