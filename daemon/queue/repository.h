/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The repository lease: a Trial that writes to its repository runs alone on it, unless its launch
 * says share_repository. Repositories are compared by device and inode, of their own and of the folders
 * above them, so that another spelling or a link makes no second one: a repository that holds
 * another one, or lies in it, is taken with it. So is what a Trial has bound to write to: where that
 * is, holds or lies in a repository, it is written to as if it were the launch's own. Binds alone
 * keep nobody from each other: caches are made to be shared. Nor do worktrees of one git folder.
 *
 * A Trial that finds a place taken steps out of the queue and waits with that, so that it holds no
 * slot and blocks nobody; when it is free, the first of those waiting gets its place in the queue
 * back. One that shares starts at once, and still keeps those away that want to be alone. Nobody
 * has one place while it waits for another, so that none can wait for each other; and none that does
 * not share goes ahead of one that waits for the same place and whose turn is earlier. One that wants
 * two places waits for one at a time, and may be passed at the other meanwhile: to keep that free for
 * it would make all wait that have one cache bound.
 *
 * A Grader of a Trial (queue/grader.h) has the lease together with other Graders, and with nobody
 * that writes to any of it, or to the git folder of it: not one that shares, nor by a bind, nor from
 * another worktree.
 */

/* What this launch wants a lease on: NULL when it neither writes nor judges, or the path is not there. -errno. */
int repository_get(Queue *queue, const struct launch_request *request,
		   struct repository **ret_repository);
/* Frees. NULL is fine. */
void repository_put(Queue *queue, struct repository *repository);
/* Whether two of them cannot be had at once, by Trials that share nothing. */
bool repository_meets(const struct repository *a, const struct repository *b);
/* How many places it wants. */
size_t repository_places_wanted(const struct repository *repository);

/*
 * What a claimed Trial is about to write to or judge, repository_fd of it the repository (-1: none), is what
 * it has: 0. -EAGAIN: it was something else, or was not there, when it was accepted or trialsd was started.
 * Then it has nothing any more, and is to wait for its turn again, with what it wants now. -errno.
 */
int repository_look_again(struct trial *trial, const struct launch_request *request,
			  int repository_fd);

/* Whether a Trial (NULL: one that is about to be accepted) would have it at once; NULL is fine. */
bool repository_is_free(const struct repository *repository, bool shares,
			const struct trial *trial);
/* The Trial's turn has come: true when it has what it needs; else it waits with what is taken. */
bool repository_take(struct trial *trial);
/* A Trial that runs already, found at start: it has it, whoever else does. */
void repository_take_again(struct trial *trial);
/* It has what it took no longer, or waits no longer. */
void repository_release(struct trial *trial);
/* It was called, and is not to have its turn: the next of those that wait is called. */
void repository_pass_on(struct trial *trial);
/* Its place among those that wait for the same, 1 is next; 0: it does not wait. */
size_t repository_position(const struct trial *trial, size_t most);
/* "repository: Trial 12 writes to it", into buffer; NULL when it does not wait. */
const char *repository_waits_for(const struct trial *trial, char *buffer, size_t size);
