/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/mem.h"

/*
 * Leaves this process, for good, only what it takes to read and write files by descriptors that it
 * has: no new process, program, socket, signal or executable memory; of the file system nothing but
 * open, stat, rename and unlink below the folders first … last. Anything else fails with ENOSYS.
 *
 * Below a folder means by its descriptor: a filter cannot see the name, and an absolute one leads
 * elsewhere, to what the person could open too. -errno.
 */
int confine(int first, int last);
