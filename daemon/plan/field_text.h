/* SPDX-License-Identifier: MIT */
#pragma once

#include "proto/message.h"

/*
 * Fields of messages as text, for whoever tells in what two messages differ. A word, a number, a path
 * or a list of them; not what nests. Pure.
 */

/* Whether the field is there: a number by its has, a text or list by itself. */
bool field_there(const struct field *field, const void *structure);

/*
 * 0 with *ret_text NULL: it is absent. A list is written as a shell would take it, so that no two are
 * one text. To be freed. -ENOMEM.
 */
int field_text(const struct field *field, const void *structure, char **ret_text);

/*
 * A value that is told, to be freed: of one longer than most bytes as many, from a little before from, where
 * it differs from the other; "…" stands for what is left out. NULL: out of memory.
 */
char *value_part(const char *text, size_t from, size_t most);

/* How many bytes two texts begin with in common. */
size_t value_same(const char *a, const char *b);

/* For a sentence: without control characters and bounded; NULL is "absent". To be freed. */
#define VALUE_SHOWN_BYTES 160 /* a SHA-256 is whole */
char *value_shown(const char *text);
