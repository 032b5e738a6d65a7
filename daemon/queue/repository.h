/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The repository lease: a Trial that writes to its repository runs alone on it, unless its launch
 * says share_repository. A repository is known by device and inode, so that another spelling or a
 * link makes no second one.
 *
 * A Trial that finds its repository taken steps out of the queue and waits with the repository, so
 * that it holds no slot and blocks nobody; when the repository is free the first of those waiting
 * gets its place in the queue back. One that shares starts at once, and still keeps those away that
 * want to be alone.
 *
 * A Grader of a Trial (queue/grader.h) has the lease together with other Graders, and with nobody
 * that writes: not one that shares either.
 */

/* What this launch wants a lease on: NULL when it neither writes nor judges, or the path is not there. */
struct repository *repository_get(Queue *queue, const struct launch_request *request);
/* Drops the reference; frees with the last. NULL is fine. */
void repository_put(Queue *queue, struct repository *repository);

/* Whether a Trial would have it at once; NULL is fine. */
bool repository_is_free(const struct repository *repository, bool shares, bool judges);
/* The Trial's turn has come: true when it has what it needs; else it waits with the repository. */
bool repository_take(struct trial *trial);
/* A Trial that runs already, found at start: it has it, whoever else does. */
void repository_take_again(struct trial *trial);
/* It has what it took no longer, or waits no longer. */
void repository_release(struct trial *trial);
/* If nobody writes to it, the first of those that wait for it gets its turn. NULL is fine. */
void repository_call(struct repository *repository);
/* Its place among those that wait for the same repository, 1 is next; 0: it does not wait. */
size_t repository_position(const struct trial *trial, size_t most);
/* "repository: Trial 12 writes to it", into buffer; NULL when it does not wait. */
const char *repository_waits_for(const struct trial *trial, char *buffer, size_t size);
