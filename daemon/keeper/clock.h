/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

/*
 * A Trial's time, by three clocks: the wall for people, monotonic for what a limit means (suspend
 * excluded), boot for what passed in the world. Wall limit and grace are timers of base/loop.h,
 * on the monotonic clock too.
 */
struct moment {
	uint64_t wall; /* microseconds UTC */
	double monotonic;
	double boot;
};

struct span {
	bool has_start;
	struct moment start;
	struct moment end;
};

void moment_now(struct moment *ret);

/* What is left now of so many seconds from the start, on the monotonic clock; never negative. */
double span_left(const struct span *span, double seconds);

/* The record's times: started_at and durations only when there was a start. */
void span_fill(const struct span *span, struct outcome_record *record);
