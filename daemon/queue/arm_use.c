/* SPDX-License-Identifier: MIT */
#include "queue/arm_use.h"

#include <stdio.h>
#include <string.h>

void arm_use_begin(Queue *queue, struct arm_use *use, const char *id)
{
	if (use->begun)
		return;
	snprintf(use->id, sizeof(use->id), "%s", id ?: "");
	use->begun = true;
	LIST_INSERT_HEAD(&queue->arm_uses, use, link);
}

void arm_use_end(struct arm_use *use)
{
	if (!use->begun)
		return;
	LIST_REMOVE(use, link);
	use->begun = false;
}

int arm_leave_begin(Queue *queue, const char *id, struct fault *ret_fault)
{
	const struct arm_use *use;

	if (*queue->arm_leaving) {
		fault_set(ret_fault, ERROR_busy, "arm: another one is being removed");
		return fault_hint(ret_fault, "try again");
	}
	LIST_FOREACH(use, &queue->arm_uses, link)
	{
		if (*use->id && strcmp(use->id, id) != 0)
			continue;
		fault_set(ret_fault, ERROR_busy, "arm: a %s is just being accepted",
			  *use->id ? "launch of it" : "Bar");
		return fault_hint(ret_fault, "try again");
	}
	snprintf(queue->arm_leaving, sizeof(queue->arm_leaving), "%s", id);
	return 0;
}

void arm_leave_end(Queue *queue)
{
	queue->arm_leaving[0] = '\0';
}

int arm_facts_bytes(const char *id, msgpack_sbuffer *ret_buffer, struct blob *ret_bytes)
{
	const struct trial_facts facts = {.arm_id = id};
	int r = view_encode(ret_buffer, &trial_facts_type, &facts);

	if (r < 0)
		return r;
	/* Without the byte that says that it is a map of one. */
	*ret_bytes = (struct blob){.data = (const uint8_t *)ret_buffer->data + 1,
				   .size = ret_buffer->size - 1};
	return 0;
}
