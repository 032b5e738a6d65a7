/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "input.h"
#include "json.h"
#include "json_file.h"
#include "options.h"

#define FILE_BYTES_MAX (1024u * 1024u)

int json_file_read(const struct context *context, const char *file, json_t **ret_json)
{
	json_error_t error;
	char *text;
	size_t size;
	int r = input_read(context, "FILE", file, FILE_BYTES_MAX, NULL, &text, &size);

	if (r)
		return r;
	*ret_json = json_load_text(text, size, JSON_REJECT_DUPLICATES, &error);
	free(text);
	return *ret_json ? 0
			 : context_refuse(context, EXIT_USED_WRONG, NULL,
					  "%s: not JSON: line %d, column %d: %s", file, error.line,
					  error.column, error.text);
}

static bool is_one_of(const char *key, const char *const *allowed)
{
	for (; *allowed; allowed++)
		if (strcmp(*allowed, key) == 0)
			return true;
	return false;
}

static int refuse_key(const char *key, const char *where, const char *const *allowed,
		      struct trials_error *error)
{
	json_t *name = need_memory(json_string(key));
	char *shown = json_display(name);
	char names[512] = "";
	int r;

	for (const char *const *one = allowed; *one; one++) {
		size_t length = strlen(names);

		snprintf(names + length, sizeof(names) - length, "%s%s", length ? ", " : "", *one);
	}
	r = usage_error(error, NULL, "%s%s\"%s\" is no key here; there are %s", where,
			*where ? ": " : "", shown, names);
	free(shown);
	json_decref(name);
	return r;
}

int json_file_check_keys(const json_t *map, const char *where, const char *const *allowed,
			 struct trials_error *ret_error)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key,
			    value) if (!is_one_of(key, allowed)) return refuse_key(key, where,
										   allowed,
										   ret_error);
	return 0;
}
