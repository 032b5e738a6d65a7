/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

/*
 * What git keeps in small files to say where the rest of a repository is. Pure: bytes in, texts
 * out. Any bytes may come, since a Trial can have written them. Each function returns 0, -EBADMSG
 * for what is not such a file, -ENOENT where what is asked for is not in it, or -ENOMEM; texts are
 * the caller's, hold no NUL and are at most GIT_PATH_BYTES_MAX long.
 */
#define GIT_PATH_BYTES_MAX 4096
#define GIT_POINTER_BYTES_MAX 8192u	       /* of .git, commondir, gitdir, HEAD, a ref */
#define GIT_ALTERNATES_BYTES_MAX (64u * 1024u) /* of objects/info/alternates */
#define GIT_CONFIG_BYTES_MAX (1024u * 1024u)
#define GIT_ALTERNATES_MAX 64	  /* of one file, and of all that lead to each other */
#define GIT_COMMIT_BYTES (64 + 1) /* SHA-256, hexadecimal; SHA-1 has 40 */
#define GIT_REF_BYTES_MAX 1024

/*
 * path, or what it is below base (absolute, canonical) when it is relative. With `normal` without
 * `.`, `..` and `//`, by its text alone, which is how git goes to another repository's objects.
 */
int git_path_join(const char *base, const char *path, bool normal, char **ret_path);

/* A file `.git`: "gitdir: PATH". */
int git_pointer_parse(const char *bytes, size_t size, char **ret_path);

/* GIT of GIT/worktrees/NAME, by its text alone; NULL for another path, or without memory. */
char *git_worktree_common(const char *path);

/* The files commondir and gitdir of a worktree's folder: a path and a line's end. */
int git_path_parse(const char *bytes, size_t size, char **ret_path);

struct git_paths {
	char **items;
	size_t count;
};
void git_paths_done(struct git_paths *paths);
/* Takes path, even when it fails. -ENOSPC for more than GIT_ALTERNATES_MAX. */
int git_paths_add(struct git_paths *paths, char *path);

/*
 * objects/info/alternates: a path in each line, quoted like a string of C or not; `#` begins a
 * comment. -ENOSPC for too many.
 */
int git_alternates_parse(const char *bytes, size_t size, struct git_paths *ret_paths);

/*
 * core.worktree of a configuration file, as git would read it, but for what it includes: the
 * folder that the repository is checked out in.
 */
int git_worktree_parse(const char *bytes, size_t size, char **ret_path);
/* core.excludesFile, likewise. */
int git_excludes_parse(const char *bytes, size_t size, char **ret_path);

/*
 * HEAD, or a loose ref: a commit, or the ref that stands for it; the other one is empty. A ref is
 * one that can be opened below a git folder: refs/…, without `..` and `//`.
 */
struct git_head {
	char commit[GIT_COMMIT_BYTES];
	char ref[GIT_REF_BYTES_MAX + 1];
};
int git_head_parse(const char *bytes, size_t size, struct git_head *ret_head);

/* The commit of a ref in packed-refs. */
int git_packed_find(const char *bytes, size_t size, const char *ref,
		    char ret_commit[GIT_COMMIT_BYTES]);
