/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether anything happened in a Trial within its stall limit. Pure: it is given samples, one for
 * each part of the limit, and compares each with the one that is a whole limit older. So an end is
 * late by one part at most, and a Trial costs so many wake-ups in each time of its limit.
 *
 * Something happened: a byte of output or through the proxy; or at least ACTIVITY_CPU_SHARE of one
 * processor was used, by all processes together. What waits for its network, its terminal or a lock
 * stays well below that share, polling included; what computes is far above it.
 */
#define ACTIVITY_PARTS 8
#define ACTIVITY_CPU_SHARE 0.01

struct activity_sample {
	double at; /* monotonic seconds */
	uint64_t output_bytes;
	uint64_t proxy_bytes;
	uint64_t cpu_microseconds;
};

struct activity {
	struct activity_sample ring[ACTIVITY_PARTS + 1];
	size_t count; /* all that were taken */
	/* What the processor time changed by so far, up or down: where it is summed over the
	 * processes there are, it falls by that of one nobody waited for. */
	uint64_t cpu_used;
	uint64_t cpu_last;
};

/* What is known when nothing happened. */
struct inactivity {
	double seconds;
	double cpu_seconds;
};

/* Takes a sample. True when nothing happened for all of the limit; *ret says for how long. */
bool activity_take(struct activity *activity, const struct activity_sample *sample,
		   struct inactivity *ret);
