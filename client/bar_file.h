/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "trials.h"

/*
 * A Bar as a person writes it into a file, and as bar_set takes it.
 *
 * standard_file of it is told in *ret_standard_file (borrowed from file; NULL: there is none), for the
 * caller to read and to add as `standard`. Unknown keys are refused, naming those that there are. 0;
 * -EINVAL with *ret_error; -ENOMEM.
 */
int bar_file_spec(const json_t *file, json_t **ret_spec, const char **ret_standard_file,
		  struct trials_error *ret_error);
