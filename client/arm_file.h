/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "trials.h"

/*
 * An Arm as a person writes it into a file, and as arm_prepare takes it.
 *
 * folder: what relative paths of it are relative to, absolute; home: what ~ is. Nothing is looked at.
 * Unknown keys are refused, naming those that there are. 0; -EINVAL with *ret_error; -ENOMEM.
 */
int arm_file_spec(const json_t *file, const char *folder, const char *home, json_t **ret_spec,
		  struct trials_error *ret_error);
