/* SPDX-License-Identifier: MIT */
#include "base/lane.h"

#include "base/mem.h"

#include <errno.h>

static void on_work(uv_work_t *uv)
{
	struct lane_work *work = container_of(uv, struct lane_work, work);

	work->run(work);
}

static void on_nothing(uv_work_t *uv)
{
	(void)uv;
}

static void on_over(uv_work_t *uv, int status);

static int start(struct lane_work *work, uv_work_cb run)
{
	int r = uv_queue_work(work->loop, &work->work, run, on_over);

	if (r == 0)
		work->lane->running++;
	return r;
}

static void start_next(struct lane *lane)
{
	struct lane_work *next;

	while (lane->running < lane->most && (next = TAILQ_FIRST(&lane->waiting))) {
		int r;

		TAILQ_REMOVE(&lane->waiting, next, link);
		next->queued = false;
		r = start(next, on_work);
		if (r < 0)
			next->done(next, r);
	}
}

static void on_over(uv_work_t *uv, int status)
{
	struct lane_work *work = container_of(uv, struct lane_work, work);
	struct lane *lane = work->lane;

	lane->running--;
	/* work may be gone behind this. */
	work->done(work, work->canceled ? -ECANCELED : status);
	start_next(lane);
}

int lane_begin(struct lane *lane, uv_loop_t *loop, struct lane_work *work,
	       void (*run)(struct lane_work *work),
	       void (*done)(struct lane_work *work, int status))
{
	work->lane = lane;
	work->loop = loop;
	work->run = run;
	work->done = done;
	work->queued = lane->running >= lane->most;
	work->canceled = false;
	if (!work->queued)
		return start(work, on_work);
	TAILQ_INSERT_TAIL(&lane->waiting, work, link);
	return 0;
}

void lane_cancel(struct lane_work *work)
{
	if (!work->queued) {
		uv_cancel((uv_req_t *)&work->work);
		return;
	}
	/* As work that does nothing, so that done is not called from in here. */
	TAILQ_REMOVE(&work->lane->waiting, work, link);
	work->queued = false;
	/* A thread may have taken it before it can be called off. */
	work->canceled = true;
	if (start(work, on_nothing) == 0)
		uv_cancel((uv_req_t *)&work->work);
}
