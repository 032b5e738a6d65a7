/* SPDX-License-Identifier: MIT */
#include "queue/login.h"

#include <string.h>

#include "base/list.h"

static int compare(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Each once. */
static void sort(struct text_list *names)
{
	size_t count = 0;

	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), compare);
	for (size_t i = 0; i < names->count; i++) {
		if (count > 0 && strcmp(names->items[i], names->items[count - 1]) == 0)
			free((char *)names->items[i]);
		else
			names->items[count++] = names->items[i];
	}
	names->count = count;
}

/* Of a Custom runner: those of its Arm's Harnesses that no provider's key signs in. */
int login_wanted(const struct launch_request *request, struct text_list *ret_names)
{
	int r = 0;

	*ret_names = (struct text_list){0};
	if (request->harness)
		r = text_list_add(ret_names, request->harness);
	sort(ret_names);
	return r;
}
