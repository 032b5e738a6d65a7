/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/* Of a Trial that made no connection. */
#define NET_PROXY_HEEDED                                                                             \
	"A program that does not heed HTTPS_PROXY can make none: README, \"Which programs find the " \
	"way out\"."

/* What a Trial connected to, for people. */

/* A table of a Trial's connections, and what would allow those that were refused. */
void net_print(const struct context *context, const json_t *trial);

/* One line of the stream `network`, as one object of it. */
void net_print_event(const struct context *context, const json_t *event);
