/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * A folder of trialsd's own: made with its parents when missing (0700), and then opened, looked at
 * and made canonical by that very descriptor: *path is replaced by the canonical one. Refused: not
 * ours, open to others, read-only, not a folder.
 */
int folder_private(char **path, int *ret_fd, struct fault *ret_fault);
