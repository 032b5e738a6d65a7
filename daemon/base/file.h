/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* All of it, whatever interrupts; 0 or -errno. What was written before a failure stays. */
int file_write(int fd, const void *data, size_t size);
int file_write_at(int fd, const void *data, size_t size, off_t offset);
