/* SPDX-License-Identifier: MIT */
#include "bar_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "options.h"

static const char *const keys[] = {"name",    "standard", "standard_file", "votes",
				   "breadth", "seats",	  "stand_ins",	   NULL};
static const char *const seat_keys[] = {"name",	  "harness", "model", "provider",
					"effort", "family",  "arm",   NULL};

static bool is_one_of(const char *key, const char *const *allowed)
{
	for (; *allowed; allowed++)
		if (strcmp(*allowed, key) == 0)
			return true;
	return false;
}

/* where: "" for the file itself, or "seats[0]: ". */
static int check_keys(const json_t *map, const char *where, const char *const *allowed,
		      struct trials_error *error)
{
	char names[256] = "";
	const char *key;
	json_t *value;
	char *shown;
	int r;

	json_object_foreach((json_t *)map, key, value)
	{
		if (is_one_of(key, allowed))
			continue;
		for (const char *const *name = allowed; *name; name++) {
			size_t length = strlen(names);

			snprintf(names + length, sizeof(names) - length, "%s%s", length ? ", " : "",
				 *name);
		}
		value = need_memory(json_string(key));
		shown = json_display(value);
		json_decref(value);
		r = usage_error(error, NULL, "%s\"%s\" is no key here; there are %s", where, shown,
				names);
		free(shown);
		return r;
	}
	return 0;
}

static int check_seats(const json_t *file, const char *list, struct trials_error *error)
{
	const json_t *seats = json_object_get(file, list);
	char where[48];
	json_t *seat;
	size_t i;
	int r = 0;

	if (seats && !json_is_array(seats))
		return usage_error(error, NULL, "%s: takes a list of seats", list);
	json_array_foreach((json_t *)seats, i, seat)
	{
		snprintf(where, sizeof(where), "%s[%zu]", list, i);
		if (!json_is_object(seat))
			return usage_error(error, NULL, "%s: takes {\"harness\": …}", where);
		snprintf(where, sizeof(where), "%s[%zu]: ", list, i);
		r = check_keys(seat, where, seat_keys, error);
		if (r < 0)
			return r;
	}
	return 0;
}

int bar_file_spec(const json_t *file, json_t **ret_spec, const char **ret_standard_file,
		  struct trials_error *ret_error)
{
	const json_t *text = json_object_get(file, "standard_file");
	int r;

	if (!json_is_object(file))
		return usage_error(ret_error, NULL, "a Bar is an object: {\"name\": …}");
	r = check_keys(file, "", keys, ret_error);
	if (r == 0)
		r = check_seats(file, "seats", ret_error);
	if (r == 0)
		r = check_seats(file, "stand_ins", ret_error);
	if (r < 0)
		return r;
	if (text && (!json_is_string(text) || !*json_string_value(text)))
		return usage_error(ret_error, NULL, "standard_file: takes a path");
	if (!text == !json_object_get(file, "standard"))
		return usage_error(ret_error, NULL,
				   "standard: give one of standard and standard_file");
	*ret_spec = need_memory(json_copy((json_t *)file));
	json_object_del(*ret_spec, "standard_file");
	*ret_standard_file = text ? json_string_value(text) : NULL;
	return 0;
}
