/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/* What a Trial's sandbox was made of, where the Trial has it: show --plan. */
void plan_print(const struct context *context, const json_t *trial);

/* The value of a limit of that name, as people write it. */
void limit_format(const char *name, double value, char *buffer, size_t size);
