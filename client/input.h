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
 * Whether it is a regular file that can be read and is not over max. Returns 0 or the exit code;
 * field is named in what is said.
 */
int input_check(const struct context *context, const char *field, const char *path, uint64_t max);

/*
 * Reads it whole; the bytes are the caller's to free(). Over max it is refused, naming what to do
 * instead. Returns 0 or the exit code; option is named in what is said.
 */
int input_read(const struct context *context, const char *option, const char *name, size_t max,
	       char **ret_bytes, size_t *ret_size);
