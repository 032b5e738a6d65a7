/* SPDX-License-Identifier: MIT */
#pragma once

#include "git_pointer.h"
#include "proto/message.h"

/*
 * What in a repository makes git run something or treat files otherwise: whether it is as it was.
 * Looked at before a Trial and after it, by descriptor, bounded; only digests are kept. Nothing of
 * it is executed or obeyed, and no git is run.
 *
 * Looked at: .git itself; of the git folder config, config.worktree, commondir, gitdir, hooks,
 * info/attributes and objects/info/alternates; the same of the git folders of submodules and
 * worktrees in it; .gitattributes and .gitmodules at the top of the tree.
 */
#define GIT_CHANGES_MAX 64 /* told; one more says that there are others */

struct git_mark;

struct git_watch {
	int tree;	   /* -1: nothing is watched */
	int folder;	   /* the git folder, where it is not .git; else -1 */
	char *folder_path; /* its name */
	struct git_mark *marks;
	size_t count;
	char commit[GIT_COMMIT_BYTES]; /* checked out; "" when it cannot be told */
	struct git_change *changes;
	size_t change_count;
};

#define GIT_WATCH_INIT ((struct git_watch){.tree = -1, .folder = -1})

/* Duplicates the descriptors; folder -1: it is .git. */
int git_watch_begin(struct git_watch *watch, int tree, int folder);
/* Looks again and fills changes, for the record; they point into the watch. */
int git_watch_end(struct git_watch *watch);
void git_watch_done(struct git_watch *watch);

/* The commit that is checked out, from HEAD, a loose ref, or packed-refs: 0, -ENOENT, -errno. */
int git_commit(int folder, char ret_commit[GIT_COMMIT_BYTES]);
