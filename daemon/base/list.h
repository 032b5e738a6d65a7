/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/mem.h"
#include "proto/message.h"

/* The lists of message.h, owned: every item is a copy. All return 0 or -ENOMEM. */
int text_list_add(struct text_list *list, const char *text);
int text_list_add_format(struct text_list *list, const char *format, ...) _printf_(2, 3);
/* Adds those of another that it does not have. */
int text_list_merge(struct text_list *list, const struct text_list *more);
void text_list_done(struct text_list *list);

/* Sets a variable: replaces the value of a name that is there already. */
int pair_list_set(struct pair_list *list, const char *name, const char *value);
/* NULL when there is no such name. */
const char *pair_list_get(const struct pair_list *list, const char *name);
void pair_list_done(struct pair_list *list);

/*
 * A path, or other bytes of a user's, for a message: valid UTF-8 without control characters and
 * at most DISPLAY_BYTES_MAX long. What is neither stands as \n, \xNN; a longer one ends in "…".
 * NULL when out of memory (%s of a fault then shows "(null)", which glibc allows).
 */
#define DISPLAY_BYTES_MAX 1024
char *display(const char *text);
