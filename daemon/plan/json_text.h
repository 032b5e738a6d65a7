/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * One text of a JSON object, at a path such as a.b: all that a program's metadata is asked for. Pure,
 * and without memory of its own; what is not on the way there is passed over. Texts and keys with
 * escapes are not looked into: none that is asked for has any.
 *
 * 0, -ENOENT: no such text, or it is longer than the buffer; -EBADMSG: no JSON, as far as was read.
 */
int json_text_find(const char *json, size_t size, const char *path, char *ret_text,
		   size_t text_size);
