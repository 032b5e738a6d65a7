/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/*
 * A small epoll loop for programs that watch a handful of descriptors. Sources are embedded in
 * their owners (container_of in the callback); nothing is allocated per source or per event.
 * A source may be removed in any callback, its own included, and is not called afterwards.
 * Descriptors are borrowed: remove a source before closing its descriptor.
 */
#define LOOP_BATCH 8

struct loop {
	int epoll_fd;
	bool stopped;
	struct epoll_event batch[LOOP_BATCH];
	int batch_next;
	int batch_count;
	int64_t awake_until; /* CLOCK_MONOTONIC, nanoseconds */
};

struct source {
	int fd;							  /* -1 while it is in no loop */
	void (*callback)(struct source *source, uint32_t events); /* EPOLLIN, EPOLLPRI, … */
};

#define SOURCE_INIT ((struct source){.fd = -1})

int loop_init(struct loop *loop);
void loop_done(struct loop *loop);

/* Runs callbacks until loop_stop. -errno when waiting itself fails. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/*
 * Something will be told within so many nanoseconds, most likely: the processor is not left before
 * then, but to those who can run. To be woken up takes some 30 microseconds, which whoever waits for
 * this process waits too.
 */
void loop_stay_awake(struct loop *loop, int64_t nanoseconds);

/* Level-triggered. The source's callback is set by the caller before. */
int loop_add(struct loop *loop, struct source *source, int fd, uint32_t events);
/* Waits for other events from now on: 0 is EPOLLERR and EPOLLHUP alone, which are always told. */
int loop_change(struct loop *loop, struct source *source, uint32_t events);
/* Nothing happens when it is in no loop. */
void loop_remove(struct loop *loop, struct source *source);

/* One shot on CLOCK_MONOTONIC: suspend does not count. */
struct timer {
	struct source source;
	void (*callback)(struct timer *timer);
};

#define TIMER_INIT ((struct timer){.source = {.fd = -1}})

/* Creates the timerfd and adds it, not set. */
int timer_init(struct timer *timer, struct loop *loop, void (*callback)(struct timer *timer));
void timer_done(struct timer *timer, struct loop *loop);

/* Sets or sets again; seconds <= 0: as soon as possible. */
int timer_set(struct timer *timer, double seconds);
void timer_stop(struct timer *timer);
/* Seconds until it fires; 0 when it is not set. */
double timer_left(const struct timer *timer);
