/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/git_pointer.h"
#include "stage.h"

/*
 * The small files by which git finds the rest of a repository, which a Trial can have written. What
 * comes out are paths without NUL of bounded length, refs that stay below the git folder, commits
 * of hexadecimal digits; a path that was made normal is absolute and has nothing to make normal.
 */

static void check_path(const char *path)
{
	char *joined = NULL, *again = NULL;

	must(path[0] && strlen(path) <= GIT_PATH_BYTES_MAX);
	if (git_path_join("/base/of", path, true, &joined) < 0)
		return;
	must(joined[0] == '/' && !strstr(joined, "//") && !strstr(joined, "/./"));
	must(!strstr(joined, "/../") && strlen(joined) <= GIT_PATH_BYTES_MAX);
	must(git_path_join("", joined, true, &again) == 0 && !strcmp(joined, again));
	free(joined);
	free(again);
}

static void check_commit(const char *commit)
{
	size_t length = strlen(commit);

	must(length == 40 || length == 64);
	must(strspn(commit, "0123456789abcdef") == length);
}

static void check_head(const char *bytes, size_t size)
{
	struct git_head head;

	if (git_head_parse(bytes, size, &head) < 0)
		return;
	must(!head.commit[0] != !head.ref[0]);
	if (head.commit[0])
		check_commit(head.commit);
	else
		must(!strncmp(head.ref, "refs/", 5) && !strstr(head.ref, "..") &&
		     !strstr(head.ref, "//") && !strchr(head.ref, '\n'));
}

static void check_one(int r, char *path)
{
	must(r <= 0);
	if (r == 0)
		check_path(path);
	free(path);
}

int fuzz_git(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	char commit[GIT_COMMIT_BYTES];
	struct git_paths paths = {0};
	char *path = NULL;
	int r;

	r = git_pointer_parse(bytes, size, &path);
	check_one(r, path);
	path = NULL;
	r = git_path_parse(bytes, size, &path);
	check_one(r, path);
	path = NULL;
	r = git_worktree_parse(bytes, size, &path);
	check_one(r, path);
	r = git_alternates_parse(bytes, size, &paths);
	must(r <= 0 && paths.count <= GIT_ALTERNATES_MAX);
	for (size_t i = 0; i < paths.count; i++)
		check_path(paths.items[i]);
	git_paths_done(&paths);
	check_head(bytes, size);
	if (git_packed_find(bytes, size, "refs/heads/main", commit) == 0)
		check_commit(commit);
	return 0;
}
