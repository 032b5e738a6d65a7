/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/trial.h"

/*
 * Pruning: Trials that have ended, their folders and their rows, go for good.
 */
struct queue_pruned {
	int result; /* 0, or -errno: what is counted was pruned nevertheless */
	uint64_t count;
	uint64_t bytes; /* that their folders took on disk */
	uint64_t left; /* folders of them that could not be removed, which is tried at each start */
};
typedef void (*queue_prune_done)(void *context, const struct queue_pruned *pruned);

/*
 * The request is used during the call only; done is told once, on the loop, not from within.
 * -EBUSY: one is under way. -ESHUTDOWN: the daemon is stopping. -EINVAL: it names nothing to go by. -ENOMEM.
 */
int queue_prune(Queue *queue, const struct prune_request *request, queue_prune_done done,
		void *context);

/* At start, when ledger_any_pruned says so: removes what an earlier trialsd had begun to. */
void queue_prune_resume(Queue *queue);

/* What a Trial's folder takes on disk. Blocks; for any thread. */
uint64_t queue_disk_bytes(const Queue *queue, uint64_t id);
