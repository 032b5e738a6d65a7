/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Emptying a folder that something unknown has written into, in two steps, both by descriptor:
 *
 * wipe_set_aside() moves all that is in it, but what is to be kept, into a new folder beside it.
 * That takes a moment whatever lies below, and afterwards the folder holds only what is kept.
 * wipe_remove() deletes what was set aside, however large: for a thread, and again after a crash.
 *
 * A link is never followed; another mount is never entered, nor what it is mounted on removed. Names
 * of any bytes, folders that their owner closed to himself (mode 000) and trees of any depth are
 * dealt with, in a constant number of descriptors.
 */

/*
 * aside is made in parent_fd, which must be on the same mount as folder_fd. -EEXIST when it is
 * there already; -EXDEV; -EBUSY when something is mounted on an entry; else -errno, with what was
 * moved so far staying aside. At most depth one of the folder is touched.
 */
int wipe_set_aside(int folder_fd, int parent_fd, const char *aside, const char *const *keep,
		   size_t keep_count);

/*
 * Removes name from parent_fd with all that is in it; only folders are taken, and one that is not
 * there is no fault. removed, which may be NULL, counts while it goes on. 0, or -errno of what
 * cannot be removed; the rest may stay then.
 */
int wipe_remove(int parent_fd, const char *name, _Atomic uint64_t *removed);
