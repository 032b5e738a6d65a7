/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * Who needs an Arm that the ledger does not know of yet, so that it is not removed meanwhile: a launch
 * from when it has read the Arm until its row is there, a Bar from when it has found its seats until it
 * is kept. And the Arm that is being removed, which nobody finds from then on. All on the loop.
 */
struct arm_use {
	LIST_ENTRY(arm_use) link;
	char id[ARM_ID_BYTES + 1]; /* "": of any */
	bool begun;
};

/* id NULL: any Arm. A use that has begun is left as it is. */
void arm_use_begin(Queue *queue, struct arm_use *use, const char *id);
/* One that has not begun, too. */
void arm_use_end(struct arm_use *use);

/*
 * 0, and nobody finds it any more until arm_leave_end; FAULT: another one is being removed, or somebody is
 * just using it.
 */
int arm_leave_begin(Queue *queue, const char *id, struct fault *ret_fault);
void arm_leave_end(Queue *queue);

/*
 * What the facts of each Trial of this Arm have, and of no other: for ledger_count_named. It points into the
 * buffer, which is the caller's to destroy. -ENOMEM.
 */
int arm_facts_bytes(const char *id, msgpack_sbuffer *ret_buffer, struct blob *ret_bytes);
