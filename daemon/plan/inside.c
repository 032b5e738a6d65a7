/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A path as the sandbox will see it, resolved before there is one: through the plan's operations
 * where they make the tree, and through the bound folders' descriptors below their destinations.
 * The working directory has to be known this way: what the host has at that path may not be
 * there inside, and a link in a bound folder may lead elsewhere than on the host.
 */

struct inside {
	const struct plan *plan;
	char path[PATH_BYTES_MAX + 1]; /* canonical so far; "" is the root */
	int fd;			       /* of it when it lies in a bound tree, else -1 */
	bool folder;
	char *pending;
	char *next;
	unsigned int hops; /* links and steps up, each of which starts anew */
};

#define HOPS_MAX 256

static void inside_done(struct inside *inside)
{
	fd_close(inside->fd);
	free(inside->pending);
}

/* Goes on with text (from the root when absolute), then with what is left. */
static int redirect(struct inside *inside, const char *text)
{
	char *pending;

	if (++inside->hops > HOPS_MAX)
		return -ELOOP;
	if (strlen(text) + strlen(inside->next) > 2 * PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (asprintf(&pending, "%s/%s", text, inside->next) < 0)
		return -ENOMEM;
	free(inside->pending);
	inside->pending = inside->next = pending;
	if (text[0] != '/')
		return 0;
	inside->path[0] = '\0';
	inside->fd = fd_close(inside->fd);
	inside->folder = true;
	return 0;
}

/* `..` : the parent is canonical too, so starting anew with it is right and short. */
static int step_up(struct inside *inside)
{
	_cleanup_free_ char *parent = strdup(inside->path);
	char *slash;

	if (!parent)
		return -ENOMEM;
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	return redirect(inside, parent[0] ? parent : "/");
}

static int take_fd(struct inside *inside, int fd)
{
	struct stat st;

	if (fd < 0)
		return -errno;
	fd_close(inside->fd);
	inside->fd = fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	inside->folder = S_ISDIR(st.st_mode);
	return 0;
}

static int step_onto(struct inside *inside, const struct plan_operation *operation)
{
	switch (operation->type) {
	case PLAN_BIND:
		return take_fd(inside, fcntl(inside->plan->descriptors[operation->descriptor],
					     F_DUPFD_CLOEXEC, 3));
	case PLAN_SYSTEM_BIND:
		return take_fd(inside, open(operation->source, O_PATH | O_CLOEXEC));
	default:
		inside->fd = fd_close(inside->fd);
		inside->folder = operation->type != PLAN_FILE && operation->type != PLAN_MASK;
		return 0;
	}
}

/* A name in a bound tree: 1 when it was a link and text was followed. */
static int step_below(struct inside *inside, const char *name)
{
	_cleanup_close_ int fd = openat(inside->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t size;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return take_fd(inside, fd_steal(&fd));
	text = malloc(PATH_BYTES_MAX + 1);
	if (!text)
		return -ENOMEM;
	size = readlinkat(fd, "", text, PATH_BYTES_MAX);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	r = redirect(inside, text);
	return r < 0 ? r : 1;
}

/* Whether some operation is below path: then bwrap makes path as a folder. */
static bool is_made(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->operation_count; i++)
		if (path_within(plan->operations[i].destination, path))
			return true;
	return false;
}

static int step_into(struct inside *inside, const char *name)
{
	const struct plan_operation *operation;
	_cleanup_free_ char *path = NULL;
	int r = 0;

	if (!inside->folder)
		return -ENOTDIR;
	if (asprintf(&path, "%s/%s", inside->path, name) < 0)
		return -ENOMEM;
	if (strlen(path) > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	operation = plan_at(inside->plan, path);
	if (operation && operation->type == PLAN_SYMLINK)
		return redirect(inside, operation->source);
	if (operation)
		r = step_onto(inside, operation);
	else if (inside->fd >= 0)
		r = step_below(inside, name);
	else if (!is_made(inside->plan, path))
		r = -ENOENT;
	if (r == 0)
		memcpy(inside->path, path, strlen(path) + 1);
	return r < 0 ? r : 0;
}

static int walk(struct inside *inside)
{
	char name[NAME_MAX + 1];

	for (;;) {
		size_t length;
		int r;

		inside->next += strspn(inside->next, "/");
		length = strcspn(inside->next, "/");
		if (length == 0)
			return 0;
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, inside->next, length);
		name[length] = '\0';
		inside->next += length;
		if (!strcmp(name, "."))
			continue;
		r = strcmp(name, "..") ? step_into(inside, name) : step_up(inside);
		if (r < 0)
			return r;
	}
}

/* A folder can be the working directory only when it may be entered. */
static int enter(const struct inside *inside)
{
	_cleanup_close_ int fd = -1;

	if (!inside->folder)
		return -ENOTDIR;
	if (inside->fd < 0)
		return 0;
	fd = openat(inside->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

int inside_find(const struct plan *plan, const char *path, char **ret_canonical, int *ret_fd)
{
	_cleanup_(inside_done) struct inside inside = {.plan = plan, .fd = -1, .folder = true};
	int r;

	inside.pending = inside.next = strdup(path);
	if (!inside.pending)
		return -ENOMEM;
	r = walk(&inside);
	if (r < 0)
		return r;
	*ret_canonical = strdup(inside.path[0] ? inside.path : "/");
	if (!*ret_canonical)
		return -ENOMEM;
	*ret_fd = fd_steal(&inside.fd);
	return 0;
}

int inside_resolve(const struct plan *plan, const char *path, char **ret_canonical,
		   struct fault *ret_fault)
{
	_cleanup_(inside_done) struct inside inside = {.plan = plan, .fd = -1, .folder = true};
	_cleanup_free_ char *shown = display(path);
	int r;

	if (path[0] != '/')
		return fault_set(ret_fault, ERROR_invalid,
				 "cwd: \"%s\" is not an absolute path (one that begins with /)",
				 shown);
	inside.pending = inside.next = strdup(path);
	if (!inside.pending)
		return -ENOMEM;
	r = walk(&inside);
	if (r == 0)
		r = enter(&inside);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r == -ENOENT)
		return fault_set(ret_fault, ERROR_invalid,
				 "cwd: %s does not exist inside the sandbox", shown);
	if (r < 0)
		return fault_set(ret_fault, ERROR_invalid, "cwd: %s: %s", shown, strerror(-r));
	*ret_canonical = strdup(inside.path[0] ? inside.path : "/");
	return *ret_canonical ? 0 : -ENOMEM;
}
