/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * Trees on disk, by descriptor: a link is never followed, and what lies deeper than DISK_DEPTH_MAX
 * or on another filesystem is left alone. Both block as long as the tree is large: for threads.
 */
#define DISK_DEPTH_MAX 64 /* more than a kept home is deep */

/* What name takes on disk, with all that is in it; 0 when it is not there. */
uint64_t disk_bytes(int parent_fd, const char *name);

/*
 * Removes name and all that is in it, as far as that goes. A link is removed, not what it leads to.
 * 0 once it is gone, also when it was not there; else -errno of the first thing that stays.
 */
int disk_remove(int parent_fd, const char *name);
