/* SPDX-License-Identifier: MIT */
#include "arm_find.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exit_code.h"
#include "json.h"
#include "pages.h"
#include "proto/protocol.h"

#define IDS_TOLD 4

bool arm_is_id(const char *text)
{
	size_t length = strlen(text);

	return length >= ARM_DIGITS_LEAST && length <= ARM_ID_BYTES &&
	       strspn(text, "0123456789abcdefABCDEF") == length;
}

struct wanted {
	const char *name;
	json_t *ids;
};

static void take_wanted(void *user, json_t *arm)
{
	const struct wanted *wanted = user;

	if (json_text(arm, "name") && strcmp(json_text(arm, "name"), wanted->name) == 0)
		json_array_append(wanted->ids, json_object_get(arm, "id"));
}

/* The ids of all that are called so. */
static int ids_of(struct context *context, const char *name, json_t *ids)
{
	struct wanted wanted = {.name = name, .ids = ids};

	return pages_each(context, "arm_list", "arms", take_wanted, &wanted);
}

static int refuse_several(struct context *context, const char *what, const char *name,
			  const json_t *ids)
{
	char told[IDS_TOLD * 16] = "";
	json_t *id;
	size_t i;

	json_array_foreach((json_t *)ids, i, id)
	{
		size_t length = strlen(told);

		if (i < IDS_TOLD)
			snprintf(told + length, sizeof(told) - length, "%s%.12s", i ? ", " : "",
				 json_string_value(id));
	}
	return context_refuse(context, EXIT_USED_WRONG, "give the id of one: trialctl arm list",
			      "%s: %zu Arms are called %s: %s%s", what, json_array_size(ids), name,
			      told, json_array_size(ids) > IDS_TOLD ? ", …" : "");
}

int arm_find(struct context *context, const char *what, const char *text, char **ret_id)
{
	json_t *ids;
	int r;

	if (arm_is_id(text)) {
		*ret_id = need_memory(strdup(text));
		for (char *at = *ret_id; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		return 0;
	}
	ids = need_memory(json_array());
	r = ids_of(context, text, ids);
	if (r == 0 && json_array_size(ids) == 0)
		r = context_refuse(context, EXIT_USED_WRONG, "trialctl arm list",
				   "%s: no Arm is called \"%s\", and an id has 8 to %d hexadecimal "
				   "digits",
				   what, text, ARM_ID_BYTES);
	else if (r == 0 && json_array_size(ids) > 1)
		r = refuse_several(context, what, text, ids);
	if (r == 0)
		*ret_id = need_memory(strdup(json_string_value(json_array_get(ids, 0))));
	json_decref(ids);
	return r;
}

bool arm_is_of(const json_t *trial, const char *text)
{
	const char *id = json_text(trial, "arm"), *name = json_text(trial, "arm_name");

	if (arm_is_id(text))
		return id && strncasecmp(id, text, strlen(text)) == 0;
	return name && strcmp(name, text) == 0;
}
