/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "context.h"

/*
 * Arms as a person names them: by id, of which the first 8 digits will do, in whatever case; or by the
 * name that they were prepared under. What could be an id is one.
 */
#define ARM_DIGITS_LEAST 8

bool arm_is_id(const char *text);

/*
 * What trialsd is to be asked for, to be freed: an id as it is, in small letters; of a name the id of the
 * one Arm that has it, for which trialsd is asked. Else refused, as about what ("--arm"): the exit code.
 */
int arm_find(struct context *context, const char *what, const char *text, char **ret_id);

/* Whether the Trial is of the Arm, or of one of the Arms, that text names. */
bool arm_is_of(const json_t *trial, const char *text);
