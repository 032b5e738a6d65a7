/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/place.h"
#include "proto/protocol.h"

/*
 * Where a launch writes to on this host, and what it judges: each by device and inode, with all the
 * folders above it, as they are when it is looked at. What is not there, or cannot be opened, is left
 * out: the plan refuses such a launch, or does without it, and what is there by then is found when it
 * is started (repository_look_again).
 */
enum claim {
	CLAIM_repository, /* a repository that is written to */
	CLAIM_bind,	  /* another path that is */
	CLAIM_git,	  /* a git folder outside of the repository, shared with other worktrees */
	CLAIM_judged,	  /* a repository that is judged, or its git folder */
	CLAIMS,
};

struct repository_place {
	enum claim claim;
	struct ancestry ancestry; /* [0] is the place itself */
};

struct repository_places {
	struct repository_place *items;
	size_t count;
};

/* Whether it writes to a repository, or judges what is in it. */
bool repository_is_wanted(const struct launch_request *launch);

/* 0, or why it cannot be told now: -ENOMEM, -EMFILE, -ENFILE. */
int repository_places_open(struct repository_places *ret_places,
			   const struct launch_request *launch);
void repository_places_done(struct repository_places *places);

/*
 * The git folder of a tree whose .git is a file that names another folder, canonical; of a linked
 * worktree the one that all worktrees share. NULL: it has none outside, or none that can be found.
 * To be freed. 0, -ENOMEM, -EMFILE, -ENFILE.
 */
int repository_git_folder(const char *repository, char **ret_path);
