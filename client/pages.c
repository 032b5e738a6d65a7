/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "pages.h"

int pages_each(struct context *context, const char *verb, const char *key,
	       void (*take)(void *user, json_t *item), void *user)
{
	char *after = NULL;
	int r;

	do {
		json_t *request = need_memory(json_object()), *reply, *item;
		size_t i;

		if (after)
			json_object_set_new(request, "after", text_value(after));
		free(after);
		after = NULL;
		r = context_call(context, verb, request, &reply);
		if (r)
			break;
		json_array_foreach(json_object_get(reply, key), i, item) take(user, item);
		if (json_text(reply, "cursor"))
			after = need_memory(strdup(json_text(reply, "cursor")));
		json_decref(reply);
	} while (after);
	return r;
}
