/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/list.h"

/*
 * Resolving a path by hand, component by component.
 *
 * realpath() answers with a text that may mean something else a moment later, and does not say
 * which links it passed. A sandbox needs three things of a path: a descriptor of what it means
 * now, the one canonical name under which to mount it (a destination that passes a link fails in
 * bwrap, or lands elsewhere in a half-built root), and the links, so that the user's own spelling
 * works inside as well. So each component is opened with O_NOFOLLOW beneath the one before; a
 * link's text is read through its own descriptor and put in front of what is left.
 *
 * Links of /proc are refused: they do not contain a path but jump to an object, so neither the
 * canonical name nor the recreated link would be true. At the end the canonical name is opened
 * once more, links forbidden, and must be the same object: a rename during the walk is a fault.
 */

struct walk {
	int fd;
	int parent_fd;			    /* where fd was found, when it is not a folder */
	char canonical[PATH_BYTES_MAX + 1]; /* "" is the root */
	char *pending;			    /* what is still to be walked; owned */
	char *next;			    /* position in it */
	struct place_link *links;
	size_t link_count;
	char component[NAME_MAX + 1]; /* the last one taken: what a fault is about */
	struct stamps *stamps;	      /* NULL, or where the folders looked into are kept */
};

static void walk_done(struct walk *walk)
{
	fd_close(walk->fd);
	fd_close(walk->parent_fd);
	free(walk->pending);
	for (size_t i = 0; i < walk->link_count; i++) {
		free(walk->links[i].location);
		free(walk->links[i].text);
	}
	free(walk->links);
}

static int walk_root(struct walk *walk)
{
	fd_close(walk->fd);
	walk->canonical[0] = '\0';
	walk->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return walk->fd < 0 ? -errno : 0;
}

static int walk_init(struct walk *walk, const char *path)
{
	*walk = (struct walk){.fd = -1, .parent_fd = -1};
	walk->pending = strdup(path);
	if (!walk->pending)
		return -ENOMEM;
	walk->next = walk->pending;
	return walk_root(walk);
}

/* The next component into walk->component: 1, or 0 when there is none left. */
static int walk_take(struct walk *walk)
{
	size_t length;

	walk->next += strspn(walk->next, "/");
	length = strcspn(walk->next, "/");
	if (length == 0)
		return 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(walk->component, walk->next, length);
	walk->component[length] = '\0';
	walk->next += length;
	return 1;
}

static int walk_up(struct walk *walk)
{
	char *slash = strrchr(walk->canonical, '/');
	int fd;

	if (!slash)
		return 0;
	fd = openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fd_close(walk->fd);
	walk->fd = fd;
	*slash = '\0';
	return 0;
}

static int link_text(int fd, char **ret_text)
{
	_cleanup_free_ char *text = malloc(PATH_BYTES_MAX + 2);
	struct statfs fs;
	ssize_t size;

	if (!text)
		return -ENOMEM;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return -EXDEV;
	size = readlinkat(fd, "", text, PATH_BYTES_MAX + 1);
	if (size < 0)
		return -errno;
	if (size == 0)
		return -ENOENT;
	if (size > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	text[size] = '\0';
	*ret_text = steal(&text);
	return 0;
}

static int walk_remember(struct walk *walk, const char *text)
{
	struct place_link *links;
	struct place_link link = {0};

	links = realloc(walk->links, (walk->link_count + 1) * sizeof(*links));
	if (!links)
		return -ENOMEM;
	walk->links = links;
	if (asprintf(&link.location, "%s/%s", walk->canonical, walk->component) < 0)
		return -ENOMEM;
	link.text = strdup(text);
	if (!link.text) {
		free(link.location);
		return -ENOMEM;
	}
	links[walk->link_count++] = link;
	return 0;
}

static int walk_follow(struct walk *walk, int link_fd)
{
	_cleanup_free_ char *text = NULL;
	char *pending;
	int r;

	if (walk->link_count >= PLACE_LINKS_MAX)
		return -ELOOP;
	r = link_text(link_fd, &text);
	if (r < 0)
		return r;
	r = walk_remember(walk, text);
	if (r < 0)
		return r;
	if (strlen(text) + strlen(walk->next) > 2 * PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (asprintf(&pending, "%s/%s", text, walk->next) < 0)
		return -ENOMEM;
	free(walk->pending);
	walk->pending = walk->next = pending;
	return text[0] == '/' ? walk_root(walk) : 0;
}

/* Exact unless what was found is a folder that is walked on, and so has a stamp of its own. */
static int walk_stamp(struct walk *walk, bool exact)
{
	return !walk->stamps ? 0
			     : stamps_add(walk->stamps, walk->canonical[0] ? walk->canonical : "/",
					  walk->fd, exact);
}

static int walk_into(struct walk *walk)
{
	_cleanup_close_ int fd = -1;
	size_t length = strlen(walk->canonical);
	bool folder;
	struct stat st;
	int r = walk_stamp(walk, false);

	if (r < 0)
		return r;
	/* O_DIRECTORY first: only then does O_PATH wake an automount. */
	fd = openat(walk->fd, walk->component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	folder = fd >= 0;
	if (!folder || !walk->next[strspn(walk->next, "/")]) {
		int error = errno;

		r = walk_stamp(walk, true);
		if (r < 0)
			return r;
		errno = error;
	}
	if (fd < 0 && errno == ENOTDIR) {
		fd = openat(walk->fd, walk->component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (fstat(fd, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode))
			return walk_follow(walk, fd);
	}
	if (fd < 0)
		return -errno;
	if (length + 1 + strlen(walk->component) > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	walk->canonical[length] = '/';
	memcpy(walk->canonical + length + 1, walk->component, strlen(walk->component) + 1);
	if (folder)
		fd_close(walk->fd);
	else
		walk->parent_fd = walk->fd;
	walk->fd = fd_steal(&fd);
	return 0;
}

/* 1 after a component, 0 at the end, -errno for walk->component below walk->canonical. */
static int walk_step(struct walk *walk)
{
	int r = walk_take(walk);

	if (r <= 0)
		return r;
	if (strcmp(walk->component, ".") != 0 && strcmp(walk->component, "..") != 0) {
		r = walk_into(walk);
	} else {
		r = walk_stamp(walk, false);
		if (r == 0 && walk->component[1])
			r = walk_up(walk);
	}
	return r < 0 ? r : 1;
}

static int walk_run(struct walk *walk)
{
	int r;

	do
		r = walk_step(walk);
	while (r > 0);
	return r;
}

/* That the canonical name still means what was opened. -ESTALE when it does not. */
static int walk_verify(const struct walk *walk)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *path = walk->canonical[0] ? walk->canonical : "/";
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat now, then;

	if (fd < 0)
		return errno == ENOSYS || errno == EPERM ? 0 : -ESTALE;
	if (fstat(fd, &now) < 0 || fstat(walk->fd, &then) < 0)
		return -errno;
	return now.st_dev == then.st_dev && now.st_ino == then.st_ino ? 0 : -ESTALE;
}

/* Moves what the walk found into a place; the walk keeps nothing of it. */
static int walk_finish(struct walk *walk, struct place *ret_place)
{
	struct place place = PLACE_INIT;
	struct stat st;

	if (fstat(walk->fd, &st) < 0)
		return -errno;
	place.canonical = strdup(walk->canonical[0] ? walk->canonical : "/");
	if (!place.canonical)
		return -ENOMEM;
	place.fd = fd_steal(&walk->fd);
	place.parent_fd = fd_steal(&walk->parent_fd);
	place.links = steal(&walk->links);
	place.link_count = walk->link_count;
	walk->link_count = 0;
	place.device = st.st_dev;
	place.inode = st.st_ino;
	place.mode = st.st_mode;
	place.uid = st.st_uid;
	place.names = st.st_nlink;
	*ret_place = place;
	return 0;
}

static int walk_fault(const struct walk *walk, const char *field, const char *path, int error,
		      struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);
	_cleanup_free_ char *folder = display(walk->canonical[0] ? walk->canonical : "/");
	_cleanup_free_ char *component = display(walk->component);

	switch (error) {
	case -ENOENT:
		return fault_set(fault, ERROR_invalid,
				 "%s: %s does not exist: there is no \"%s\" in %s", field, shown,
				 component, folder);
	case -ENOTDIR:
		return fault_set(fault, ERROR_invalid, "%s: %s does not exist: %s is not a folder",
				 field, shown, folder);
	case -EACCES:
		return fault_set(fault, ERROR_invalid,
				 "%s: %s cannot be reached: no permission to search %s", field,
				 shown, folder);
	case -ELOOP:
		return fault_set(
			fault, ERROR_invalid,
			"%s: %s passes more than %d symbolic links (the last one is \"%s\" in %s)",
			field, shown, PLACE_LINKS_MAX, component, folder);
	case -EXDEV:
		return fault_set(
			fault, ERROR_refused,
			"%s: %s passes \"%s\" in %s, a link of /proc, which is not followed", field,
			shown, component, folder);
	case -ENAMETOOLONG:
		return fault_set(
			fault, ERROR_invalid,
			"%s: %s is too long: a path has at most %d bytes, a name at most %d", field,
			shown, PATH_BYTES_MAX, NAME_MAX);
	case -ESTALE:
		return fault_set(fault, ERROR_invalid,
				 "%s: %s was moved or replaced while it was looked at", field,
				 shown);
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return error;
	default:
		return fault_set(fault, ERROR_invalid, "%s: %s: \"%s\" in %s: %s", field, shown,
				 component, folder, strerror(-error));
	}
}

int place_open(struct place *ret_place, const char *field, const char *path, bool *ret_missing,
	       struct fault *ret_fault)
{
	_cleanup_(walk_done) struct walk walk;
	int r;

	if (ret_missing)
		*ret_missing = false;
	*ret_place = PLACE_INIT;
	r = walk_init(&walk, path);
	if (r < 0)
		return r;
	if (path[0] != '/') {
		_cleanup_free_ char *shown = display(path);

		return fault_set(ret_fault, ERROR_invalid,
				 "%s: \"%s\" is not an absolute path (one that begins with /)",
				 field, shown);
	}
	r = walk_run(&walk);
	if (r == 0)
		r = walk_verify(&walk);
	if (r == 0)
		r = walk_finish(&walk, ret_place);
	if (r == 0)
		return 0;
	if (ret_missing)
		*ret_missing = r == -ENOENT || r == -ENOTDIR;
	return walk_fault(&walk, field, path, r, ret_fault);
}

int place_open_existing(struct place *ret_place, const char *path, char **ret_rest,
			struct stamps *stamps)
{
	_cleanup_(walk_done) struct walk walk;
	_cleanup_free_ char *rest = NULL;
	int r;

	*ret_place = PLACE_INIT;
	*ret_rest = NULL;
	r = walk_init(&walk, path);
	if (r < 0)
		return r;
	walk.stamps = stamps;
	r = walk_run(&walk);
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES) {
		if (asprintf(&rest, "%s%s", walk.component, walk.next) < 0)
			return -ENOMEM;
	} else if (r < 0) {
		return r == -ENOMEM ? r : -ENOENT;
	}
	r = walk_finish(&walk, ret_place);
	if (r == 0)
		*ret_rest = steal(&rest);
	return r;
}

int place_copy(const struct place *place, struct place *ret_copy)
{
	_cleanup_(place_done) struct place copy = *place;

	copy.parent_fd = -1;
	copy.links = NULL;
	copy.link_count = 0;
	copy.canonical = strdup(place->canonical);
	copy.fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 3);
	if (copy.fd < 0)
		return -errno;
	if (place->parent_fd >= 0) {
		copy.parent_fd = fcntl(place->parent_fd, F_DUPFD_CLOEXEC, 3);
		if (copy.parent_fd < 0)
			return -errno;
	}
	if (!copy.canonical)
		return -ENOMEM;
	*ret_copy = copy;
	copy = PLACE_INIT;
	return 0;
}

void place_done(struct place *place)
{
	fd_close(place->fd);
	fd_close(place->parent_fd);
	free(place->canonical);
	for (size_t i = 0; i < place->link_count; i++) {
		free(place->links[i].location);
		free(place->links[i].text);
	}
	free(place->links);
	*place = PLACE_INIT;
}

static bool place_same(const struct place_step *step, const struct stat *st)
{
	return step->device == st->st_dev && step->inode == st->st_ino;
}

static int ancestry_add(struct ancestry *ancestry, dev_t device, ino_t inode)
{
	struct place_step *steps = realloc(ancestry->steps, (ancestry->count + 1) * sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	ancestry->steps = steps;
	steps[ancestry->count++] = (struct place_step){.device = device, .inode = inode};
	return 0;
}

int place_ancestry(const struct place *place, struct ancestry *ret_ancestry)
{
	_cleanup_(ancestry_done) struct ancestry ancestry = {0};
	_cleanup_close_ int fd = -1;
	int r = 0;

	if (place->parent_fd >= 0)
		r = ancestry_add(&ancestry, place->device, place->inode);
	fd = openat(place->parent_fd >= 0 ? place->parent_fd : place->fd, ".",
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (r == 0) {
		struct stat st;
		int above;

		if (fd < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (ancestry.count > 0 && place_same(&ancestry.steps[ancestry.count - 1], &st))
			break; /* `..` of / is / */
		r = ancestry_add(&ancestry, st.st_dev, st.st_ino);
		above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(fd);
		fd = above;
	}
	if (r < 0)
		return r;
	*ret_ancestry = ancestry;
	ancestry = (struct ancestry){0};
	return 0;
}

void ancestry_done(struct ancestry *ancestry)
{
	free(ancestry->steps);
	*ancestry = (struct ancestry){0};
}

bool ancestry_has(const struct ancestry *ancestry, struct place_step step)
{
	for (size_t i = 0; i < ancestry->count; i++)
		if (ancestry->steps[i].device == step.device &&
		    ancestry->steps[i].inode == step.inode)
			return true;
	return false;
}

bool path_within(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (!strcmp(folder, "/"))
		return true;
	return !strncmp(path, folder, length) && (path[length] == '\0' || path[length] == '/');
}

int place_walk(int folder_fd, const char *relative, int *ret_fd)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	_cleanup_free_ char *copy = strdup(relative);
	_cleanup_close_ int fd = -1;
	struct stat st;
	char *rest = copy, *name;

	if (!copy)
		return -ENOMEM;
	fd = (int)syscall(SYS_openat2, folder_fd, relative, &how, sizeof(how));
	if (fd >= 0) {
		*ret_fd = fd_steal(&fd);
		return 0;
	}
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* A container's filter without openat2. */
	fd = openat(folder_fd, ".", O_PATH | O_CLOEXEC);
	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		int below = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		fd_close(fd);
		fd = below;
		if (fd >= 0 && (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode)))
			return -ELOOP;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}
