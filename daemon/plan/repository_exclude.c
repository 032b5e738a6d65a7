/* SPDX-License-Identifier: MIT */
#include "repository_git.h"

#include <string.h>

#include "text_file.h"

/*
 * What core.excludesFile of the repository hides. An Arm's git_exclude takes its place inside, so what it
 * says has to stand in the file that does so.
 *
 * An earlier Trial may have written the configuration: only a file in the tree is read, which is what is
 * seen inside anyway, and no link on the way to it is followed.
 */

#define EXCLUDES_BYTES_MAX (256u * 1024u)

static int warn(struct plan *plan, const char *path, const char *why)
{
	_cleanup_free_ char *shown = display(path);

	return plan_warn(plan,
			 "git_exclude: what core.excludesFile of the repository hides (%s) is "
			 "not hidden: %s",
			 shown, why);
}

int repository_excludes_read(struct plan *plan, const struct plan_host *host,
			     const struct place *tree, const char *named)
{
	bool of_home = strncmp(named, "~/", 2) == 0;
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	int r = git_path_join(of_home ? host->home : tree->canonical, of_home ? named + 2 : named,
			      true, &path);

	plan->git_excludes_named = true;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	/* Elsewhere there is none inside. */
	if (!path_within(path, tree->canonical) || strcmp(path, tree->canonical) == 0)
		return 0;
	r = place_walk(tree->fd, path + strlen(tree->canonical) + 1, &fd);
	if (r == 0)
		r = text_file_read_at(fd, EXCLUDES_BYTES_MAX, &plan->git_excludes, NULL);
	if (r == 0 || r == -ENOENT || r == -ENOTDIR || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	return warn(plan, path,
		    r == -EFBIG	   ? "it is larger than 256 KiB"
		    : r == -ELOOP  ? "a link leads there"
		    : r == -EINVAL ? "it is no regular file"
				   : strerror(-r));
}
