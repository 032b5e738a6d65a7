/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "context.h"

/* A Trial's JSON object, for people. */

/* "exit code 3", "signal 9 (KILL)", or "". The caller's to free(). */
char *trial_end(const json_t *trial);

/* "Trial 12: failed, exit code 3, 1.5s", neutralised. The caller's to free(). */
char *trial_line(const json_t *trial);

/* What the reply to its launch warns of, on stderr; with --json it is in what is printed. */
void trial_tell_warnings(struct context *context, const json_t *trial);

/* A line on stderr for a person who has launched one that is held; nothing when it is not. */
void trial_tell_hold(const json_t *trial);

bool trial_delivered(const json_t *trial);

/*
 * On stderr, for every outcome but delivered: the outcome, and cause, message and hint where
 * there are any. Nothing for delivered, and nothing with --json, where the object says it.
 */
void trial_report(const struct context *context, const json_t *trial);
/* On stderr, of a Grader that has voted: that, and why. Nothing with --json. */
void trial_tell_verdict(const struct context *context, const json_t *trial);

/* All of it on stdout. */
void trial_print(const struct context *context, const json_t *trial);
