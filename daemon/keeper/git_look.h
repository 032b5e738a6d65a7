/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "git_pointer.h"
#include "proto/message.h"

/*
 * Where the parts of a repository are that lie outside of its tree: a linked worktree's git folder,
 * a submodule's, the objects of other repositories. `trial-keeper --task repository PATH`: what
 * files say that a Trial may have written is read by a short-lived child of trialsd which can read
 * files and do nothing else.
 *
 * It has these descriptors and no others, writes one git_layout to GIT_TASK_FD_RESULT and exits 0.
 * Another end: it could not do its work, and nothing is known. What it says are names, for trialsd
 * to open, look at and refuse by its own rules.
 */
#define GIT_TASK_FD_RESULT 3
#define GIT_TASK_FD_REPOSITORY 4 /* the tree, O_PATH; PATH is its canonical name */

/*
 *   plain     the git folder is .git, in the tree
 *   linked    .git names the folder of a worktree: GIT/worktrees/NAME, which names this .git
 *   separate  .git names a git folder of its own, whose core.worktree is this tree (a submodule's)
 */
#define GIT_KINDS(X) X(plain) X(linked) X(separate)
#define GIT_KIND_(name) GIT_##name,
enum git_kind { GIT_KINDS(GIT_KIND_) GIT_KIND_COUNT };

/*
 * Why it cannot be used, `path` says what.
 *   unreadable  a file that is needed cannot be read, or is none
 *   pointer     .git is no pointer
 *   missing     what .git names is not there
 *   pruned      the same, of a worktree whose repository is there and does not have it any more
 *   foreign     what .git names does not name this tree
 *   common      the worktree's folder is not where its commondir says
 *   alternate   the objects of another repository, which are not there
 *   many        too many of those
 */
#define GIT_PROBLEMS(X)                                                                            \
	X(none)                                                                                    \
	X(unreadable) X(pointer) X(missing) X(foreign) X(common) X(alternate) X(many) X(pruned)
#define GIT_PROBLEM_(name) GIT_PROBLEM_##name,
enum git_problem { GIT_PROBLEMS(GIT_PROBLEM_) GIT_PROBLEM_COUNT };

#define GIT_LAYOUT_FIELDS(X)                                                                       \
	X(kind, UINT, REQUIRED, GIT_KIND_COUNT - 1, "enum git_kind")                               \
	X(problem, UINT, REQUIRED, GIT_PROBLEM_COUNT - 1, "enum git_problem")                      \
	X(path, PATH, OPTIONAL, GIT_PATH_BYTES_MAX, "what the problem is about")                   \
	X(error, UINT, OPTIONAL, 4095, "errno of it")                                              \
	X(folder, PATH, OPTIONAL, GIT_PATH_BYTES_MAX, "the git folder, as it is spelled")          \
	X(device, UINT, OPTIONAL, 0, "of that folder")                                             \
	X(inode, UINT, OPTIONAL, 0, "of that folder")                                              \
	X(alternates, BYTES_LIST, OPTIONAL, GIT_ALTERNATES_MAX, "absolute: objects of others")     \
	X(excludes, BYTES_LIST, OPTIONAL, 1,                                                       \
	  "core.excludesFile of its configuration, as it is spelled")

#define GIT_LOOK_MESSAGES(M) M(git_layout, GIT_LAYOUT_FIELDS)
GIT_LOOK_MESSAGES(MESSAGE_STRUCT_)
GIT_LOOK_MESSAGES(MESSAGE_TYPE_)

/* What is found. Texts are owned. */
struct git_findings {
	enum git_kind kind;
	enum git_problem problem;
	char *path;
	int error;
	char *folder;
	dev_t device;
	ino_t inode;
	struct git_paths alternates;
	char *excludes; /* core.excludesFile as it is spelled, or NULL */
};
void git_findings_done(struct git_findings *findings);

/* Looks; repository_fd may be O_PATH. 0 also when there is a problem; -errno when it cannot. */
int git_look(int repository_fd, const char *repository, struct git_findings *ret_findings);

#define GIT_LAYOUT_BYTES_MAX (512u * 1024u)
int git_layout_parse(const void *bytes, size_t size, struct message **ret_message,
		     struct git_layout *ret_layout);

/* A whole regular file below a folder, following no link at its end: -EFBIG when it is larger. */
int git_read(int folder_fd, const char *name, size_t most, char **ret_bytes, size_t *ret_size);

/* The task: its process is as keeper's main.c makes it, but for the descriptors. */
int git_task(const char *repository);
