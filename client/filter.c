/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arm_find.h"
#include "json.h"
#include "filter.h"
#include "since.h"

int label_add(json_t *filter, const struct arguments *arguments, size_t index,
	      struct trials_error *ret_error)
{
	const char *value = arguments->given[index].value;
	json_t *labels = json_object_get(filter, "labels");
	size_t length = strcspn(value, "=");
	char *name;
	int r;

	if (arguments_name_repeated(arguments, index))
		return usage_error(ret_error, NULL, "--label: the name of \"%s\" is given twice",
				   value);
	if (!length || !value[length])
		return usage_error(ret_error, NULL, "--label takes NAME=VALUE, not \"%s\"", value);
	if (!labels) {
		labels = need_memory(json_object());
		json_object_set_new(filter, "labels", labels);
	}
	name = need_memory(strndup(value, length));
	r = json_object_set_new(labels, name, json_string(value + length + 1));
	free(name);
	return r < 0 ? usage_error(ret_error, NULL, "--label: \"%s\" is not UTF-8", value) : 0;
}

int since_add(json_t *filter, const char *value, struct trials_error *ret_error)
{
	uint64_t moment;

	if (parse_since(value, (uint64_t)time(NULL) * 1000000, &moment) < 0)
		return usage_error(
			ret_error, NULL,
			"--since takes how long ago (90s, 2h, 1d) or a date "
			"(2025-03-01, 2025-03-01T14:30, 2025-03-01T14:30:00Z); not \"%s\"",
			value);
	json_object_set_new(filter, "since", json_integer((json_int_t)moment));
	return 0;
}

struct trial_filter trial_filter_of(const struct arguments *arguments)
{
	return (struct trial_filter){
		.arm = arguments_value(arguments, "arm"),
		.role = arguments_value(arguments, "role"),
	};
}

bool trial_matches(struct trial_filter *filter, const json_t *trial)
{
	const char *role = json_text(trial, "role");

	if (filter->arm && !arm_is_of(trial, filter->arm))
		return false;
	filter->matched = true;
	return !filter->role || (role && strcmp(role, filter->role) == 0);
}

void trial_filter_tell(const struct trial_filter *filter, struct context *context)
{
	char *shown;
	json_t *text;

	if (!filter->arm || filter->matched)
		return;
	text = text_value(filter->arm);
	shown = json_display(text);
	context_warn(context, "--arm: no such Trial is of an Arm \"%s\": trialctl arm list", shown);
	json_decref(text);
	free(shown);
}
