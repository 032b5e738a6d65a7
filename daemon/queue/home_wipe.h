/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

#include "queue/home_guard.h"

/*
 * The wipe of a home, in two steps (base/wipe.h): what is in it, but what is kept, is set aside
 * within the home's parent, and deleted from there. All of this blocks: for threads.
 *
 * Kept is the login, and of `keep` what is a regular file of ours, with one name, of at most
 * HOME_LOCK_BYTES_MAX: a lock file is nothing else, whatever its name.
 *
 * What is set aside is called HOME_ASIDE_PREFIX, the home's inode, a random number. Who deletes it
 * holds its flock, so that two daemons never do both. It is filled under the home's own flock, so
 * that whoever has that knows of each that it is complete.
 */
#define HOME_LOCK_BYTES_MAX 4096
#define HOME_ASIDE_PREFIX ".trialsd-wipe-"
#define HOME_ASIDE_BYTES 80

/*
 * With the home's flock held. Compares everything once more, and then empties the home. FAULT: it
 * was not done. *ret_unfinished: not all that is in it could be taken out, so that the home must be
 * held; else it was refused before anything was touched. -ESTALE: where->path is another folder by
 * now.
 */
int home_wipe_empty(const struct home_folder *folder, const struct home_where *where,
		    bool *ret_unfinished, struct fault *ret_fault);

/*
 * The names of what is set aside of this home, in its parent: of this wipe, and what a crash left.
 * With the home's flock held, also those of homes that are no more. *ret_names is the caller's, as
 * text_list_done wants it.
 */
int home_wipe_leftovers(const struct home_folder *folder, struct text_list *ret_names);

/*
 * Deletes one of them. removed counts meanwhile, and may be NULL. 0 once it is gone; -EWOULDBLOCK:
 * another is at it; -EPERM: not ours; else -errno of what cannot be deleted.
 */
int home_wipe_remove(int parent_fd, const char *name, _Atomic uint64_t *removed);

/* Pure: whether a name is one of what is set aside, and of which inode. */
bool home_aside_parse(const char *name, ino_t *ret_inode);
void home_aside_name(ino_t inode, char ret_name[HOME_ASIDE_BYTES]);
