/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/*
 * Everything that a verb lists (arm_list, bar_list) a page at a time: take is called with each item of the
 * list that stands at key in its replies. 0 or the exit code.
 */
int pages_each(struct context *context, const char *verb, const char *key,
	       void (*take)(void *user, json_t *item), void *user);
