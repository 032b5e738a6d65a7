/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libjson.h"

/*
 * Values of a reply, as JSON. Absent and of another type are the same here: a newer trialsd may
 * say something else, and a person is then shown less, not an error.
 */

/* NULL when absent. The object's. */
const char *json_text(const json_t *object, const char *key);
int64_t json_whole(const json_t *object, const char *key, int64_t otherwise);
double json_float(const json_t *object, const char *key, double otherwise);
bool json_flag(const json_t *object, const char *key);

/*
 * Text or bytes, neutralised, on one line; "" when absent. The caller's to free(); never NULL
 * (memory that is short ends the program: there is nothing left to tell it with).
 */
char *json_display(const json_t *value);

/* A list of words as one would type them into a shell, neutralised. As above. */
char *json_display_command(const json_t *list);

/* "name=value name=value" of a map, as one would type them. As above. */
char *json_display_pairs(const json_t *map);

/* One line of print_field for the value, if there is one. */
void json_print_field(const json_t *object, const char *key, const char *name);

/* Aborts on NULL: for strings that have to be. */
void *need_memory(void *memory);

/* As json_loadb; a mark that some editors begin UTF-8 with is passed over. */
json_t *json_load_text(const char *text, size_t size, size_t flags, json_error_t *ret_error);
