/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The guard of free space, on the file systems of the state folder and of what running Trials may
 * write to. Below MinFree nothing is admitted and nothing starts; below half of it the Trial that
 * has written most since its start is ended, so that there is room before there is none.
 */

/* Whether less than MinFree is left where `path` is; says so in reason. path NULL: the state folder. */
bool space_is_low(const Queue *queue, const char *path, char reason[QUEUE_REASON_BYTES]);

/* The guard looks every few seconds while anything holds a slot, and not at all otherwise. */
int space_init(Queue *queue);
void space_watch(Queue *queue);
void space_done(Queue *queue);
