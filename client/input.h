/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"

/*
 * Files named on the command line.
 *
 * input_is_private: whether only this process can read it: standard input ("-"), what the shell
 * gave us as a descriptor (/dev/fd/63 of `<(…)`), a pipe. Its name means nothing to trialsd.
 */
bool input_is_private(const char *name);

/*
 * Opens what has to be a regular file and not over max; the descriptor is the caller's. Returns 0 or
 * the exit code; field is named in what is said.
 */
int input_open(const struct context *context, const char *field, const char *path, uint64_t max,
	       int *ret_fd);

/*
 * Reads it whole; the bytes are the caller's to free(), and NULL when it is refused. Over max it is, and
 * instead says what to do then, or is NULL. Returns 0 or the exit code; what ("--spec", "FILE") is named
 * in what is said.
 */
int input_read(const struct context *context, const char *what, const char *name, size_t max,
	       const char *instead, char **ret_bytes, size_t *ret_size);

/* These bytes as a file without a name; the descriptor is the caller's. 0 or the exit code. */
int input_memory(const struct context *context, const char *bytes, size_t size, int *ret_fd);
