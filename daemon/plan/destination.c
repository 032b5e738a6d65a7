/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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
 *  8. Inside another bound tree the mount point must exist, as the same kind, reached through no
 *     link: no mount point is made in anybody's files. What a bind covers there it covers on
 *     purpose: one that was given no destination must be that very file or folder.
 *  9. Not through a link that the sandbox makes (those that spell a bound path).
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

/* What stands at relative in the tree of folder_fd, for rule 8. */
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
			"%s: %s passes a symbolic link in %s, which is bound too: give the path without it",
			bound->field, shown, outer);
	if (r == -ENOENT || r == -ENOTDIR)
		return fault_set(
			fault, ERROR_refused,
			"%s: %s does not exist in %s, which is bound too, and no mount point is made in your files",
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
	return 0;
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

static int around_check(const struct bound_list *bounds, const struct bound *bound,
			const struct plan *plan, struct fault *fault)
{
	const struct bound *outer = bound_around(bounds, bound);
	const struct plan_operation *system = NULL;
	_cleanup_close_ int fd = -1;

	if (outer)
		return mount_point_check(bound, outer->place.fd,
					 bound->destination + strlen(outer->destination) + 1,
					 outer->destination, fault);
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
	return mount_point_check(bound, fd, bound->destination + strlen(system->destination) + 1,
				 system->destination, fault);
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

int destination_check(const struct bound_list *bounds, const struct plan *plan,
		      struct fault *ret_fault)
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
