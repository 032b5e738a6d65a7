/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/fault.h"

/*
 * Whether each of these paths, as process pid sees it, is a mount point that is read-only, reached
 * through no link. FAULT: void sandbox_unavailable.
 */
int pinned_check(pid_t pid, const struct text_list *paths, struct fault *ret_fault);
