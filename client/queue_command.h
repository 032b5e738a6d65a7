/* SPDX-License-Identifier: MIT */
#pragma once

#include "context.h"
#include "options.h"

/*
 * What pause, resume and drain have in common: an operand that is a reason, and an answer that
 * counts what runs and what waits. Returns the exit code.
 */
int queue_command(struct context *context, const struct arguments *arguments, const char *verb);
