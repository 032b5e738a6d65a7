/* SPDX-License-Identifier: MIT */
#include "bar_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "json_file.h"
#include "options.h"

static const char *const keys[] = {"name",    "standard", "standard_file", "votes",
				   "breadth", "seats",	  "stand_ins",	   NULL};
static const char *const seat_keys[] = {"name",	  "harness", "model", "provider",
					"effort", "family",  "arm",   NULL};

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
		r = json_file_check_keys(seat, where, seat_keys, error);
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
	r = json_file_check_keys(file, "", keys, ret_error);
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
