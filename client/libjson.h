/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "trials.h"

/*
 * Messages and JSON. Bytes that are not UTF-8 are {"base64": "…"} in JSON and bin on the wire;
 * bytes that are, are plain text in both. Functions that give a json_t give the caller a
 * reference of its own, and NULL when memory is short.
 */

/* Text where the bytes are UTF-8, else {"base64": "…"}. */
json_t *json_from_bytes(const void *bytes, size_t size);

/*
 * The reverse: *ret_bytes is terminated beyond its size and the caller's to free().
 * -EINVAL: neither text nor one well-formed base64 object; -ENOMEM.
 */
int json_to_bytes(const json_t *value, char **ret_bytes, size_t *ret_size);

/* One line, no line end, safe to print anywhere; the caller's to free(). NULL: memory. */
char *json_line(const json_t *value);

/* The body; an empty object when it has none. */
json_t *json_from_message(const struct trials_message *message);

/* Arguments of a verb from a JSON object, as trials_arguments_from_json(). */
int arguments_from_json(const char *verb, const json_t *object,
			struct trials_message **ret_arguments, struct trials_error *ret_error);
