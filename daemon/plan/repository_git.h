/* SPDX-License-Identifier: MIT */
#pragma once

#include "build.h"
#include "keeper/git_look.h"

/*
 * What git needs of a repository beside its tree, as more bounds of the launch and, for a linked
 * worktree, a git folder made up for it. Between them the policies are asked.
 */
struct repository_git {
	char *common; /* the git folder that is made up, canonical; NULL: none is */
	char *name;   /* the worktree's folder in its worktrees/ */
	int common_fd;
};

#define REPOSITORY_GIT_INIT ((struct repository_git){.common_fd = -1})

/* bounds: all else that the launch names. excludes: what its core.excludesFile hides is read too. */
int repository_git_open(struct repository_git *ret_git, struct bound_list *bounds,
			struct plan *plan, const struct plan_host *host, bool excludes,
			struct fault *ret_fault);
/* Nothing of the sandbox's may be where the git folder is to be made up. plan holds no bind yet. */
int repository_git_compose(const struct repository_git *git, struct plan *plan,
			   struct fault *ret_fault);
/*
 * Into plan->git_excludes, what the file has that core.excludesFile names (as it is spelled) in the tree.
 * 0 or -errno: what cannot be read is a warning.
 */
int repository_excludes_read(struct plan *plan, const struct plan_host *host,
			     const struct place *tree, const char *named);
void repository_git_done(struct repository_git *git);

/*
 * Runs `trial-keeper --task repository` on an open folder: -ETIMEDOUT, -EBADMSG, … The layout
 * points into *ret_message.
 */
int repository_ask(const char *keeper, int repository_fd, const char *repository,
		   struct message **ret_message, struct git_layout *ret_layout);
