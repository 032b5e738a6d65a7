/* SPDX-License-Identifier: MIT */

/*
 * Is this the folder to be wiped? home_guard.h has the policy. Everything is looked at anew each
 * time, from the root down: it is asked once before a Trial is accepted and once more right before
 * the wipe, and what a person moves, links or mounts in between must not count on an old answer.
 *
 * Nothing is changed before the last comparison is made; then, at most, the mode of the home. An
 * agent can close its home to all (mode 000) from inside, hence the detour over its parent.
 */
#include "queue/home_guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "plan/mounts.h"
#include "plan/place.h"
#include "plan/session_login.h"
#include "plan/text_file.h"

#define MOUNTINFO_BYTES_MAX (16u << 20)

/* A folder as it is compared. */
struct sight {
	struct place place;
	char *rest; /* what of its path does not exist, or NULL */
	struct ancestry ancestry;
	struct mount_position position; /* path NULL: it cannot be told */
};

struct neighbour {
	const char *what;
	const char *path;
	bool above; /* only what is or contains it is refused */
};

static void sight_done(struct sight *sight)
{
	place_done(&sight->place);
	free(sight->rest);
	ancestry_done(&sight->ancestry);
	mount_position_done(&sight->position);
}

static struct place_step step_of(const struct place *place)
{
	return (struct place_step){.device = place->device, .inode = place->inode};
}

static int unavailable(struct fault *fault, const struct home_where *where, const char *why)
{
	_cleanup_free_ char *path = display(where->path);

	return fault_void(fault, CAUSE_session_unavailable, "the Trials home of %s, %s, %s",
			  where->product, path, why);
}

static int sign_in_first(struct fault *fault, const struct home_where *where, const char *why)
{
	_cleanup_free_ char *path = display(where->path);
	int r = fault_void(fault, CAUSE_session_unavailable,
			   "%s has no login for Trials: %s %s; sign in once with: %s",
			   where->product, path, why, where->sign_in);

	if (r < 0)
		return r;
	return where->name ? fault_hint(fault, SESSION_LOGIN_HINT, where->name)
			   : fault_hint(fault, "%s", where->sign_in);
}

/* --- Where it is ---------------------------------------------------------------------------------- */

static const size_t where_texts[] = {
	offsetof(struct home_where, product),	     offsetof(struct home_where, sign_in),
	offsetof(struct home_where, path),	     offsetof(struct home_where, production),
	offsetof(struct home_where, home),	     offsetof(struct home_where, state_folder),
	offsetof(struct home_where, runtime_folder), offsetof(struct home_where, config_folder),
	offsetof(struct home_where, login),	     offsetof(struct home_where, name),
};

static char **text_at(struct home_where *where, size_t i)
{
	return (char **)(void *)((char *)where + where_texts[i]);
}

static void names_free(const char *const *names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free((char *)names[i]);
	free((void *)names);
}

static int names_copy(const char *const **ret_copy, const char *const *names, size_t count)
{
	char **copy = calloc(count + 1, sizeof(*copy));

	*ret_copy = (const char *const *)copy;
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = strdup(names[i]);
		if (!copy[i])
			return -ENOMEM;
	}
	return copy ? 0 : -ENOMEM;
}

int home_where_copy(struct home_where **ret_copy, const struct home_where *where)
{
	struct home_where *copy = malloc(sizeof(*copy));
	bool failed = false;

	if (!copy)
		return -ENOMEM;
	*copy = *where;
	for (size_t i = 0; i < ARRAY_SIZE(where_texts); i++) {
		char **text = text_at(copy, i);

		*text = *text ? strdup(*text) : NULL;
		failed = failed || (!*text && *text_at((struct home_where *)where, i));
	}
	failed = names_copy(&copy->apart, where->apart, where->apart_count) < 0 || failed;
	failed = names_copy(&copy->keep, where->keep, where->keep_count) < 0 || failed;
	if (failed) {
		home_where_free(copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

struct home_where *home_where_free(struct home_where *where)
{
	if (!where)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(where_texts); i++)
		free(*text_at(where, i));
	names_free(where->apart, where->apart_count);
	names_free(where->keep, where->keep_count);
	free(where);
	return NULL;
}

/* --- Mounts --------------------------------------------------------------------------------------- */

static int mounts_read(struct mount_table *ret_table)
{
	_cleanup_free_ char *text = NULL;
	int r = text_file_read("/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &text, NULL);

	return r < 0 ? r : mount_table_parse(ret_table, text);
}

static int find_position(struct sight *sight, const struct mount_table *mounts)
{
	int r = mount_position(mounts, &sight->place, &sight->position);

	return r == -ENOENT ? 0 : r;
}

static bool same_file_system(const struct mount_position *a, const struct mount_position *b)
{
	return a->path && b->path && a->major == b->major && a->minor == b->minor;
}

static bool strictly_within(const char *path, const char *folder)
{
	return path_within(path, folder) && strcmp(path, folder) != 0;
}

/* --- Comparing ------------------------------------------------------------------------------------ */

static bool contains(const struct sight *home, const struct sight *other)
{
	if (ancestry_has(&other->ancestry, step_of(&home->place)))
		return true;
	if (same_file_system(&home->position, &other->position) &&
	    path_within(other->position.path, home->position.path))
		return true;
	/* The way to it leads through the home, whatever is at its end. */
	for (size_t i = 0; i < other->place.link_count; i++)
		if (path_within(other->place.links[i].location, home->place.canonical))
			return true;
	return false;
}

static bool lies_in(const struct sight *home, const struct sight *other)
{
	return ancestry_has(&home->ancestry, step_of(&other->place)) ||
	       (same_file_system(&home->position, &other->position) &&
		path_within(home->position.path, other->position.path));
}

/* Whether the home, a part of it, or something around it is mounted somewhere below the other. */
static bool is_shown_in(const struct sight *home, const struct sight *other,
			const struct mount_table *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->mounts[i];
		const struct mount_position root = {mount->major, mount->minor, mount->root};

		if (strictly_within(mount->point, other->place.canonical) &&
		    same_file_system(&root, &home->position) &&
		    (path_within(home->position.path, root.path) ||
		     path_within(root.path, home->position.path)))
			return true;
	}
	return false;
}

static int refuse_neighbour(struct fault *fault, const struct home_where *where,
			    const struct neighbour *neighbour)
{
	_cleanup_free_ char *path = display(neighbour->path);
	_cleanup_free_ char *why = NULL;
	int r;

	if (asprintf(&why, "is %s%s (%s): it is wiped before each Trial, so it must be apart",
		     neighbour->above ? "or contains " : "the same as, contains or lies in ",
		     neighbour->what, path) < 0) {
		why = NULL;
		return -ENOMEM;
	}
	r = unavailable(fault, where, why);
	return r < 0 ? r
		     : fault_hint(fault, "move it to a folder of its own, and sign in there: %s%s",
				  where->name ? "trialctl login " : "",
				  where->name ? where->name : where->sign_in);
}

static int neighbour_look(struct sight *sight, const struct neighbour *neighbour,
			  const struct mount_table *mounts)
{
	int r = place_open_existing(&sight->place, neighbour->path, &sight->rest, NULL);

	if (r == 0)
		r = place_ancestry(&sight->place, &sight->ancestry);
	return r < 0 ? r : find_position(sight, mounts);
}

static int neighbour_check(const struct sight *home, const struct neighbour *neighbour,
			   const struct mount_table *mounts, const struct home_where *where,
			   struct fault *fault)
{
	_cleanup_(sight_done) struct sight other = {.place = PLACE_INIT};
	_cleanup_free_ char *path = NULL, *why = NULL;
	int r = neighbour_look(&other, neighbour, mounts);

	if (r == -ENOENT)
		return 0; /* links without an end: nothing is there, and nothing can be made */
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0) {
		path = display(neighbour->path);
		if (asprintf(&why, "cannot be compared with %s (%s): %s", neighbour->what, path,
			     strerror(-r)) < 0) {
			why = NULL;
			return -ENOMEM;
		}
		return unavailable(fault, where, why);
	}
	if (contains(home, &other) ||
	    (!neighbour->above && !other.rest &&
	     (lies_in(home, &other) || is_shown_in(home, &other, mounts))))
		return refuse_neighbour(fault, where, neighbour);
	return 0;
}

static int neighbours_check(const struct sight *home, const struct mount_table *mounts,
			    const struct home_where *where, struct fault *fault)
{
	const struct neighbour neighbours[] = {
		{"production's own home", where->production, false},
		{"trialsd's state folder", where->state_folder, false},
		{"trialsd's runtime folder", where->runtime_folder, false},
		{"trialsd's configuration", where->config_folder, false},
		{"the person's home folder", where->home, true},
		{"the root folder", "/", true},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(neighbours); i++)
		if (neighbours[i].path)
			r = neighbour_check(home, &neighbours[i], mounts, where, fault);
	for (size_t i = 0; r == 0 && i < where->apart_count; i++) {
		const struct neighbour more = {"a folder of production's", where->apart[i], false};

		r = neighbour_check(home, &more, mounts, where, fault);
	}
	return r;
}

/* --- Opening -------------------------------------------------------------------------------------- */

/* The folders above one that may not be searched: those of the folder in which its name is. */
static int ancestry_by_parent(struct sight *home)
{
	_cleanup_(place_done) struct place parent = PLACE_INIT;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ char *path = strdup(home->place.canonical);
	struct place_step *steps;
	struct stat st;
	char *slash;
	int r;

	slash = path ? strrchr(path, '/') : NULL;
	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	r = place_open(&parent, "home", path[0] ? path : "/", NULL, &ignored);
	if (r)
		return r < 0 ? r : -EACCES;
	if (fstatat(parent.fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (st.st_dev != home->place.device || st.st_ino != home->place.inode)
		return -EAGAIN;
	r = place_ancestry(&parent, &home->ancestry);
	if (r < 0)
		return r;
	steps = realloc(home->ancestry.steps, (home->ancestry.count + 1) * sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	home->ancestry.steps = steps;
	steps[home->ancestry.count++] = step_of(&home->place);
	return 0;
}

static int sight_of_home(struct sight *home, const struct mount_table *mounts,
			 const struct home_where *where, struct fault *fault)
{
	_cleanup_fault_ struct fault found = FAULT_INIT;
	bool missing;
	int r = place_open(&home->place, "home", where->path, &missing, &found);

	if (r == FAULT)
		return missing ? sign_in_first(fault, where, "does not exist")
			       : fault_void(fault, CAUSE_session_unavailable, "%s: %s",
					    where->product, found.message);
	if (r < 0)
		return r;
	if (!S_ISDIR(home->place.mode))
		return unavailable(fault, where, "is not a folder");
	if (home->place.uid != getuid())
		return unavailable(fault, where, "belongs to another user");
	r = place_ancestry(&home->place, &home->ancestry);
	if (r == -EACCES)
		r = ancestry_by_parent(home);
	return r < 0 ? r : find_position(home, mounts);
}

static int mount_id(int fd, uint64_t *ret_id)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*ret_id = st.stx_mnt_id;
	return 0;
}

/* By `..` of the home: the wipe sets things aside there, whatever the path says. */
static int parent_open(struct home_folder *folder, const struct home_where *where,
		       struct fault *fault)
{
	uint64_t here = 0, there = 0;
	struct stat st;
	int r;

	folder->parent_fd = openat(folder->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->parent_fd < 0 || fstat(folder->parent_fd, &st) < 0)
		return -errno;
	r = mount_id(folder->fd, &here);
	if (r == 0)
		r = mount_id(folder->parent_fd, &there);
	if (r < 0)
		return r;
	if (here != there)
		return unavailable(fault, where,
				   "is itself a mount: nothing can be set aside from it");
	if (st.st_uid != getuid() || (st.st_mode & 0022)) {
		r = unavailable(fault, where, "is in a folder that others can write to");
		return r < 0 ? r : fault_hint(fault, "chmod go-w the folder that it is in");
	}
	return 0;
}

/* By the descriptor of the walk, so that what was compared is what is opened. */
static int private_open(const struct place *place, struct home_folder *folder)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	if ((place->mode & 07777) != 0700 && chmod(path, 0700) < 0)
		return -errno;
	folder->fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder->fd < 0 ? -errno : 0;
}

static int folder_fill(struct home_folder *folder, struct sight *home,
		       const struct mount_table *mounts)
{
	struct statx st;

	folder->device = home->place.device;
	folder->inode = home->place.inode;
	for (size_t i = 0; i < mounts->count && !folder->mounted; i++)
		if (strictly_within(mounts->mounts[i].point, home->place.canonical)) {
			folder->mounted = strdup(mounts->mounts[i].point);
			if (!folder->mounted)
				return -ENOMEM;
		}
	/* Subvolumes have device numbers of their own, which locks do not. */
	if (home->position.path) {
		folder->lock_major = home->position.major;
		folder->lock_minor = home->position.minor;
	} else if (statx(folder->fd, "", AT_EMPTY_PATH, STATX_INO, &st) == 0) {
		folder->lock_major = st.stx_dev_major;
		folder->lock_minor = st.stx_dev_minor;
	}
	folder->path = steal(&home->place.canonical);
	return 0;
}

int home_folder_open(struct home_folder *ret_folder, const struct home_where *where,
		     struct fault *ret_fault)
{
	_cleanup_(home_folder_done) struct home_folder folder = HOME_FOLDER_INIT;
	_cleanup_(mount_table_done) struct mount_table mounts = {0};
	_cleanup_(sight_done) struct sight home = {.place = PLACE_INIT};
	int r = mounts_read(&mounts);

	if (r == 0)
		r = sight_of_home(&home, &mounts, where, ret_fault);
	if (r == 0)
		r = neighbours_check(&home, &mounts, where, ret_fault);
	if (r == 0)
		r = private_open(&home.place, &folder);
	if (r == 0)
		r = parent_open(&folder, where, ret_fault);
	if (r == 0)
		r = folder_fill(&folder, &home, &mounts);
	if (r == -EACCES || r == -EPERM || r == -EROFS || r == -EOPNOTSUPP || r == -EAGAIN) {
		_cleanup_free_ char *why = NULL;

		if (asprintf(&why, "cannot be looked at: %s", strerror(-r)) < 0) {
			why = NULL;
			return -ENOMEM;
		}
		return unavailable(ret_fault, where, why);
	}
	if (r == 0) {
		*ret_folder = folder;
		folder = HOME_FOLDER_INIT;
	}
	return r;
}

void home_folder_done(struct home_folder *folder)
{
	fd_close(folder->fd);
	fd_close(folder->parent_fd);
	free(folder->path);
	free(folder->mounted);
	*folder = HOME_FOLDER_INIT;
}

bool home_folder_same(const struct home_folder *a, const struct home_folder *b)
{
	return a->device == b->device && a->inode == b->inode;
}

int home_login_check(const struct home_folder *folder, const struct home_where *where,
		     struct fault *ret_fault)
{
	const char *why = NULL;
	char text[NAME_MAX + 64];
	struct stat st;

	if (fstatat(folder->fd, where->login, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return -errno;
		snprintf(text, sizeof(text), "holds no %s", where->login);
		return sign_in_first(ret_fault, where, text);
	}
	if (S_ISLNK(st.st_mode))
		why = "a symbolic link";
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_nlink != 1)
		why = "a file with a second name (hard link)";
	else if (st.st_uid != getuid())
		why = "a file of another user";
	if (!why)
		return 0;
	snprintf(text, sizeof(text), "has as %s %s", where->login, why);
	return sign_in_first(ret_fault, where, text);
}
