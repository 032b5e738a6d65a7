/* SPDX-License-Identifier: MIT */
#include "queue/repository_places.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/grading.h"

/* What is not there is left out. That it could not be looked at now is no reason to go without a lease. */
static int left_out(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
}

/* --- A git folder elsewhere ----------------------------------------------------------------------- */

/*
 * What .git says, where it is a file. A Trial may have written it: so it is opened without waiting, only
 * this much is read, and all that comes of it is which Trials run at the same time. What is bound of it is
 * found by the plan, in another way.
 */
static int pointer_read(int tree_fd, char *buffer, size_t size)
{
	_cleanup_close_ int fd = openat(tree_fd, ".git",
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	n = pread(fd, buffer, size - 1, 0);
	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	if (memchr(buffer, '\0', (size_t)n))
		return -EBADMSG;
	while (n > 0 && (buffer[n - 1] == '\n' || buffer[n - 1] == '\r'))
		buffer[--n] = '\0';
	return 0;
}

static int folder_open(const char *path, struct place *ret_place)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = place_open(ret_place, "repository", path, NULL, &fault);

	if (r == 0 && !S_ISDIR(ret_place->mode))
		place_done(ret_place);
	return r == FAULT || (r == 0 && ret_place->fd < 0) ? -ENOENT : r;
}

/* 0 and the folder; -ENOENT; -errno. */
static int git_folder_open(const struct place *tree, struct place *ret_place)
{
	static const char word[] = "gitdir: ";
	char text[sizeof(word) + PATH_BYTES_MAX] = "";
	_cleanup_free_ char *path = NULL;
	const char *named = text + strlen(word);
	char *slash;
	int r = pointer_read(tree->fd, text, sizeof(text));

	if (left_out(r) < 0)
		return r;
	if (r < 0 || strncmp(text, word, strlen(word)) != 0)
		return -ENOENT;
	if (asprintf(&path, "%s%s%s", named[0] == '/' ? "" : tree->canonical,
		     named[0] == '/' ? "" : "/", named) < 0)
		return -ENOMEM;
	r = folder_open(path, ret_place);
	if (r < 0)
		return r;
	/* GIT/worktrees/NAME: what is shared is GIT. */
	free(path);
	path = strdup(ret_place->canonical);
	if (!path) {
		place_done(ret_place);
		return -ENOMEM;
	}
	slash = strrchr(path, '/');
	*slash = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash == path || strcmp(slash, "/worktrees") != 0)
		return 0;
	*slash = '\0';
	place_done(ret_place);
	return folder_open(path, ret_place);
}

int repository_git_folder(const char *repository, char **ret_path)
{
	_cleanup_(place_done) struct place tree = PLACE_INIT, folder = PLACE_INIT;
	int r = folder_open(repository, &tree);

	*ret_path = NULL;
	if (r == 0)
		r = git_folder_open(&tree, &folder);
	if (r == 0)
		*ret_path = steal(&folder.canonical);
	return left_out(r);
}

/* --- Places --------------------------------------------------------------------------------------- */

/* A folder that may not be searched has no way up from inside: from the one that it is in, then. */
static int climb_beside(const struct place *place, struct ancestry *ret_ancestry)
{
	_cleanup_(place_done) struct place above = PLACE_INIT;
	_cleanup_free_ char *path = strdup(place->canonical);
	char *slash = path ? strrchr(path, '/') : NULL;
	struct ancestry up = {0};
	int r;

	if (!slash)
		return -ENOMEM;
	slash[slash == path] = '\0';
	r = folder_open(path, &above);
	if (r == 0)
		r = place_ancestry(&above, &up);
	if (r < 0)
		return r;
	ret_ancestry->steps = calloc(up.count + 1, sizeof(*up.steps));
	if (ret_ancestry->steps) {
		ret_ancestry->count = up.count + 1;
		ret_ancestry->steps[0] = (struct place_step){place->device, place->inode};
		if (up.count > 0)
			memcpy(ret_ancestry->steps + 1, up.steps, up.count * sizeof(*up.steps));
	}
	ancestry_done(&up);
	return ret_ancestry->steps ? 0 : -ENOMEM;
}

static int add(struct repository_places *places, enum claim claim, const struct place *place)
{
	struct repository_place *items = realloc(places->items,
						 (places->count + 1) * sizeof(*items));
	struct ancestry ancestry = {0};
	int r;

	if (!items)
		return -ENOMEM;
	places->items = items;
	r = place_ancestry(place, &ancestry);
	if (r == -EACCES)
		r = climb_beside(place, &ancestry);
	if (r < 0)
		return left_out(r);
	items[places->count++] = (struct repository_place){.claim = claim, .ancestry = ancestry};
	return 0;
}

static int add_repository(struct repository_places *places, enum claim claim, const char *path)
{
	_cleanup_(place_done) struct place tree = PLACE_INIT, folder = PLACE_INIT;
	int r = folder_open(path, &tree);

	if (r < 0)
		return left_out(r);
	r = add(places, claim, &tree);
	if (r == 0)
		r = git_folder_open(&tree, &folder);
	if (r == 0)
		r = add(places, claim == CLAIM_judged ? claim : CLAIM_git, &folder);
	return left_out(r);
}

static int add_bind(struct repository_places *places, const struct bind_spec *bind)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r;

	if (!bind->has.mode || bind->mode != MODE_rw)
		return 0;
	r = place_open(&place, "binds", bind->source, NULL, &fault);
	if (r == 0)
		r = add(places, CLAIM_bind, &place);
	return left_out(r);
}

static bool writes(const struct launch_request *launch)
{
	if (launch->has.repository_mode)
		return launch->repository_mode == MODE_rw;
	return !launch->has.role || launch->role != ROLE_grader;
}

bool repository_is_wanted(const struct launch_request *launch)
{
	return launch->repository && (launch_judges(launch) || writes(launch));
}

int repository_places_open(struct repository_places *ret_places,
			   const struct launch_request *launch)
{
	bool judges = launch_judges(launch);
	int r = 0;

	*ret_places = (struct repository_places){0};
	if (repository_is_wanted(launch))
		r = add_repository(ret_places, judges ? CLAIM_judged : CLAIM_repository,
				   launch->repository);
	for (size_t i = 0; r == 0 && !judges && i < launch->binds.count; i++)
		r = add_bind(ret_places, &launch->binds.items[i]);
	if (r < 0)
		repository_places_done(ret_places);
	return r;
}

void repository_places_done(struct repository_places *places)
{
	for (size_t i = 0; i < places->count; i++)
		ancestry_done(&places->items[i].ancestry);
	free(places->items);
	*places = (struct repository_places){0};
}
