/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "options.h"

/*
 * The NAME=VALUE given to a --label, into the map `labels` of a filter. -EINVAL and *ret_error: it
 * is none, or its name was given before.
 */
int label_add(json_t *filter, const struct arguments *arguments, size_t index,
	      struct trials_error *ret_error);

/* The TIME given to a --since, into `since` of a filter. -EINVAL and *ret_error. */
int since_add(json_t *filter, const char *value, struct trials_error *ret_error);
