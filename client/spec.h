/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"
#include "options.h"

/* The options of launch. */
extern const struct option spec_options[];

/*
 * What launch was asked for, as the verb's arguments: --spec first, then the options, which
 * replace single values and add to lists and maps, then COMMAND. Paths are absolute and the
 * protocol's own checks are passed. Reads files named and standard input. 0 or the exit code.
 */
int spec_make(struct context *context, const struct arguments *arguments, json_t **ret_launch);
