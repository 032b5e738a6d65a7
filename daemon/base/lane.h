/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

/*
 * Work of the loop's thread pool that may take long. A lane has only so many at once and the rest wait
 * their turn, so that reading some gigabytes leaves threads to what takes a moment. All on the loop.
 */
struct lane_work;
TAILQ_HEAD(lane_list, lane_work);

struct lane {
	unsigned int most;
	unsigned int running;
	struct lane_list waiting;
};

struct lane_work {
	uv_work_t work;
	TAILQ_ENTRY(lane_work) link;
	struct lane *lane;
	uv_loop_t *loop;
	bool queued;   /* waits for its turn */
	bool canceled; /* before its turn came */
	void (*run)(struct lane_work *work);
	void (*done)(struct lane_work *work, int status);
};

#define LANE_INIT(lane, at_once)                                                                   \
	{                                                                                          \
		.most = (at_once), .waiting = TAILQ_HEAD_INITIALIZER((lane).waiting)               \
	}

/*
 * What done begins comes before all that waits: so who has two steps keeps its turn in between.
 *
 * run on a thread of the pool, then done on the loop; status -errno (run was not called) or 0. An error
 * of the first call means that neither will be.
 */
int lane_begin(struct lane *lane, uv_loop_t *loop, struct lane_work *work,
	       void (*run)(struct lane_work *work),
	       void (*done)(struct lane_work *work, int status));
/* What has not begun never will; done is called with -ECANCELED all the same, later. */
void lane_cancel(struct lane_work *work);
