/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * The exclusive lock of a daemon's folder (its file trialsd.lock), for as long as *ret_fd is open.
 * Refused when another trialsd holds it; the message names its pid. folder is for messages.
 */
int lock_take(int folder_fd, const char *folder, int *ret_fd, struct fault *ret_fault);
