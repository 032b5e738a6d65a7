/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "trials.h"

/*
 * Paths of the command line. Suffixes are read from the right and `\:` is a colon of a name; a
 * backslash before anything else is itself. Relative paths are made absolute against the current
 * folder as the shell names it ($PWD where it is right), so that a path through a symbolic link
 * stays the one that was typed; nothing is resolved and nothing needs to exist.
 */

/* The caller's to free(). -EINVAL when empty; -errno when the current folder is gone. */
int path_absolute(const char *path, char **ret_path);

/* SRC[:DST][:ro|rw][:optional] as an entry of `binds`. -EINVAL and *ret_error. */
int parse_bind(const char *text, json_t **ret_bind, struct trials_error *ret_error);

/* DIR[:ro|:rw]: the absolute path, and "ro", "rw" or NULL. */
int parse_repository(const char *text, char **ret_path, const char **ret_mode,
		     struct trials_error *ret_error);
