/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"
#include "options.h"

/* The options of launch. */
extern const struct option spec_options[];

/* A launch as it is sent: the verb and its arguments, and the descriptor that goes with them. */
struct spec {
	const char *verb; /* launch, or rerun */
	json_t *launch;
	int prompt_fd; /* -1: none */
};

/*
 * What launch was asked for: --spec first, then the options, which replace single values and add to
 * lists and maps, then COMMAND. Paths are absolute and the protocol's own checks are passed. Reads
 * files named and standard input. 0 or the exit code, and then *ret_spec is empty.
 */
int spec_make(struct context *context, const struct arguments *arguments, struct spec *ret_spec);
void spec_done(struct spec *spec);
