/* SPDX-License-Identifier: MIT */
#include "repository_git.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * What git needs of a repository that its tree does not hold, and no more.
 *
 * A git folder in the tree, which is the rule, needs nothing. Where files have to be read to know
 * more (a pointer, alternates, submodules), a confined child reads them (repository_ask), since an
 * earlier Trial may have written them; what it names is opened here and compared with what it saw.
 *
 * A linked worktree shares a git folder, GIT, with others. Who may write in it may make GIT's
 * commondir or config and so run commands in every one of its checkouts, on the host. So GIT is
 * made up, in memory of the sandbox's own: what a worktree writes for all (objects, refs, logs) and
 * its own worktrees/NAME are bound at their names, and every other name is a link to the real GIT,
 * which is bound read-only beside them as a whole, so that what the host changes is seen at once:
 * packed-refs above all, which git replaces and then removes the refs that are in it.
 *
 * Two things git does in GIT itself. It makes packed-refs.lock to delete any ref, also those that a
 * rebase or cherry-pick leaves behind; it looks through at most five links for where, so the sixth
 * lies in our folder and the lock is made there. And it replaces packed-refs, which must not happen
 * to the link (the refs in it would be removed from the host, and the file with them at the end):
 * a folder of the name of git's new file stands in its way. So a branch or tag cannot be deleted,
 * and refs not packed; all else works. Should another git look further, it finds GIT read-only.
 *
 * Alternates name no way back, as a pointer does: a Trial may write any path there, for the next
 * one to see. So a folder is bound for it only when all that it holds is what git keeps objects in,
 * read-only, and the outcome says so.
 */

#define OTHERS_MAX 256	      /* other worktrees that are shown */
#define OBJECT_NAMES_MAX 4096 /* looked at, of a folder of objects */
#define OWNERS_MAX 1000	      /* names looked at, of each folder */
#define OWNERS_TOLD 5
#define OWN_BYTES (4u * 1024u * 1024u) /* what git may write in a made up folder */

#define REAL ".shared" /* where the real one is seen */
#define PACKED_LINKS 5 /* git's own limit, MAXDEPTH of its lockfile.c */

#define FIELD "repository"

void repository_git_done(struct repository_git *git)
{
	free(git->common);
	free(git->name);
	fd_close(git->common_fd);
	*git = REPOSITORY_GIT_INIT;
}

struct need {
	struct bound_list *bounds;
	struct plan *plan;
	const struct plan_host *host;
	struct repository_git *git;
	struct fault *fault;
	bool writable;
	bool excludes; /* what the repository hides is asked for */
};

static int missing_fault(struct fault *fault, const char *what, const char *path, int error)
{
	_cleanup_free_ char *shown = display(path);

	return fault_set(fault, ERROR_refused, FIELD ": %s %s: %s", what, shown, strerror(error));
}

/*
 * Of a linked worktree's folder, GIT/worktrees/NAME: how the tree and it find each other again. Of
 * what is spelled in another way nothing is known that would mend it. Where the pointer is forged it
 * would be wrong to follow it, so that each hint says what must have happened.
 */
static int worktree_hint(const struct git_layout *layout, const struct place *tree,
			 struct fault *fault)
{
	_cleanup_free_ char *common = git_worktree_common(layout->path);
	_cleanup_free_ char *shown = common ? display(common) : NULL;
	_cleanup_free_ char *path = display(tree->canonical);
	size_t length = shown ? strlen(shown) : 0;

	if (!shown || !path)
		return FAULT;
	/* Of a bare repository it is that folder itself. */
	if (length > strlen("/.git") && strcmp(shown + length - strlen("/.git"), "/.git") == 0)
		shown[length - strlen("/.git")] = '\0';
	if (layout->problem == GIT_PROBLEM_foreign)
		return fault_hint(fault, "if it was moved here: git -C '%s' worktree repair '%s'",
				  shown, path);
	if (layout->problem == GIT_PROBLEM_pruned)
		return fault_hint(fault,
				  "there is nothing to repair (git worktree prune or remove?): "
				  "git -C '%s' worktree add FOLDER makes another",
				  shown);
	return fault_hint(fault,
			  "if the main checkout was moved: git -C MAIN worktree repair '%s', where "
			  "MAIN is its place now",
			  path);
}

static int problem_fault(const struct git_layout *layout, const struct place *tree,
			 struct fault *fault)
{
	_cleanup_free_ char *shown = display(layout->path);
	int error = layout->has.error ? (int)layout->error : EINVAL;
	int r;

	switch (layout->problem) {
	case GIT_PROBLEM_pointer:
		return fault_set(fault, ERROR_refused,
				 FIELD ": %s is a file, but does not say \"gitdir: PATH\"", shown);
	case GIT_PROBLEM_missing:
	case GIT_PROBLEM_pruned:
		r = missing_fault(fault, "its .git names", layout->path, error);
		return r < 0 ? r : worktree_hint(layout, tree, fault);
	case GIT_PROBLEM_foreign:
		r = fault_set(
			fault, ERROR_refused,
			FIELD
			": its .git names %s, which is not the git folder of this tree: it does not name it in turn",
			shown);
		return r < 0 ? r : worktree_hint(layout, tree, fault);
	case GIT_PROBLEM_common:
		return fault_set(
			fault, ERROR_refused,
			FIELD
			": %s is not what git makes for a worktree: its common folder is not the one that it lies in",
			shown);
	case GIT_PROBLEM_alternate:
		r = missing_fault(fault, "its objects are in part in", layout->path, error);
		return r < 0 ? r
			     : fault_hint(
				       fault,
				       "bring that folder back, or copy the objects: git repack -a -d, and remove objects/info/alternates");
	case GIT_PROBLEM_many:
		return fault_set(fault, ERROR_refused,
				 FIELD ": it borrows objects of too many others (%s)", shown);
	default:
		return missing_fault(fault, "cannot read", layout->path, error);
	}
}

/* Whether a tree that the launch binds at its own path has this place in it. */
static bool is_there(const struct bound_list *bounds, const struct ancestry *ancestry)
{
	for (size_t i = 0; i < bounds->count; i++) {
		const struct place *place = &bounds->items[i].place;

		if (bounds->items[i].own_path &&
		    ancestry_has(ancestry, (struct place_step){place->device, place->inode}))
			return true;
	}
	return false;
}

static int place_is_there(const struct bound_list *bounds, const struct place *place)
{
	_cleanup_(ancestry_done) struct ancestry ancestry = {0};
	int r = place_ancestry(place, &ancestry);

	return r < 0 ? r : is_there(bounds, &ancestry);
}

/* Takes place, even when it fails. destination NULL: its own path. */
static struct bound *need_bind(struct need *need, const char *what, struct place *place,
			       const char *destination, bool writable)
{
	struct bound_list *bounds = need->bounds;
	struct bound *items = realloc(bounds->items, (bounds->count + 1) * sizeof(*items));
	struct bound *bound;

	if (!items) {
		place_done(place);
		return NULL;
	}
	bounds->items = items;
	bound = &items[bounds->count++];
	*bound = (struct bound){.place = *place, .writable = writable};
	bound->given = bound->place.canonical;
	*place = PLACE_INIT;
	if (asprintf(&bound->field, FIELD " (%s)", what) < 0)
		bound->field = NULL;
	bound->destination = strdup(destination ? destination : bound->place.canonical);
	if (!bound->field || !bound->destination ||
	    place_ancestry(&bound->place, &bound->ancestry) < 0)
		return NULL;
	bound->own_path = !strcmp(bound->destination, bound->place.canonical);
	return bound;
}

/* What is at exactly this path below GIT: a link there is refused. 1: it is missing. */
static int open_part(struct need *need, const char *name, mode_t type, struct place *ret_place)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ char *shown = NULL;
	bool missing;
	int r;

	if (asprintf(&path, "%s/%s", need->git->common, name) < 0)
		return -ENOMEM;
	r = place_open(ret_place, FIELD, path, &missing, need->fault);
	if (r == FAULT && missing) {
		fault_done(need->fault);
		return -ENOENT;
	}
	if (r != 0)
		return r;
	if (!strcmp(ret_place->canonical, path) && (ret_place->mode & S_IFMT) == type)
		return 0;
	place_done(ret_place);
	shown = display(path);
	return fault_set(need->fault, ERROR_refused,
			 FIELD ": %s is a symbolic link, or not what git has there", shown);
}

static int bind_part(struct need *need, const char *name, bool required)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *what = NULL;
	int r = open_part(need, name, S_IFDIR, &place);

	if (r == -ENOENT && required) {
		if (asprintf(&what, "%s/%s", need->git->common, name) < 0)
			return -ENOMEM;
		return missing_fault(need->fault, "git needs", what, ENOENT);
	}
	if (r == -ENOENT)
		return 0;
	if (r != 0)
		return r;
	if (asprintf(&what, "git's %s", name) < 0)
		return -ENOMEM;
	return need_bind(need, what, &place, NULL, need->writable) ? 0 : -ENOMEM;
}

/* HEAD itself: git takes no folder for its own whose HEAD is a link. */
static int bind_head(struct need *need)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r = open_part(need, "HEAD", S_IFREG, &place);

	if (r == -ENOENT)
		return 0;
	return r ? r : need_bind(need, "git's HEAD", &place, NULL, false) ? 0 : -ENOMEM;
}

/*
 * The file alternates is in it. Mounted over itself: what makes that safe stands at rule 8 of
 * destination.c.
 */
static int bind_information(struct need *need)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	struct bound *bound;
	int r;

	if (!need->writable)
		return 0;
	r = open_part(need, "objects/info", S_IFDIR, &place);
	if (r == -ENOENT)
		return 0;
	if (r != 0)
		return r;
	bound = need_bind(need, "git's objects/info", &place, NULL, false);
	if (!bound)
		return -ENOMEM;
	bound->pinned = true;
	return text_list_add(&need->plan->pinned, bound->destination);
}

/* The worktree's own folder is what was bound last; the links that spell it go with it. */
static void keep_folder(struct need *need, struct place *folder)
{
	struct bound *bound = &need->bounds->items[need->bounds->count - 1];

	bound->descriptor_index = &need->plan->git_folder;
	bound->place.links = steal(&folder->links);
	bound->place.link_count = folder->link_count;
	folder->link_count = 0;
}

static int bind_common(struct need *need, struct place *common, struct place *folder)
{
	_cleanup_free_ char *real = NULL;
	_cleanup_free_ char *name = NULL;
	int r;

	if (asprintf(&real, "%s/" REAL, need->git->common) < 0)
		return -ENOMEM;
	if (asprintf(&name, "worktrees/%s", need->git->name) < 0)
		return -ENOMEM;
	if (!need_bind(need, "git folder", common, real, false))
		return -ENOMEM;
	r = bind_part(need, "objects", true);
	if (r == 0)
		r = bind_part(need, "refs", true);
	if (r == 0)
		r = bind_part(need, "logs", false);
	if (r == 0)
		r = bind_part(need, "reftable", false);
	if (r == 0)
		r = bind_part(need, "lfs", false);
	if (r == 0)
		r = bind_part(need, name, true);
	if (r == 0)
		keep_folder(need, folder);
	if (r == 0)
		r = bind_information(need);
	return r ? r : bind_head(need);
}

/* folder is GIT/worktrees/NAME, by its canonical name and by its inode. */
static int need_linked(struct need *need, struct place *folder)
{
	struct repository_git *git = need->git;
	_cleanup_(place_done) struct place common = PLACE_INIT;
	_cleanup_free_ char *path = strdup(folder->canonical);
	const struct place *tree = &need->bounds->items[0].place;
	struct stat above;
	char *slash;
	int r;

	if (!path)
		return -ENOMEM;
	slash = strrchr(path, '/');
	git->name = strdup(slash + 1);
	*slash = '\0';
	slash = strrchr(path, '/');
	if (!git->name)
		return -ENOMEM;
	if (!slash || slash == path || strcmp(slash, "/worktrees") != 0)
		return missing_fault(need->fault, "not a worktree's git folder:", folder->canonical,
				     EINVAL);
	*slash = '\0';
	r = place_open(&common, FIELD, path, NULL, need->fault);
	if (r != 0)
		return r;
	if (fstatat(folder->fd, "../..", &above, 0) < 0 || above.st_dev != common.device ||
	    above.st_ino != common.inode || strcmp(path, common.canonical) != 0)
		return missing_fault(need->fault, "was moved while it was looked at:", path,
				     ESTALE);
	if (path_within(tree->canonical, path)) {
		_cleanup_free_ char *shown = display(path);

		r = fault_set(need->fault, ERROR_refused,
			      FIELD ": it lies in its own git folder, %s, with all others in it",
			      shown);
		return r < 0 ? r : fault_hint(need->fault, "git worktree move, to beside it");
	}
	git->common = steal(&path);
	need->plan->git_shared = true;
	git->common_fd = openat(common.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (git->common_fd < 0)
		return missing_fault(need->fault, "cannot read", git->common, errno);
	return bind_common(need, &common, folder);
}

/* A git folder of its own, elsewhere: all of it, as one in the tree. */
static int need_separate(struct need *need, struct place *folder)
{
	struct bound *bound = need_bind(need, "git folder", folder, NULL, need->writable);

	if (!bound)
		return -ENOMEM;
	bound->descriptor_index = &need->plan->git_folder;
	return 0;
}

static int need_folder(struct need *need, const struct git_layout *layout)
{
	_cleanup_(place_done) struct place folder = PLACE_INIT;
	int r = place_open(&folder, FIELD, layout->folder, NULL, need->fault);

	if (r != 0)
		return r;
	if (folder.device != layout->device || folder.inode != layout->inode)
		return missing_fault(need->fault,
				     "was moved while it was looked at:", layout->folder, ESTALE);
	r = place_is_there(need->bounds, &folder);
	if (r != 0)
		return r < 0 ? r : 0;
	return layout->kind == GIT_linked ? need_linked(need, &folder)
					  : need_separate(need, &folder);
}

static bool is_of_objects(const char *name)
{
	static const char *const names[] = {".", "..", "pack", "info"};
	static const char hexadecimal[] = "0123456789abcdef";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	if (strlen(name) == 2 && strspn(name, hexadecimal) == 2)
		return true;
	/* What git leaves while it receives or maintains. */
	return !strncmp(name, "tmp_obj", 7) || !strncmp(name, "incoming-", 9) ||
	       !strcmp(name, "maintenance.lock");
}

/* 1: it holds nothing but what git keeps objects in; -errno. */
static int holds_objects(const struct place *place)
{
	int fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t count = 0;
	bool any = false;

	if (!folder) {
		int error = -errno;

		fd_close(fd);
		return error;
	}
	while ((entry = readdir(folder)) && ++count <= OBJECT_NAMES_MAX &&
	       is_of_objects(entry->d_name))
		any |= !strcmp(entry->d_name, "pack") || !strcmp(entry->d_name, "info");
	closedir(folder);
	return !entry && any;
}

static int need_alternate(struct need *need, const char *path)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_free_ char *shown = display(path);
	int r = place_open(&place, FIELD, path, NULL, need->fault);

	if (r != 0)
		return r;
	r = S_ISDIR(place.mode) ? holds_objects(&place) : 0;
	if (r < 0)
		return missing_fault(need->fault, "cannot read", path, -r);
	if (r == 0)
		return fault_set(
			need->fault, ERROR_refused,
			FIELD
			": its objects/info/alternates leads to %s, which is not only objects of git's",
			shown);
	r = place_is_there(need->bounds, &place);
	if (r != 0)
		return r < 0 ? r : 0;
	r = plan_note(need->plan,
		      FIELD
		      ": objects of another one are bound read-only, as its alternates say: %s",
		      shown);
	if (r == 0 && !need_bind(need, "alternates", &place, NULL, false))
		r = -ENOMEM;
	return r;
}

/* Whether there is more to know than names and kinds can tell. */
static int is_asked(const struct place *tree, bool *ret_asked, struct fault *fault)
{
	static const char *const names[] = {".git/objects/info/alternates", ".git/modules"};
	struct stat st;

	if (fstatat(tree->fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		_cleanup_free_ char *shown = display(tree->canonical);
		int r = fault_set(fault, ERROR_refused,
				  FIELD ": %s/.git is a symbolic link, which is not followed",
				  shown);

		return r < 0 ? r : fault_hint(fault, "use git worktree add for a second checkout");
	}
	*ret_asked = !S_ISDIR(st.st_mode);
	for (size_t i = 0; !*ret_asked && i < ARRAY_SIZE(names); i++)
		*ret_asked = fstatat(tree->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 ||
			     (errno != ENOENT && errno != ENOTDIR);
	return 0;
}

static int need_asked(struct need *need, const struct place *tree)
{
	struct message *message = NULL;
	struct git_layout layout;
	_cleanup_free_ char *shown = display(tree->canonical);
	int r;

	r = repository_ask(need->host->keeper, tree->fd, tree->canonical, &message, &layout);
	if (r < 0)
		return fault_set(need->fault, ERROR_unavailable,
				 FIELD
				 ": it could not be found out where %s has its git folder: %s",
				 shown, strerror(-r));
	if (layout.problem != GIT_PROBLEM_none)
		r = problem_fault(&layout, tree, need->fault);
	else if (layout.kind != GIT_plain)
		r = need_folder(need, &layout);
	for (size_t i = 0; r == 0 && i < layout.alternates.count; i++)
		r = need_alternate(need, layout.alternates.items[i]);
	if (r == 0 && need->excludes && layout.excludes.count > 0)
		r = repository_excludes_read(need->plan, need->host, tree,
					     layout.excludes.items[0]);
	message_free(message);
	return r;
}

/* Other people's files, which belong to nobody inside: the first of them in one folder. */
static int note_owners(struct need *need, const struct place *tree, const char *name)
{
	int fd = openat(tree->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t looked = 0, told = 0;
	int r = 0;

	if (!folder) {
		fd_close(fd);
		return 0;
	}
	while (r == 0 && told <= OWNERS_TOLD && looked++ < OWNERS_MAX &&
	       (entry = readdir(folder))) {
		_cleanup_free_ char *shown = NULL;
		struct stat st;

		if (!strcmp(entry->d_name, "..") ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_uid == need->host->uid)
			continue;
		shown = display(entry->d_name);
		if (told++ == OWNERS_TOLD)
			r = plan_note(need->plan, FIELD ": more files in %s belong to others",
				      name);
		else
			r = plan_note(need->plan,
				      FIELD ": %s in %s belongs to uid %u, and to nobody inside",
				      shown, name, (unsigned int)st.st_uid);
	}
	closedir(folder);
	return r;
}

int repository_git_open(struct repository_git *ret_git, struct bound_list *bounds,
			struct plan *plan, const struct plan_host *host, bool excludes,
			struct fault *ret_fault)
{
	struct need need = {.bounds = bounds,
			    .plan = plan,
			    .host = host,
			    .git = ret_git,
			    .fault = ret_fault,
			    .writable = plan->repository_writable};
	/* bounds moves when it grows; what is of the tree does not. */
	struct place tree;
	struct stat st;
	bool asked = false;
	int r;

	if (!plan->repository)
		return 0;
	need.excludes = excludes;
	tree = bounds->items[0].place;
	r = note_owners(&need, &tree, ".");
	if (r == 0)
		r = note_owners(&need, &tree, ".git");
	if (r == 0)
		r = is_asked(&tree, &asked, ret_fault);
	asked |= excludes && fstatat(tree.fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
	return r == 0 && asked ? need_asked(&need, &tree) : r;
}

static bool is_own(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Read-only, for git to see what others have checked out and need. */
static int add_others(const struct repository_git *git, struct plan *plan)
{
	int fd = openat(git->common_fd, "worktrees",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t count = 0;
	int r = 0;

	if (!folder) {
		fd_close(fd);
		return -EIO;
	}
	while (r == 0 && (entry = readdir(folder)) && count < OTHERS_MAX) {
		_cleanup_free_ char *at = NULL;
		_cleanup_free_ char *text = NULL;

		if (is_own(entry->d_name) || !strcmp(entry->d_name, git->name))
			continue;
		count++;
		if (asprintf(&at, "%s/worktrees/%s", git->common, entry->d_name) < 0)
			at = NULL;
		if (asprintf(&text, "../" REAL "/worktrees/%s", entry->d_name) < 0)
			text = NULL;
		if (!at || !text || !plan_add(plan, PLAN_SYMLINK, at, text))
			r = -ENOMEM;
	}
	closedir(folder);
	return r;
}

static int add_link(const struct repository_git *git, struct plan *plan, const char *name,
		    const char *text)
{
	_cleanup_free_ char *at = NULL;

	if (asprintf(&at, "%s/%s", git->common, name) < 0)
		return -ENOMEM;
	return plan_add(plan, PLAN_SYMLINK, at, text) ? 0 : -ENOMEM;
}

static int add_packed(const struct repository_git *git, struct plan *plan)
{
	static const char *const guards[] = {"packed-refs.new", ".packed-refs.5.new"};
	char name[32] = "packed-refs", next[32];
	int r = 0;

	for (unsigned int i = 1; r == 0 && i <= PACKED_LINKS; i++) {
		snprintf(next, sizeof(next), ".packed-refs.%u", i);
		r = add_link(git, plan, name, next);
		memcpy(name, next, sizeof(name));
	}
	if (r == 0)
		r = add_link(git, plan, name, REAL "/packed-refs");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(guards); i++) {
		_cleanup_free_ char *guard = NULL;

		if (asprintf(&guard, "%s/%s", git->common, guards[i]) < 0)
			return -ENOMEM;
		r = plan_add(plan, PLAN_DIRECTORY, guard, NULL) ? 0 : -ENOMEM;
	}
	return r;
}

int repository_git_compose(const struct repository_git *git, struct plan *plan,
			   struct fault *ret_fault)
{
	/* Also those that are not there: made inside, they would be gone with the sandbox. */
	static const char *const names[] = {"config",	"config.worktree", "info",
					    "hooks",	"shallow",	   "index",
					    "branches", "description"};
	struct plan_operation *operation;
	int r = 0;

	if (!git->common)
		return 0;
	for (size_t i = 0; i < plan->operation_count; i++)
		if (path_within(plan->operations[i].destination, git->common))
			return missing_fault(ret_fault, "nothing can be made up inside at",
					     git->common, EEXIST);
	operation = plan_add(plan, PLAN_TMPFS, git->common, NULL);
	if (!operation)
		return -ENOMEM;
	operation->size = OWN_BYTES;
	operation->mode = 0755;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		char text[64];

		snprintf(text, sizeof(text), REAL "/%s", names[i]);
		r = add_link(git, plan, names[i], text);
	}
	if (r == 0)
		r = add_packed(git, plan);
	return r == 0 ? add_others(git, plan) : r;
}
