/* SPDX-License-Identifier: MIT */
#include "git_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "git_look.h"

/*
 * A file is known by the SHA-256 of its first megabyte and of its size; with a larger one the time
 * of its last change counts too, and what is neither file nor link is known by its kind. All of it
 * is a Trial's to write: what is opened is opened without following a link or waiting for anybody,
 * and there is a bound to each count. Where the bound is met, the names themselves still tell.
 */

#define FILE_BYTES_MAX (1024u * 1024u)
#define HOOKS_MAX 200  /* of one folder */
#define FOLDERS_MAX 64 /* git folders of submodules and worktrees */
#define DEPTH_MAX 6
#define TOLD_BYTES_MAX (16u * 1024u) /* of paths, in the record */
#define PACKED_BYTES_MAX (32u * 1024u * 1024u)

struct git_mark {
	char *path;
	uint8_t digest[SHA256_DIGEST_SIZE];
};

struct marks {
	struct git_mark *items;
	size_t count;
	unsigned int folders;
};

static void marks_done(struct git_mark *marks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(marks[i].path);
	free(marks);
}

static void cleanup_marks(struct marks *marks)
{
	marks_done(marks->items, marks->count);
}

static void hash_content(struct sha256_ctx *hash, int fd)
{
	uint8_t buffer[16384];
	size_t total = 0;
	ssize_t n = 1;

	while (total < FILE_BYTES_MAX && n > 0) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			sha256_update(hash, (size_t)n, buffer);
		if (n > 0)
			total += (size_t)n;
	}
}

static void hash_stat(struct sha256_ctx *hash, const struct stat *st)
{
	/* What makes a hook one that is run, and what a link is. */
	const uint64_t facts[] = {st->st_mode, (uint64_t)st->st_size};
	const int64_t times[] = {st->st_mtim.tv_sec, st->st_mtim.tv_nsec};

	sha256_update(hash, S_ISDIR(st->st_mode) ? sizeof(facts[0]) : sizeof(facts),
		      (const uint8_t *)facts);
	if (S_ISREG(st->st_mode) && st->st_size > (off_t)FILE_BYTES_MAX)
		sha256_update(hash, sizeof(times), (const uint8_t *)times);
}

static void hash_link(struct sha256_ctx *hash, int folder, const char *name)
{
	char text[GIT_PATH_BYTES_MAX];
	ssize_t n = readlinkat(folder, name, text, sizeof(text));

	if (n > 0)
		sha256_update(hash, (size_t)n, (const uint8_t *)text);
}

/* 0 also for what is not there. path: as it is told. */
static int mark(struct marks *marks, int folder, const char *name, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct git_mark *items;
	struct sha256_ctx hash;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	items = realloc(marks->items, (marks->count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	marks->items = items;
	if (S_ISREG(st.st_mode))
		fd = openat(folder, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	sha256_init(&hash);
	hash_stat(&hash, &st);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		hash_content(&hash, fd);
	else if (S_ISLNK(st.st_mode))
		hash_link(&hash, folder, name);
	sha256_digest(&hash, SHA256_DIGEST_SIZE, items[marks->count].digest);
	items[marks->count].path = strdup(path);
	return items[marks->count].path ? (marks->count++, 0) : -ENOMEM;
}

static int mark_below(struct marks *marks, int folder, const char *prefix, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", prefix, name) < 0)
		return -ENOMEM;
	return mark(marks, folder, name, path);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* A folder for reading; NULL when there is none. *ret_path: as it is told. */
static DIR *open_below(int parent, const char *prefix, const char *name, char **ret_path)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder) {
		fd_close(fd);
		return NULL;
	}
	if (asprintf(ret_path, "%s/%s", prefix, name) < 0) {
		*ret_path = NULL;
		closedir(folder);
		return NULL;
	}
	return folder;
}

static int mark_hooks(struct marks *marks, int git, const char *prefix)
{
	_cleanup_free_ char *path = NULL;
	DIR *folder = open_below(git, prefix, "hooks", &path);
	struct dirent *entry;
	size_t count = 0;
	int r = 0;

	/* A link is one that leads to hooks elsewhere. */
	if (!folder)
		return mark_below(marks, git, prefix, "hooks");
	while (r == 0 && count < HOOKS_MAX && (entry = readdir(folder)))
		if (!is_dots(entry->d_name) && ++count)
			r = mark_below(marks, dirfd(folder), path, entry->d_name);
	closedir(folder);
	return r;
}

static int mark_folders(struct marks *marks, int git, const char *prefix, const char *name,
			unsigned int depth);

static int mark_folder(struct marks *marks, int git, const char *prefix, unsigned int depth)
{
	static const char *const names[] = {"config", "config.worktree", "commondir",
					    "gitdir", "info/attributes", "objects/info/alternates"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = mark_below(marks, git, prefix, names[i]);
	if (r == 0)
		r = mark_hooks(marks, git, prefix);
	if (r == 0)
		r = mark_folders(marks, git, prefix, "modules", depth);
	return r == 0 ? mark_folders(marks, git, prefix, "worktrees", depth) : r;
}

/* Git folders in a folder, and in those in it: a submodule's name may hold a slash. */
static int mark_folders(struct marks *marks, int git, const char *prefix, const char *name,
			unsigned int depth)
{
	_cleanup_free_ char *path = NULL;
	DIR *folder = depth > DEPTH_MAX ? NULL : open_below(git, prefix, name, &path);
	struct dirent *entry;
	struct stat st;
	int r = 0;

	if (!folder)
		return 0;
	while (r == 0 && marks->folders < FOLDERS_MAX && (entry = readdir(folder))) {
		_cleanup_close_ int fd = -1;
		_cleanup_free_ char *below = NULL;

		if (is_dots(entry->d_name))
			continue;
		fd = openat(dirfd(folder), entry->d_name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		marks->folders++;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0)
			r = -ENOMEM;
		else if (fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
			r = mark_folder(marks, fd, below, depth + 1);
		else
			r = mark_folders(marks, dirfd(folder), path, entry->d_name, depth + 1);
	}
	closedir(folder);
	return r;
}

/* The git folder as git would find it now. */
static int open_git(const struct git_watch *watch)
{
	if (watch->folder >= 0)
		return openat(watch->folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return openat(watch->tree, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct git_mark *)a)->path, ((const struct git_mark *)b)->path);
}

static int look(const struct git_watch *watch, struct marks *ret_marks)
{
	static const char *const names[] = {".git", ".gitattributes", ".gitmodules"};
	_cleanup_(cleanup_marks) struct marks marks = {0};
	_cleanup_close_ int git = open_git(watch);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = mark(&marks, watch->tree, names[i], names[i]);
	if (r == 0 && git >= 0)
		r = mark_folder(&marks, git, watch->folder_path ? watch->folder_path : ".git", 0);
	if (r < 0)
		return r;
	if (marks.count > 0)
		qsort(marks.items, marks.count, sizeof(*marks.items), compare);
	*ret_marks = marks;
	marks = (struct marks){0};
	return 0;
}

static char *descriptor_name(int fd)
{
	char link[40], text[GIT_PATH_BYTES_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text) - 1);
	return n < 0 ? NULL : strndup(text, (size_t)n);
}

int git_watch_begin(struct git_watch *watch, int tree, int folder)
{
	_cleanup_close_ int git = -1;
	struct marks marks;
	int r;

	*watch = GIT_WATCH_INIT;
	watch->tree = fcntl(tree, F_DUPFD_CLOEXEC, 3);
	if (watch->tree < 0)
		return -errno;
	if (folder >= 0) {
		watch->folder = fcntl(folder, F_DUPFD_CLOEXEC, 3);
		watch->folder_path = descriptor_name(folder);
		if (watch->folder < 0 || !watch->folder_path)
			return -ENOMEM;
	}
	git = open_git(watch);
	if (git >= 0)
		git_commit(git, watch->commit);
	r = look(watch, &marks);
	if (r == 0) {
		watch->marks = marks.items;
		watch->count = marks.count;
	}
	return r;
}

static int tell(struct git_watch *watch, const char *path, const char *change)
{
	struct git_change *changes = realloc(watch->changes,
					     (watch->change_count + 1) * sizeof(*changes));
	char *copy = strndup(path, PATH_BYTES_MAX);

	if (changes)
		watch->changes = changes;
	if (!changes || !copy) {
		free(copy);
		return -ENOMEM;
	}
	changes[watch->change_count++] = (struct git_change){.has = {.path = true, .change = true},
							     .path = copy,
							     .change = change};
	return 0;
}

int git_watch_end(struct git_watch *watch)
{
	_cleanup_(cleanup_marks) struct marks now = {0};
	size_t i = 0, j = 0, bytes = 0;
	int r;

	if (watch->tree < 0)
		return 0;
	r = look(watch, &now);
	while (r == 0) {
		const struct git_mark *was = i < watch->count ? &watch->marks[i] : NULL;
		const struct git_mark *is = j < now.count ? &now.items[j] : NULL;
		const char *path;
		int order;

		if (!was && !is)
			break;
		order = !was ? 1 : !is ? -1 : compare(was, is);
		path = order > 0 ? is->path : was->path;
		i += order <= 0;
		j += order >= 0;
		if (order == 0 && memcmp(was->digest, is->digest, sizeof(was->digest)) == 0)
			continue;
		bytes += strlen(path);
		if (watch->change_count == GIT_CHANGES_MAX || bytes > TOLD_BYTES_MAX)
			return tell(watch, "…", "more");
		r = tell(watch, path, order > 0 ? "added" : order < 0 ? "removed" : "changed");
	}
	return r;
}

void git_watch_done(struct git_watch *watch)
{
	fd_close(watch->tree);
	fd_close(watch->folder);
	free(watch->folder_path);
	marks_done(watch->marks, watch->count);
	for (size_t i = 0; i < watch->change_count; i++)
		free((char *)watch->changes[i].path);
	free(watch->changes);
	*watch = GIT_WATCH_INIT;
}

static int read_ref(int folder, const char *ref, struct git_head *ret_head)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	int r = git_read(folder, ref, GIT_POINTER_BYTES_MAX, &bytes, &size);

	return r == 0 ? git_head_parse(bytes, size, ret_head) : r;
}

static int read_packed(int folder, const char *ref, char ret_commit[GIT_COMMIT_BYTES])
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	int r = git_read(folder, "packed-refs", PACKED_BYTES_MAX, &bytes, &size);

	return r == 0 ? git_packed_find(bytes, size, ref, ret_commit) : r;
}

int git_commit(int folder, char ret_commit[GIT_COMMIT_BYTES])
{
	_cleanup_close_ int shared = -1;
	struct git_head head;
	struct stat st;
	int r = read_ref(folder, "HEAD", &head);

	ret_commit[0] = '\0';
	/* A worktree's refs are in the folder that it shares with others, two above its own. */
	if (fstatat(folder, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
		shared = openat(folder, "../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A ref may stand for another one. */
	for (int i = 0; r == 0 && head.ref[0] && i < 5; i++) {
		char ref[sizeof(head.ref)];

		memcpy(ref, head.ref, sizeof(ref));
		r = read_ref(shared >= 0 ? shared : folder, ref, &head);
		if (r == -ENOENT)
			return read_packed(shared >= 0 ? shared : folder, ref, ret_commit);
	}
	if (r == 0)
		memcpy(ret_commit, head.commit, sizeof(head.commit));
	return r;
}
