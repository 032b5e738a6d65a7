/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "queue/home_guard.h"

/*
 * The control group of the Trial that had a home last, noted in the folder of locks that all
 * daemons share: a Trial has ended when no process of it is left, and after a kill from outside the
 * flock may fall a moment before. group is as /proc/PID/cgroup has the Trial's scope.
 */
int home_group_note(int locks_fd, const struct home_folder *folder, const char *group);
/* Whether a process is in the group that was noted; false without a note, or without that group. */
bool home_group_is_populated(int locks_fd, const struct home_folder *folder);
