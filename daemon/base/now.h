/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <time.h>

/* What every `…_at` is: microseconds UTC. For people and records; durations are measured elsewhere. */
static inline uint64_t now_microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* For deadlines: nanoseconds of CLOCK_MONOTONIC, which stands still in suspend. */
static inline int64_t now_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
