/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <errno.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/mem.h"
#include "base/now.h"

/* What a timerfd can surely hold; nobody waits for longer. */
#define TIMER_SECONDS_MAX (100.0 * 365 * 24 * 3600)

int loop_init(struct loop *loop)
{
	*loop = (struct loop){.epoll_fd = -1};
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll_fd < 0 ? -errno : 0;
}

void loop_done(struct loop *loop)
{
	loop->epoll_fd = fd_close(loop->epoll_fd);
}

/* Others that can run do so. */
static int wait_for(struct loop *loop)
{
	int n;

	while (loop->awake_until > now_monotonic()) {
		n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, 0);
		if (n != 0)
			return n;
		sched_yield();
	}
	return epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, -1);
}

int loop_run(struct loop *loop)
{
	int n;

	loop->stopped = false;
	while (!loop->stopped) {
		n = wait_for(loop);
		if (n < 0 && errno != EINTR)
			return -errno;
		loop->batch_count = n < 0 ? 0 : n;
		for (loop->batch_next = 0; loop->batch_next < loop->batch_count;) {
			struct epoll_event *event = &loop->batch[loop->batch_next++];
			struct source *source = event->data.ptr;

			/* NULL: removed by a callback before it in this batch. */
			if (source && !loop->stopped)
				source->callback(source, event->events);
		}
		loop->batch_count = 0;
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

void loop_stay_awake(struct loop *loop, int64_t nanoseconds)
{
	loop->awake_until = now_monotonic() + nanoseconds;
}

int loop_add(struct loop *loop, struct source *source, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	source->fd = fd;
	return 0;
}

int loop_change(struct loop *loop, struct source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno : 0;
}

void loop_remove(struct loop *loop, struct source *source)
{
	int i;

	if (source->fd < 0)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
	for (i = loop->batch_next; i < loop->batch_count; i++)
		if (loop->batch[i].data.ptr == source)
			loop->batch[i].data.ptr = NULL;
}

static void on_timer(struct source *source, uint32_t events)
{
	struct timer *timer = container_of(source, struct timer, source);
	uint64_t expirations;

	(void)events;
	/* Nothing to read: it was set again or stopped since it fired. */
	if (read(source->fd, &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations))
		timer->callback(timer);
}

int timer_init(struct timer *timer, struct loop *loop, void (*callback)(struct timer *timer))
{
	int fd, r;

	*timer = TIMER_INIT;
	timer->callback = callback;
	timer->source.callback = on_timer;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = loop_add(loop, &timer->source, fd, EPOLLIN);
	if (r < 0)
		fd_close(fd);
	return r;
}

void timer_done(struct timer *timer, struct loop *loop)
{
	int fd = timer->source.fd;

	loop_remove(loop, &timer->source);
	fd_close(fd);
}

int timer_set(struct timer *timer, double seconds)
{
	struct itimerspec value = {0};

	if (seconds > TIMER_SECONDS_MAX)
		seconds = TIMER_SECONDS_MAX;
	if (seconds > 0) {
		value.it_value.tv_sec = (time_t)seconds;
		value.it_value.tv_nsec = (long)((seconds - (double)value.it_value.tv_sec) * 1e9);
	}
	/* All zero would stop it instead. */
	if (value.it_value.tv_sec == 0 && value.it_value.tv_nsec == 0)
		value.it_value.tv_nsec = 1;
	return timerfd_settime(timer->source.fd, 0, &value, NULL) < 0 ? -errno : 0;
}

void timer_stop(struct timer *timer)
{
	const struct itimerspec never = {0};

	timerfd_settime(timer->source.fd, 0, &never, NULL);
}

double timer_left(const struct timer *timer)
{
	struct itimerspec value;

	if (timerfd_gettime(timer->source.fd, &value) < 0)
		return 0;
	return (double)value.it_value.tv_sec + (double)value.it_value.tv_nsec / 1e9;
}
