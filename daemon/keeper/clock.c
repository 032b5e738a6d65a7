/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void moment_now(struct moment *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	ret->wall = (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
	ret->monotonic = seconds(CLOCK_MONOTONIC);
	ret->boot = seconds(CLOCK_BOOTTIME);
}

double span_left(const struct span *span, double whole)
{
	double left = span->start.monotonic + whole - seconds(CLOCK_MONOTONIC);

	return left > 0 ? left : 0;
}

void span_fill(const struct span *span, struct outcome_record *record)
{
	record->has.ended_at = true;
	record->ended_at = span->end.wall;
	if (!span->has_start)
		return;
	record->has.started_at = true;
	record->started_at = span->start.wall;
	record->has.wall_seconds = true;
	record->wall_seconds = span->end.monotonic - span->start.monotonic;
	record->has.boot_seconds = true;
	record->boot_seconds = span->end.boot - span->start.boot;
}
