/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/*
 * Files that a person writes in JSON: Arms and Bars.
 *
 * json_file_read: what is in it ("-": standard input); no key may stand twice. 0 or the exit code.
 */
int json_file_read(const struct context *context, const char *file, json_t **ret_json);

/*
 * Refuses a key of map that is not among allowed, which ends with NULL, naming those that there are. where:
 * "" for the file itself, or where the map stands in it ("seats[0]"). 0; -EINVAL with *ret_error.
 */
int json_file_check_keys(const json_t *map, const char *where, const char *const *allowed,
			 struct trials_error *ret_error);
