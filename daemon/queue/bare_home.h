/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * The home of a Trial without a sandbox (base/no_sandbox.h) goes with its keeper. Of a keeper that was
 * killed it is left, and goes here, once the Trial has ended: a note, STATE/bare-homes/ID, is there from
 * before it is made until it is gone, so that whoever comes after a crash finds it.
 */
/* Before its keeper is told to make one. -errno. */
int bare_home_note(Queue *queue, uint64_t id);
/* It has ended, durably. */
void bare_home_ended(Queue *queue, uint64_t id);
/* At the start: those of Trials that are over. */
void bare_homes_load(Queue *queue);
