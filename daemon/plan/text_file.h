/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * A whole small file, with a NUL after its last byte. -EFBIG above max; *ret_size (may be NULL)
 * is without the NUL. Only regular files and those of /proc: anything else is -EINVAL, so that
 * a fifo cannot make the reader wait.
 */
int text_file_read(const char *path, size_t max, char **ret_text, size_t *ret_size);
/* The same from a descriptor, which may be O_PATH. */
int text_file_read_at(int fd, size_t max, char **ret_text, size_t *ret_size);
