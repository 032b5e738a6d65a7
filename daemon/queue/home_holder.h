/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "queue/home_guard.h"

/*
 * Who holds the flock of a home, for people: /proc/locks has who took it. That is not who has it
 * now where a descriptor was handed on (a keeper outlives the trialsd that locked for it), so that
 * one who is gone is looked for among the processes that can be looked at.
 */
struct home_holder {
	pid_t pid;	  /* 0: not known */
	char command[32]; /* as ps shows it; "" when not known */
	pid_t taken_by;	  /* who took it and is gone, when pid is not known; else 0 */
};

/*
 * Whether the flock is held, without trying it: to try is to hold it for a moment, and somebody's
 * `flock -n` in that moment would be turned away. 1, 0 (also where the kernel does not show it), or
 * -errno. deep: looks for one that is gone, which reads the descriptors of all processes.
 */
int home_holder_find(const struct home_folder *folder, bool deep, struct home_holder *ret_holder);

/* Who took the flock of that file, as /proc/locks has it: 1, 0, or -errno. */
int lock_holder_find(unsigned int major, unsigned int minor, ino_t inode, pid_t *ret_pid);

/* Pure: the pid in text in the format of /proc/locks; 1 or 0. The text is changed. */
int home_holder_parse(char *text, unsigned int major, unsigned int minor, ino_t inode,
		      pid_t *ret_pid);
