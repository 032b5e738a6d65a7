/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* All of it, whatever interrupts; 0 or -errno. What was written before a failure stays. */
int file_write(int fd, const void *data, size_t size);
int file_write_at(int fd, const void *data, size_t size, off_t offset);

/*
 * A file that comes under its name with all of its bytes, or not at all, whatever is there: it is written
 * under another name first, which begins with FILE_NEW and which nobody reads. What a crash leaves of that
 * is removed by file_new_clear, for which nobody may be at work in the folder. 0 or -errno.
 */
#define FILE_NEW ".new."
#define FILE_NEW_BYTES 24
/* For reading and writing, mode 0600. */
int file_new_open(int folder_fd, char ret_new[FILE_NEW_BYTES], int *ret_fd);
/* Synced, and then renamed: durable once the folder is. What fails takes the new one away. */
int file_new_settle(int folder_fd, int fd, const char *new, const char *name, mode_t mode);
int file_new_clear(int folder_fd);
/* The three of them, and the folder synced. */
int file_put(int folder_fd, const char *name, const void *data, size_t size, mode_t mode);
