/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The policy of destinations: where a bind may be put inside. Stated and enforced here only.
 *
 *  1. Absolute and normalized: no `.`, no `..`, no `//`, no `/` at the end. What is meant is what
 *     is written; nothing is resolved inside a half-built root.
 *  2. Free: below HOME, /tmp, /var/tmp, /dev/shm, /opt, /srv, /data, /home, /mnt, … : anything
 *     that the next rules do not take away.
 *  3. Reserved, with all below it: /proc, /sys, /dev (not below /dev/shm), /run (not below
 *     /run/media, where desktops mount disks). An empty /run is what keeps the host's sockets out.
 *  4. /usr, /bin, /sbin, /lib… are the host's own and not to be changed: a bind there only makes
 *     sense, and is only allowed, as the same path on the host.
 *  5. Below /etc only read-only (some of /usr links to configuration there, a JVM for one), and
 *     never what the sandbox itself puts there.
 *  6. Not, and not above, a place that the sandbox makes: /, HOME, /tmp, …
 *  7. Not equal to another destination.
 *  8. Not inside another host tree that is bound (repository, build, skills, binds). bwrap makes
 *     and reaches a mount point by its path, and a Trial that may write to that tree can swap a
 *     folder on the way with a link while it does: the host's own files would be made or covered.
 *     What is the very file or folder that the outer tree has at that path, in the same mode, is
 *     there already and is not mounted at all; in another mode it is refused.
 *     One exception, which only repository_git.c makes (pinned): a folder at the very top of a
 *     writable tree, mounted read-only over itself. Its name is the last of the mount point's, so
 *     there is no way on which bwrap could be led astray; a link that is put in its place meanwhile
 *     makes nothing (bwrap would make a folder, and mkdir follows no link) and at worst gets the
 *     mount elsewhere in this sandbox, which is found out before anything runs: the keeper looks
 *     from within whether it is where it belongs (keeper/pinned.c).
 *     Inside a tree of the system the mount point must exist, as the same kind, reached through
 *     no link and through folders that only the system's owner can change. One that was given no
 *     destination must be that very file or folder.
 *  9. Not through a link that the sandbox makes (those that spell a bound path).
 * So every mount point is in memory of the sandbox's own, or in a folder that root alone changes.
 */

static bool is_normalized(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return !strcmp(path, "/");
	while (*path == '/') {
		size_t length = strcspn(++path, "/");

		if (length == 0 || (length == 1 && path[0] == '.') ||
		    (length == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += length;
	}
	return true;
}

/* Above or below or the same. */
static bool path_below(const char *path, const char *folder)
{
	return path_within(path, folder) && strcmp(path, folder) != 0;
}

bool destination_reserved(const char *path)
{
	static const char *const reserved[] = {"/proc", "/sys", "/dev", "/run"};

	if (path_below(path, "/dev/shm") || path_below(path, "/run/media"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (path_within(path, reserved[i]))
			return true;
	return false;
}

static bool is_system(const char *path)
{
	static const char *const system[] = {"/usr", "/bin", "/sbin", "/boot"};

	for (size_t i = 0; i < ARRAY_SIZE(system); i++)
		if (path_within(path, system[i]))
			return true;
	return !strncmp(path, "/lib", 4) && (path[4] == '/' || path[4] == '\0' ||
					     (path[4] >= '0' && path[4] <= '9') || path[4] == 'x');
}

static int place_fault(const struct bound *bound, const char *why, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->destination);

	return fault_set(fault, ERROR_refused, "%s: nothing can be bound at %s inside: %s",
			 bound->field, shown, why);
}

static int shape_check(const struct bound *bound, struct fault *fault)
{
	const char *path = bound->destination;
	_cleanup_free_ char *shown = NULL;

	if (strlen(path) > PATH_BYTES_MAX || !is_normalized(path)) {
		shown = display(path);
		return fault_set(
			fault, ERROR_invalid,
			"%s: the destination \"%s\" must be an absolute path of at most %d bytes without \".\", \"..\", \"//\" and a \"/\" at its end",
			bound->field, shown, PATH_BYTES_MAX);
	}
	if (destination_reserved(path))
		return place_fault(bound, "/proc, /sys, /dev and /run are the sandbox's own",
				   fault);
	if (is_system(path) && !bound->own_path)
		return place_fault(bound, "the system's folders are the same as on the host",
				   fault);
	if (path_within(path, "/etc") && bound->writable)
		return place_fault(bound, "below /etc only read-only", fault);
	return 0;
}

/* Rules 5 and 6, against what the root holds before the launch's binds come in. */
static int root_check(const struct bound *bound, const struct plan *plan, struct fault *fault)
{
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];
		bool file = operation->type == PLAN_FILE || operation->type == PLAN_SYMLINK;

		if (path_within(operation->destination, bound->destination) ||
		    (file && path_within(bound->destination, operation->destination))) {
			_cleanup_free_ char *shown = display(operation->destination);
			_cleanup_free_ char *why = NULL;

			if (asprintf(&why, "the sandbox has its own %s", shown) < 0)
				return -ENOMEM;
			return place_fault(bound, why, fault);
		}
	}
	return 0;
}

/* Whether a tree has the source itself at relative, through no link. */
static bool has_source(const struct bound *bound, int folder_fd, const char *relative)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	return place_walk(folder_fd, relative, &fd) == 0 && fstat(fd, &st) == 0 &&
	       st.st_dev == bound->place.device && st.st_ino == bound->place.inode;
}

/* Rule 8, for what stands in a tree already, but in the other mode. */
static int mode_fault(const struct bound *bound, const char *tree, const char *whose,
		      struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->destination);
	_cleanup_free_ char *outer = display(tree);
	int r = fault_set(
		fault, ERROR_refused,
		"%s: %s lies in %s (%s), which is %s, and cannot be %s apart from it: a mount point inside could be swapped by a Trial that may write there",
		bound->field, shown, outer, whose, bound->writable ? "read-only" : "writable",
		bound->writable ? "writable" : "read-only");

	return r < 0 ? r
		     : fault_hint(fault,
				  "give both the same mode, or give it a destination beside");
}

static int inside_fault(const struct bound *bound, const struct bound *outer, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->destination);
	_cleanup_free_ char *tree = display(outer->destination);
	int r = fault_set(
		fault, ERROR_refused,
		"%s: nothing can be bound at %s, inside %s (%s): a mount point there could be swapped by a Trial that may write to it",
		bound->field, shown, tree, outer->field);

	return r < 0 ? r
		     : fault_hint(fault,
				  "bind it beside that folder, or bind the inner path alone");
}

/* Whether nobody but the owner of a system tree, who is not us, can change the way to relative. */
static bool way_is_fixed(int folder_fd, const char *relative)
{
	_cleanup_close_ int fd = openat(folder_fd, ".", O_PATH | O_CLOEXEC);
	_cleanup_free_ char *copy = strdup(relative);
	char *rest = copy, *name;
	struct stat tree, st;

	if (!copy || fd < 0 || fstat(fd, &tree) < 0 || tree.st_uid == geteuid())
		return false;
	while ((name = strsep(&rest, "/"))) {
		int below;

		if (fstat(fd, &st) < 0 || st.st_uid != tree.st_uid || (st.st_mode & 022))
			return false;
		below = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			return false;
		fd_close(fd);
		fd = below;
	}
	return true;
}

/* What stands at relative in a tree of the system, for rule 8. */
static int mount_point_check(const struct bound *bound, int folder_fd, const char *relative,
			     const char *tree, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->destination);
	_cleanup_free_ char *outer = display(tree);
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	r = place_walk(folder_fd, relative, &fd);
	if (r == -ELOOP)
		return fault_set(
			fault, ERROR_refused,
			"%s: %s passes a symbolic link in %s, which is the system's: give the path without it",
			bound->field, shown, outer);
	if (r == -ENOENT || r == -ENOTDIR)
		return fault_set(
			fault, ERROR_refused,
			"%s: %s does not exist in %s, which is the system's, and no mount point is made there",
			bound->field, shown, outer);
	if (r < 0)
		return fault_set(fault, ERROR_refused, "%s: %s in %s: %s", bound->field, shown,
				 outer, strerror(-r));
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) != S_ISDIR(bound->place.mode))
		return fault_set(fault, ERROR_refused,
				 "%s: %s is a %s in %s, and a %s cannot be bound on it",
				 bound->field, shown, S_ISDIR(st.st_mode) ? "folder" : "file",
				 outer, S_ISDIR(bound->place.mode) ? "folder" : "file");
	if (bound->own_path &&
	    (st.st_dev != bound->place.device || st.st_ino != bound->place.inode))
		return fault_set(
			fault, ERROR_refused,
			"%s: %s would hide another one of that name in %s, which is bound there",
			bound->field, shown, outer);
	if (way_is_fixed(folder_fd, relative))
		return 0;
	if (bound->own_path)
		return mode_fault(bound, tree, "the system's", fault);
	return fault_set(fault, ERROR_refused,
			 "%s: nothing can be bound at %s: not only root can change the way to it",
			 bound->field, shown);
}

/* The deepest other bind that holds this destination. */
static const struct bound *bound_around(const struct bound_list *bounds, const struct bound *bound)
{
	const struct bound *deepest = NULL;

	for (size_t i = 0; i < bounds->count; i++) {
		const struct bound *outer = &bounds->items[i];

		if (path_below(bound->destination, outer->destination) &&
		    (!deepest || path_below(outer->destination, deepest->destination)))
			deepest = outer;
	}
	return deepest;
}

static int around_check(const struct bound_list *bounds, struct bound *bound,
			const struct plan *plan, struct fault *fault)
{
	const struct bound *outer = bound_around(bounds, bound);
	const struct plan_operation *system = NULL;
	_cleanup_close_ int fd = -1;
	const char *relative;

	if (outer) {
		relative = bound->destination + strlen(outer->destination) + 1;
		if (!has_source(bound, outer->place.fd, relative))
			return inside_fault(bound, outer, fault);
		if (bound->pinned && !strchr(relative, '/'))
			return 0;
		bound->covered = bound->writable == outer->writable;
		return bound->covered ? 0
				      : mode_fault(bound, outer->destination, outer->field, fault);
	}
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		if (operation->type == PLAN_SYSTEM_BIND &&
		    path_below(bound->destination, operation->destination))
			system = operation;
	}
	if (!system)
		return 0;
	fd = open(system->source, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	relative = bound->destination + strlen(system->destination) + 1;
	bound->covered = !bound->writable && has_source(bound, fd, relative);
	return bound->covered ? 0
			      : mount_point_check(bound, fd, relative, system->destination, fault);
}

static int equal_check(const struct bound_list *bounds, size_t index, struct fault *fault)
{
	const struct bound *bound = &bounds->items[index];

	for (size_t i = 0; i < index; i++) {
		_cleanup_free_ char *shown = NULL;

		if (strcmp(bounds->items[i].destination, bound->destination) != 0)
			continue;
		shown = display(bound->destination);
		return fault_set(fault, ERROR_refused, "%s: its destination %s is that of %s too",
				 bound->field, shown, bounds->items[i].field);
	}
	return 0;
}

int destination_check(struct bound_list *bounds, const struct plan *plan, struct fault *ret_fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < bounds->count; i++) {
		r = shape_check(&bounds->items[i], ret_fault);
		if (r == 0)
			r = root_check(&bounds->items[i], plan, ret_fault);
		if (r == 0)
			r = equal_check(bounds, i, ret_fault);
	}
	for (size_t i = 0; r == 0 && i < bounds->count; i++)
		r = around_check(bounds, &bounds->items[i], plan, ret_fault);
	return r;
}
