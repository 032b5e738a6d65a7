/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * A folder of trialsd's own: made with its parents when missing (0700), and then opened, looked at
 * and made canonical by that very descriptor: *path is replaced by the canonical one. Refused: not
 * ours, open to others, read-only, not a folder.
 */
int folder_private(char **path, int *ret_fd, struct fault *ret_fault);

/*
 * One inside such a folder, made when missing; a link is never followed, since what is below is
 * ours alone. *ret_path is the caller's.
 */
int folder_below(int parent_fd, const char *parent, const char *name, char **ret_path, int *ret_fd,
		 struct fault *ret_fault);
