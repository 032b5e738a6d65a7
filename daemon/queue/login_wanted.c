/* SPDX-License-Identifier: MIT */
#include "queue/login.h"

#include <string.h>

#include "base/list.h"
#include "queue/arm_launch.h"

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
int login_wanted(const struct launch_request *request, const struct trial_facts *facts,
		 struct text_list *ret_names)
{
	_cleanup_(arm_known_done) struct arm_known known = {0};
	int r = 0;

	*ret_names = (struct text_list){0};
	if (request->harness)
		r = text_list_add(ret_names, request->harness);
	else if (facts && facts->arm_id)
		r = arm_known_of_facts(facts, &known);
	for (size_t i = 0; r == 0 && i < known.arm.harnesses.count; i++)
		if (!known.arm.harnesses.items[i].provider)
			r = text_list_add(ret_names, known.arm.harnesses.items[i].name);
	sort(ret_names);
	if (r < 0)
		text_list_done(ret_names);
	return r;
}
