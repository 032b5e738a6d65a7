/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "gate.h"

/* JSON that a Trial may have written: logins, for gate.c, and what a Grader says (verdict.c). */

/*
 * A JSON object within the bounds of gate.h: valid UTF-8 without NUL, no key twice, nothing behind
 * it. -EBADMSG when it is none, -ENOMEM. What is freed afterwards is wiped: it holds tokens.
 */
int gate_json_parse(json_t **ret_root, const void *bytes, size_t size);

static inline void cleanup_json(json_t **root)
{
	json_decref(*root);
}
#define _cleanup_json_ __attribute__((__cleanup__(cleanup_json)))

/*
 * Calls for each place that the path (without a claim) names in either tree, with what is there, or
 * NULL. Both NULL: for a path without *, when neither has it. Ends at the first result but 0.
 */
typedef int (*gate_visit)(void *context, const json_t *a, const json_t *b);
int gate_json_visit(const char *path, size_t length, const json_t *a, const json_t *b,
		    gate_visit visit, void *context);

/* Where the keys on the way to a value stand under one of the patterns. */
bool gate_json_matches(const struct text_list *patterns, const char *const *keys, size_t depth);

/* Not null, and not an empty string, array or object. */
bool gate_json_filled(const json_t *value);

/*
 * The claim of a string that is a JWT: a new reference, or *ret NULL when it is no JWT or has no
 * such claim. -ENOMEM.
 */
int gate_json_claim(const json_t *token, const char *claim, json_t **ret);

/* Microseconds UTC; 0 when it is no time of this unit after 1970. */
uint64_t gate_json_time(const json_t *value, enum gate_unit unit);
