/* SPDX-License-Identifier: MIT */
#include "build.h"
#include "guarded.h"
#include "listeners.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/*
 * The policy of binds. What a launch may bind, stated here and enforced here only (where it may
 * be put inside: destination.c).
 *
 *  1. A source is a folder or a regular file, on no kernel file system (/proc, /sys, cgroups) and
 *     with none of those mounted below it: they show or steer the host, not a tree of files.
 *  2. No source is, contains or lies in trialsd's state or runtime folder, in any mode: they hold
 *     other Trials' results and the socket that launches them.
 *  3. A writable source belongs to us (unless we are root), so that a Trial gets no right of
 *     somebody else's folder that its owner forgot to take away. A writable file has no second
 *     name (hard link): it could be a file of rule 5, which no path or inode of a folder shows.
 *  4. A writable source is not and does not contain / or HOME.
 *  5. A writable source is not, does not contain and does not lie in: trialsd's state, runtime
 *     or configuration folder, or one of the places in guarded.c: logins and keys, and whatever
 *     the host executes or takes commands from on the person's behalf. One that does not exist
 *     yet counts: the folder in which it would be made contains it.
 *  6. No socket is listened on at or below a source, in any mode: a read-only bind does not stop
 *     connect(). Best effort (listeners.h): a hard link, a relative name, a socket of another
 *     network namespace and one made later escape it.
 *  7. A writable bind does not contain the repository, build or skills of the same launch when
 *     those are read-only.
 *  8. A release of a Harness (read-only, and found by trialsd) is and contains none of the places of
 *     rules 4 and 5: where a program lies in ~/bin, "the folder above it" would be the whole home.
 *  9. What a toolchain brings along (read-only) is, contains and lies in none of those places of rule
 *     5 that hold logins or keys, and neither is nor contains one of rule 4: many launches get it
 *     that never named the path, so a pattern of a configuration must not show a secret to all.
 *     What a launch itself names may be, contain or lie in them when it is read-only: somebody may
 *     want that, and it is noted, for whoever did not.
 *
 * Paths are not what is compared. Each source is an O_PATH descriptor, and each guarded place was
 * one when it was found; "contains" and "lies in" are answered by climbing from it by `..` and
 * comparing device and inode, so no spelling and no symbolic link matters. A bind mount on the host gives one folder
 * a second set of parents, so the position of each within its own file system is compared too
 * (mounts.h), and that of every mount below a source.
 */

struct policy {
	const struct plan_host *host;
	const struct guards *guards;
	struct plan *plan; /* for its notes */
};

static struct place_step step_of(const struct place *place)
{
	return (struct place_step){.device = place->device, .inode = place->inode};
}

static bool same_file_system(const struct mount_position *a, const struct mount_position *b)
{
	return a->path && b->path && a->major == b->major && a->minor == b->minor;
}

/* Whether source is or contains the guarded place. */
static bool contains(const struct policy *policy, const struct bound *bound,
		     const struct mount_position *position, const struct guard *guard)
{
	if (ancestry_has(&guard->ancestry, step_of(&bound->place)))
		return true;
	if (same_file_system(position, &guard->position) &&
	    path_within(guard->position.path, position->path))
		return true;
	for (size_t i = 0; i < guard->place.link_count; i++)
		if (path_within(guard->place.links[i].location, bound->place.canonical))
			return true;
	for (size_t i = 0; i < policy->guards->mounts.count; i++) {
		const struct mount *mount = &policy->guards->mounts.mounts[i];
		const struct mount_position below = {mount->major, mount->minor, mount->root};

		if (path_within(mount->point, bound->place.canonical) &&
		    strcmp(mount->point, bound->place.canonical) != 0 &&
		    same_file_system(&below, &guard->position) &&
		    (path_within(guard->position.path, below.path) ||
		     (guard->reach != GUARD_WRITABLE_ABOVE && !guard->rest &&
		      path_within(below.path, guard->position.path))))
			return true;
	}
	return false;
}

static bool lies_in(const struct bound *bound, const struct mount_position *position,
		    const struct guard *guard)
{
	if (guard->rest)
		return false;
	return ancestry_has(&bound->ancestry, step_of(&guard->place)) ||
	       (same_file_system(position, &guard->position) &&
		path_within(position->path, guard->position.path));
}

static int guard_fault(const struct bound *bound, const struct guard *guard, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);
	_cleanup_free_ char *place = display(guard->place.canonical);
	_cleanup_free_ char *rest = display(guard->rest ? guard->rest : "");
	const char *slash = guard->rest ? "/" : "";
	int r;

	if (guard->reach == GUARD_ANY_MODE_AROUND) {
		r = fault_set(fault, ERROR_refused,
			      "%s: %s may not be bound: it is, contains or lies in %s (%s%s%s)",
			      bound->field, shown, guard->what, place, slash, rest);
		return r < 0 ? r : fault_hint(fault, "bind a folder beside it, not one with it");
	}
	r = fault_set(fault, ERROR_refused, "%s: %s may not be bound writable: it %s %s (%s%s%s)",
		      bound->field, shown,
		      guard->reach == GUARD_WRITABLE_ABOVE ? "is or contains"
							   : "is, contains or lies in",
		      guard->what, place, slash, rest);
	return r < 0 ? r : fault_hint(fault, "bind it read-only, or bind a folder of its own");
}

/* Rule 8. */
static int release_fault(const struct bound *bound, const struct guard *guard, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);
	_cleanup_free_ char *place = display(guard->place.canonical);
	_cleanup_free_ char *rest = display(guard->rest ? guard->rest : "");
	int r = fault_set(fault, ERROR_refused,
			  "%s: %s would be visible inside, and it is or contains %s (%s%s%s)",
			  bound->field, shown, guard->what, place, guard->rest ? "/" : "", rest);

	return r < 0 ? r
		     : fault_hint(fault, "install the program in a folder of its own, or name "
					 "another one: --executable PATH");
}

/* Rule 9. */
static bool shows_secret(const struct policy *policy, const struct bound *bound,
			 const struct mount_position *position, const struct guard *guard)
{
	if (guard->reach == GUARD_WRITABLE_ABOVE)
		return contains(policy, bound, position, guard);
	return guard->secret &&
	       (contains(policy, bound, position, guard) || lies_in(bound, position, guard));
}

static int secret_fault(const struct bound *bound, const struct guard *guard, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);
	_cleanup_free_ char *place = display(guard->place.canonical);
	_cleanup_free_ char *rest = display(guard->rest ? guard->rest : "");
	int r = fault_set(fault, ERROR_refused,
			  "%s: %s would be visible inside, and it is, contains or lies in %s "
			  "(%s%s%s)",
			  bound->field, shown, guard->what, place, guard->rest ? "/" : "", rest);

	return r < 0 ? r
		     : fault_hint(fault, "name folders beside it in the section of trialsd.conf, "
					 "one by one");
}

/* Of what the launch names, and nobody else. */
static bool is_asked(const struct bound *bound)
{
	return strncmp(bound->field, "binds[", strlen("binds[")) == 0 ||
	       strcmp(bound->field, "repository") == 0 || strcmp(bound->field, "build") == 0 ||
	       strcmp(bound->field, "skills") == 0;
}

/* Once for each source: what it shows first is enough to look at it again. */
static int note_secret(const struct policy *policy, const struct bound *bound,
		       const struct mount_position *position)
{
	for (size_t i = 0; is_asked(bound) && i < policy->guards->count; i++) {
		const struct guard *guard = &policy->guards->items[i];
		_cleanup_free_ char *shown = NULL, *place = NULL;

		if (!guard->secret || guard->rest ||
		    !(contains(policy, bound, position, guard) || lies_in(bound, position, guard)))
			continue;
		shown = display(bound->place.canonical);
		place = display(guard->place.canonical);
		return plan_warn(
			policy->plan,
			"%s: %s can be read inside, and it is, contains or lies in %s (%s)",
			bound->field, shown, guard->what, place);
	}
	return 0;
}

static int guards_check(const struct policy *policy, const struct bound *bound,
			const struct mount_position *position, struct fault *fault)
{
	for (size_t i = 0; i < policy->guards->count; i++) {
		const struct guard *guard = &policy->guards->items[i];

		if (bound->release && contains(policy, bound, position, guard))
			return release_fault(bound, guard, fault);
		if (bound->toolchain && shows_secret(policy, bound, position, guard))
			return secret_fault(bound, guard, fault);
		if (!bound->writable && guard->reach != GUARD_ANY_MODE_AROUND)
			continue;
		if (contains(policy, bound, position, guard) ||
		    (guard->reach != GUARD_WRITABLE_ABOVE && lies_in(bound, position, guard)))
			return guard_fault(bound, guard, fault);
	}
	return note_secret(policy, bound, position);
}

static bool is_kernel_type(const char *type)
{
	static const char *const types[] = {"proc",    "sysfs",	     "cgroup",	 "cgroup2",
					    "debugfs", "tracefs",    "configfs", "bpf",
					    "devpts",  "securityfs", "pstore",	 "efivarfs"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

/* Rule 1, for the source itself. */
static int kind_check(const struct bound *bound, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);
	struct statfs fs;

	if (!S_ISDIR(bound->place.mode) && !S_ISREG(bound->place.mode))
		return fault_set(fault, ERROR_refused,
				 "%s: %s is neither a folder nor a regular file", bound->field,
				 shown);
	if (fstatfs(bound->place.fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
	    fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC ||
	    fs.f_type == DEBUGFS_MAGIC || fs.f_type == TRACEFS_MAGIC)
		return fault_set(fault, ERROR_refused,
				 "%s: %s is on a file system of the kernel, which shows the host",
				 bound->field, shown);
	return 0;
}

/* Rule 1, for what is mounted below. */
static int below_check(const struct policy *policy, const struct bound *bound, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);

	for (size_t i = 0; i < policy->guards->mounts.count; i++) {
		const struct mount *mount = &policy->guards->mounts.mounts[i];
		_cleanup_free_ char *point = NULL;

		if (!is_kernel_type(mount->type) ||
		    !path_within(mount->point, bound->place.canonical))
			continue;
		point = display(mount->point);
		return fault_set(fault, ERROR_refused,
				 "%s: %s contains %s, a mounted %s, which shows the host",
				 bound->field, shown, point, mount->type);
	}
	return 0;
}

static int owner_check(const struct policy *policy, const struct bound *bound, struct fault *fault)
{
	_cleanup_free_ char *shown = NULL;

	if (!bound->writable || policy->host->uid == 0 || bound->place.uid == policy->host->uid)
		return 0;
	shown = display(bound->place.canonical);
	return fault_set(
		fault, ERROR_refused,
		"%s: %s may not be bound writable: it belongs to uid %u, not to you (uid %u)",
		bound->field, shown, (unsigned int)bound->place.uid,
		(unsigned int)policy->host->uid);
}

/* Rule 3, for files. */
static int names_check(const struct bound *bound, struct fault *fault)
{
	_cleanup_free_ char *shown = NULL;
	int r;

	if (!bound->writable || !S_ISREG(bound->place.mode) || bound->place.names <= 1)
		return 0;
	shown = display(bound->place.canonical);
	r = fault_set(
		fault, ERROR_refused,
		"%s: %s may not be bound writable: it has %llu names (hard links), and another may be that of a login or a start-up file",
		bound->field, shown, (unsigned long long)bound->place.names);
	return r < 0 ? r : fault_hint(fault, "bind a copy of it, or bind it read-only");
}

/* Rule 7. */
static int read_only_check(const struct bound_list *bounds, const struct bound *writable,
			   struct fault *fault)
{
	for (size_t i = 0; writable->writable && i < bounds->count; i++) {
		const struct bound *kept = &bounds->items[i];
		_cleanup_free_ char *shown = NULL;
		int r;

		if (kept == writable || kept->writable || kept->pinned ||
		    !strncmp(kept->field, "binds", 5) ||
		    !ancestry_has(&kept->ancestry, step_of(&writable->place)))
			continue;
		shown = display(kept->place.canonical);
		r = fault_set(
			fault, ERROR_refused,
			"%s: its source is or contains %s (%s), which is bound read-only, and would make it writable",
			writable->field, shown, kept->field);
		return r < 0 ? r
			     : fault_hint(fault, "keep it outside of the folder that is writable");
	}
	return 0;
}

static int listener_fault(const struct bound *bound, const char *path, struct fault *fault)
{
	_cleanup_free_ char *shown = display(bound->place.canonical);
	_cleanup_free_ char *socket = display(path);
	int r = fault_set(
		fault, ERROR_refused,
		"%s: %s may not be bound: a program listens on the socket %s, which could be reached from inside",
		bound->field, shown, socket);

	return r < 0 ? r : fault_hint(fault, "stop the program that listens there: ss -xlp");
}

/* Whether anything of a source may be on this device. */
static bool device_matters(const struct policy *policy, const struct bound *bound, dev_t device)
{
	if (bound->place.device == device)
		return true;
	for (size_t i = 0; i < policy->guards->mounts.count; i++)
		if (path_within(policy->guards->mounts.mounts[i].point, bound->place.canonical))
			return true;
	return false;
}

static int listener_check(const struct policy *policy, const struct bound_list *bounds,
			  const char *path, struct fault *fault)
{
	_cleanup_(ancestry_done) struct ancestry ancestry = {0};
	struct stat st;
	bool exists = lstat(path, &st) == 0;

	for (size_t i = 0; i < bounds->count; i++) {
		const struct bound *bound = &bounds->items[i];

		if (path_within(path, bound->place.canonical) || path_within(path, bound->given))
			return listener_fault(bound, path, fault);
		if (!exists || !device_matters(policy, bound, st.st_dev))
			continue;
		if (ancestry.count == 0) {
			_cleanup_(place_done) struct place place = PLACE_INIT;
			_cleanup_free_ char *rest = NULL;
			int r = place_open_existing(&place, path, &rest, NULL);

			if (r == 0)
				r = place_ancestry(&place, &ancestry);
			if (r == -ENOMEM)
				return r;
		}
		if (ancestry_has(&ancestry, step_of(&bound->place)))
			return listener_fault(bound, path, fault);
	}
	return 0;
}

/* Rule 6. */
static int listeners_check(const struct policy *policy, const struct bound_list *bounds,
			   struct fault *fault)
{
	_cleanup_(text_list_done) struct text_list paths = {0};
	int r;

	if (bounds->count == 0)
		return 0;
	r = listeners_read(&paths);
	if (r < 0)
		return fault_set(fault, ERROR_unavailable,
				 "the sockets of this host cannot be listed (/proc/net/unix: %s)",
				 strerror(-r));
	for (size_t i = 0; r == 0 && i < paths.count; i++)
		r = listener_check(policy, bounds, paths.items[i], fault);
	return r;
}

static int bound_check(const struct policy *policy, const struct bound *bound, struct fault *fault)
{
	_cleanup_(mount_position_done) struct mount_position position = {0};
	int r;

	r = kind_check(bound, fault);
	if (r == 0)
		r = mount_position(&policy->guards->mounts, &bound->place, &position);
	if (r == 0 || r == -ENOENT)
		r = guards_check(policy, bound, &position, fault);
	if (r == 0)
		r = owner_check(policy, bound, fault);
	if (r == 0)
		r = names_check(bound, fault);
	if (r == 0)
		r = below_check(policy, bound, fault);
	return r;
}

int policy_find_secret(const struct plan_host *host, const struct place *place, char **ret_reason)
{
	_cleanup_(mount_position_done) struct mount_position position = {0};
	struct bound bound = {.place = *place};
	const struct guards *guards = &host->cache->guards;
	int r = guards_refresh(&host->cache->guards, host);

	if (r == 0)
		r = place_ancestry(place, &bound.ancestry);
	if (r == 0)
		r = mount_position(&guards->mounts, place, &position);
	r = r == -ENOENT ? 0 : r;
	for (size_t i = 0; r == 0 && i < guards->count; i++) {
		const struct guard *guard = &guards->items[i];
		_cleanup_free_ char *shown = NULL;

		if ((!guard->secret && guard->reach != GUARD_ANY_MODE_AROUND) ||
		    !lies_in(&bound, &position, guard))
			continue;
		shown = display(guard->place.canonical);
		r = asprintf(ret_reason, "it is or lies in %s (%s)", guard->what, shown) < 0
			    ? -ENOMEM
			    : 1;
	}
	ancestry_done(&bound.ancestry);
	return r;
}

int policy_check(const struct plan_host *host, const struct bound_list *bounds, struct plan *plan,
		 struct fault *ret_fault)
{
	struct policy policy = {.host = host, .guards = &host->cache->guards, .plan = plan};
	int r;

	if (bounds->count == 0)
		return 0;
	r = guards_refresh(&host->cache->guards, host);
	for (size_t i = 0; r == 0 && i < bounds->count; i++) {
		r = bound_check(&policy, &bounds->items[i], ret_fault);
		if (r == 0)
			r = read_only_check(bounds, &bounds->items[i], ret_fault);
	}
	return r == 0 ? listeners_check(&policy, bounds, ret_fault) : r;
}
