/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/* What a Trial connected to, for people. */

/* A table of a Trial's connections, and what would allow those that were refused. */
void net_print(const struct context *context, const json_t *trial);

/* One line of the stream `network`, as one object of it. */
void net_print_event(const struct context *context, const json_t *event);
