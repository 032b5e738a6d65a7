/* SPDX-License-Identifier: MIT */

/*
 * A pointer is believed only where what it points to points back: any file `.git` could ask for any
 * folder of the person's. A worktree's folder names the worktree's .git, which must be this very
 * file, and lies in worktrees/ of the git folder that it calls its common one; a submodule's git
 * folder has the tree as its core.worktree. All is compared by device and inode, from descriptors.
 *
 * Alternates name no way back. That they are objects of a repository and nothing else is for
 * trialsd to see, which binds them.
 */
#include "git_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ALTERNATES_DEPTH_MAX 5 /* as git's own */
#define MODULES_DEPTH_MAX 8
#define MODULES_MAX 1000 /* folders looked into */

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false
#define THIS git_layout
#define FIELDS GIT_LAYOUT_FIELDS
#include "proto/field_table.h"

struct look {
	int repository;
	const char *path;
	struct git_findings *findings;
	struct stat alternates[GIT_ALTERNATES_MAX];
	unsigned int folders;
};

void git_findings_done(struct git_findings *findings)
{
	free(findings->path);
	free(findings->folder);
	free(findings->excludes);
	git_paths_done(&findings->alternates);
	*findings = (struct git_findings){0};
}

int git_read(int folder_fd, const char *name, size_t most, char **ret_bytes, size_t *ret_size)
{
	_cleanup_close_ int fd = openat(folder_fd, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)most)
		return -EFBIG;
	/* One byte more than it has: it may grow. */
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	while (size < (size_t)st.st_size + 1) {
		ssize_t n = read(fd, bytes + size, (size_t)st.st_size + 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	if (size > (size_t)st.st_size)
		return -EBUSY;
	*ret_bytes = steal(&bytes);
	*ret_size = size;
	return 0;
}

/* Returns 0: what is found is told. path is copied; name, below it, may be NULL. */
static int problem(struct look *look, enum git_problem problem, const char *path, const char *name,
		   int error)
{
	struct git_findings *findings = look->findings;

	if (findings->problem != GIT_PROBLEM_none)
		return 0;
	if (asprintf(&findings->path, "%s%s%s", path, name ? "/" : "", name ? name : "") < 0) {
		findings->path = NULL;
		return -ENOMEM;
	}
	if (strlen(findings->path) > GIT_PATH_BYTES_MAX)
		findings->path[GIT_PATH_BYTES_MAX] = '\0';
	findings->problem = problem;
	findings->error = error < 0 ? -error : 0;
	return 0;
}

static bool failed(const struct look *look)
{
	return look->findings->problem != GIT_PROBLEM_none;
}

static int open_folder(int fd, const char *name, int flags)
{
	int folder = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

	return folder < 0 ? -errno : folder;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The canonical name of an open folder. */
static int name_of(int fd, char **ret_path)
{
	_cleanup_free_ char *path = malloc(GIT_PATH_BYTES_MAX + 1);
	char link[40];
	ssize_t n;

	if (!path)
		return -ENOMEM;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlinkat(AT_FDCWD, link, path, GIT_PATH_BYTES_MAX + 1);
	if (n < 0)
		return -errno;
	if (n > GIT_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	path[n] = '\0';
	*ret_path = steal(&path);
	return 0;
}

static int look_objects(struct look *look, int objects, unsigned int depth);

/* Takes path. */
static int add_alternate(struct look *look, char *path, unsigned int depth)
{
	_cleanup_close_ int fd = open_folder(AT_FDCWD, path, 0);
	struct git_paths *alternates = &look->findings->alternates;
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		r = problem(look, GIT_PROBLEM_alternate, path, NULL, fd < 0 ? fd : -errno);
		free(path);
		return r;
	}
	for (size_t i = 0; i < alternates->count; i++)
		if (is_same(&look->alternates[i], &st)) {
			free(path);
			return 0;
		}
	if (alternates->count == GIT_ALTERNATES_MAX || depth == ALTERNATES_DEPTH_MAX) {
		r = problem(look, GIT_PROBLEM_many, path, NULL, 0);
		free(path);
		return r;
	}
	r = git_paths_add(alternates, path);
	if (r < 0)
		return r;
	look->alternates[alternates->count - 1] = st;
	return look_objects(look, fd, depth + 1);
}

/* What the objects in this folder are completed by. */
static int look_objects(struct look *look, int objects, unsigned int depth)
{
	_cleanup_(git_paths_done) struct git_paths paths = {0};
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ char *base = NULL;
	size_t size = 0;
	int r;

	r = git_read(objects, "info/alternates", GIT_ALTERNATES_BYTES_MAX, &bytes, &size);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == 0)
		r = git_alternates_parse(bytes, size, &paths);
	if (r == -ENOMEM || name_of(objects, &base) < 0)
		return r ? r : -ENOENT;
	if (r == -ENOSPC)
		return problem(look, GIT_PROBLEM_many, base, "info/alternates", 0);
	if (r < 0)
		return problem(look, GIT_PROBLEM_unreadable, base, "info/alternates", r);
	for (size_t i = 0; r == 0 && i < paths.count && !failed(look); i++) {
		char *path = NULL;

		r = git_path_join(base, paths.items[i], true, &path);
		if (r == -EBADMSG)
			return problem(look, GIT_PROBLEM_unreadable, base, "info/alternates", r);
		if (r == 0)
			r = add_alternate(look, path, depth);
	}
	return r;
}

static int look_modules(struct look *look, int parent, const char *name, unsigned int depth);

/* What cannot be read or understood says nothing, as to look further is not what it is for. */
static int look_excludes(struct look *look, int folder)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	int r = git_read(folder, "config", GIT_CONFIG_BYTES_MAX, &bytes, &size);

	if (r == 0)
		r = git_excludes_parse(bytes, size, &look->findings->excludes);
	return r == -ENOMEM ? r : 0;
}

/* A git folder's own objects, and those of its submodules. */
static int look_folder(struct look *look, int folder, unsigned int depth)
{
	_cleanup_close_ int objects = open_folder(folder, "objects", 0);
	int r = objects < 0 ? 0 : look_objects(look, objects, 0);

	return r == 0 && !failed(look) ? look_modules(look, folder, "modules", depth) : r;
}

static int look_module(struct look *look, int modules, const char *name, unsigned int depth)
{
	_cleanup_close_ int folder = open_folder(modules, name, O_NOFOLLOW);
	struct stat st;

	if (folder < 0)
		return 0;
	if (fstatat(folder, "objects", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return look_folder(look, folder, depth + 1);
	/* A submodule's name may hold a slash. */
	return look_modules(look, modules, name, depth + 1);
}

static int look_modules(struct look *look, int parent, const char *name, unsigned int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *folder;
	int r = 0;

	if (fd < 0 || depth > MODULES_DEPTH_MAX) {
		fd_close(fd);
		return 0;
	}
	folder = fdopendir(fd);
	if (!folder) {
		fd_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && !failed(look) && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && ++look->folders <= MODULES_MAX)
			r = look_module(look, dirfd(folder), entry->d_name, depth);
	closedir(folder);
	return r;
}

/* A path out of a file of the git folder; NULL with a problem when it cannot be read. */
static int read_path(struct look *look, int folder, const char *name, char **ret_path)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	int r = git_read(folder, name, GIT_POINTER_BYTES_MAX, &bytes, &size);

	if (r == 0)
		r = git_path_parse(bytes, size, ret_path);
	if (r == 0 || r == -ENOMEM)
		return r;
	return problem(look, GIT_PROBLEM_unreadable, look->findings->folder, name, r);
}

/* GIT/worktrees/NAME, whose file `gitdir` names the .git of its tree. */
static int look_linked(struct look *look, int folder)
{
	const char *shown = look->findings->folder;
	_cleanup_close_ int worktrees = -1, common = -1, named = -1;
	_cleanup_free_ char *back = NULL;
	_cleanup_free_ char *upward = NULL;
	struct stat pointer, other, here, there;
	int r;

	r = read_path(look, folder, "gitdir", &back);
	if (r < 0 || !back)
		return r;
	if (fstatat(look->repository, ".git", &pointer, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* Relative since git 2.48: to the folder that the file is in. */
	if (fstatat(folder, back, &other, AT_SYMLINK_NOFOLLOW) < 0 || !is_same(&pointer, &other))
		return problem(look, GIT_PROBLEM_foreign, shown, NULL, 0);
	r = read_path(look, folder, "commondir", &upward);
	if (r < 0 || !upward)
		return r;
	worktrees = open_folder(folder, "..", 0);
	if (worktrees >= 0)
		common = open_folder(worktrees, "..", 0);
	named = open_folder(folder, upward, 0);
	if (common < 0 || named < 0 || fstat(common, &here) < 0 || fstat(named, &there) < 0 ||
	    !is_same(&here, &there))
		return problem(look, GIT_PROBLEM_common, shown, "commondir", 0);
	if (fstatat(common, "worktrees", &here, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstat(worktrees, &there) < 0 || !is_same(&here, &there))
		return problem(look, GIT_PROBLEM_common, shown, NULL, 0);
	look->findings->kind = GIT_linked;
	r = look_excludes(look, common);
	if (r == 0)
		r = look_folder(look, folder, 0);
	named = fd_close(named);
	if (r < 0 || failed(look))
		return r;
	named = open_folder(common, "objects", 0);
	return named < 0 ? problem(look, GIT_PROBLEM_missing, shown, "../../objects", named)
			 : look_objects(look, named, 0);
}

static int look_separate(struct look *look, int folder)
{
	const char *shown = look->findings->folder;
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ char *worktree = NULL;
	struct stat here, there;
	size_t size = 0;
	int r;

	r = git_read(folder, "config", GIT_CONFIG_BYTES_MAX, &bytes, &size);
	if (r == 0)
		r = git_worktree_parse(bytes, size, &worktree);
	if (r == -ENOMEM)
		return r;
	if (!worktree || fstat(look->repository, &here) < 0 ||
	    fstatat(folder, worktree, &there, 0) < 0 || !is_same(&here, &there))
		return problem(look, GIT_PROBLEM_foreign, shown, NULL, 0);
	look->findings->kind = GIT_separate;
	r = look_excludes(look, folder);
	return r == 0 ? look_folder(look, folder, 0) : r;
}

/* What .git names cannot be opened: the repository that it lies in may still be there. */
static int look_missing(struct look *look, int error)
{
	const char *shown = look->findings->folder;
	_cleanup_free_ char *common = git_worktree_common(shown);
	_cleanup_close_ int folder = -1, objects = -1;

	if (common && error == -ENOENT)
		folder = open_folder(AT_FDCWD, common, 0);
	if (folder >= 0)
		objects = open_folder(folder, "objects", 0);
	return problem(look, objects >= 0 ? GIT_PROBLEM_pruned : GIT_PROBLEM_missing, shown, NULL,
		       error);
}

/* .git is a file. */
static int look_pointer(struct look *look)
{
	struct git_findings *findings = look->findings;
	_cleanup_close_ int folder = -1;
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ char *path = NULL;
	struct stat st;
	size_t size = 0;
	int r;

	r = git_read(look->repository, ".git", GIT_POINTER_BYTES_MAX, &bytes, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && r != -EFBIG)
		return problem(look, GIT_PROBLEM_unreadable, look->path, ".git", r);
	if (r == 0)
		r = git_pointer_parse(bytes, size, &path);
	if (r == 0)
		r = git_path_join(look->path, path, false, &findings->folder);
	if (r < 0)
		return r == -ENOMEM ? r : problem(look, GIT_PROBLEM_pointer, look->path, ".git", 0);
	folder = open_folder(AT_FDCWD, findings->folder, 0);
	if (folder < 0 || fstat(folder, &st) < 0)
		return look_missing(look, folder < 0 ? folder : -errno);
	findings->device = st.st_dev;
	findings->inode = st.st_ino;
	if (fstatat(folder, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return look_linked(look, folder);
	return look_separate(look, folder);
}

int git_look(int repository_fd, const char *repository, struct git_findings *ret_findings)
{
	struct look look = {.repository = repository_fd,
			    .path = repository,
			    .findings = ret_findings};
	_cleanup_close_ int folder = -1;
	int r;

	*ret_findings = (struct git_findings){0};
	folder = open_folder(repository_fd, ".git", O_NOFOLLOW);
	if (folder == -ENOTDIR)
		return look_pointer(&look);
	if (folder < 0)
		return problem(&look, GIT_PROBLEM_unreadable, repository, ".git", folder);
	r = look_excludes(&look, folder);
	return r == 0 ? look_folder(&look, folder, 0) : r;
}

int git_layout_parse(const void *bytes, size_t size, struct message **ret_message,
		     struct git_layout *ret_layout)
{
	struct message *message = NULL;
	struct decode_error error;
	int r = size > GIT_LAYOUT_BYTES_MAX ? -EBADMSG : message_parse(&message, bytes, size);

	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &git_layout_type, UNKNOWN_KEYS_REFUSED,
			   ret_layout, &error);
	if (r == 0 && (!ret_layout->path) != (ret_layout->problem == GIT_PROBLEM_none))
		r = -EBADMSG;
	if (r == 0 && ret_layout->problem == GIT_PROBLEM_none && ret_layout->kind != GIT_plain &&
	    !ret_layout->folder)
		r = -EBADMSG;
	for (size_t i = 0; r == 0 && i < ret_layout->alternates.count; i++)
		if (ret_layout->alternates.items[i][0] != '/')
			r = -EBADMSG;
	if (r < 0)
		message_free(message);
	else
		*ret_message = message;
	return r;
}
