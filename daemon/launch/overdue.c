/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/syscall.h>

#include "launch/attempt.h"

/* From the gate to a main process that runs, as the keeper allows it (begin.c), and its own end. */
#define BEGIN_SECONDS 45.0
/* What a keeper takes from the grace's end to the record: FINISH, then SIGKILL, each two seconds. */
#define FORCE_SECONDS 5.0
/* How often a keeper at work on an end that does not come is asked again. */
#define STUCK_SECONDS 60.0

static void on_overdue(uv_timer_t *timer);

static void keeper_signal(const Launch *launch, int number)
{
	if (launch->pidfd >= 0 && !launch->reaped)
		syscall(SYS_pidfd_send_signal, launch->pidfd, number, NULL, 0);
}

static void overdue_arm(Launch *launch, double seconds)
{
	launch->overdue.asked = false;
	uv_timer_start(&launch->overdue.timer, on_overdue, (uint64_t)(seconds * 1000) + 1, 0);
}

static void overdue_ask(Launch *launch)
{
	keeper_signal(launch, SIGCONT);
	channel_send(launch->channel, CHANNEL_ping, NULL, NULL, NULL, 0, true);
	overdue_arm(launch, OVERDUE_ANSWER_SECONDS);
	launch->overdue.asked = true;
}

void overdue_tell(Launch *launch)
{
	if (!launch->overdue.told && launch->watch->stuck)
		launch->watch->stuck(launch->context);
	launch->overdue.told = true;
}

/* It is there and at work, and yet the end does not come. */
static void overdue_stuck(Launch *launch)
{
	overdue_tell(launch);
	overdue_arm(launch, STUCK_SECONDS);
}

static bool wall_has_passed(const Launch *launch)
{
	const struct overdue *overdue = &launch->overdue;

	return overdue->wall_at && uv_now(launch->launcher->loop) >= overdue->wall_at;
}

static void on_overdue(uv_timer_t *timer)
{
	Launch *launch = timer->data;
	struct overdue *overdue = &launch->overdue;

	if (launch->ended || launch->reaped)
		return;
	if (!overdue->asked) {
		overdue_ask(launch);
		return;
	}
	if (overdue->silent) {
		/* Killed already, and yet there: the kernel does not let go of the keeper itself. */
		overdue_stuck(launch);
		overdue->asked = true;
		return;
	}
	overdue->silent = true;
	if (!overdue->ending && overdue->order == END_NOT_ORDERED && wall_has_passed(launch))
		overdue->order = END_WALL_LIMIT;
	keeper_signal(launch, SIGKILL);
	overdue_arm(launch, OVERDUE_ANSWER_SECONDS);
	overdue->asked = true;
}

void overdue_init(Launch *launch)
{
	uv_timer_init(launch->launcher->loop, &launch->overdue.timer);
	launch->overdue.timer.data = launch;
	launch->handles++;
}

void overdue_begun(Launch *launch)
{
	overdue_arm(launch, BEGIN_SECONDS);
}

/* The next thing that has to be heard from a Trial that runs is its end, at the wall limit. */
static void overdue_await_wall(Launch *launch)
{
	uint64_t now = uv_now(launch->launcher->loop), at = launch->overdue.wall_at;

	if (at)
		overdue_arm(launch,
			    (at > now ? (double)(at - now) / 1000 : 0) + OVERDUE_ANSWER_SECONDS);
	else
		uv_timer_stop(&launch->overdue.timer);
}

static void overdue_limit(Launch *launch, double wall_seconds)
{
	launch->overdue.wall_at = wall_seconds >= 0 ? uv_now(launch->launcher->loop) +
							      (uint64_t)(wall_seconds * 1000) + 1
						    : 0;
}

void overdue_running(Launch *launch, double wall_seconds)
{
	struct overdue *overdue = &launch->overdue;

	overdue->running = true;
	overdue_limit(launch, wall_seconds);
	if (!overdue->ending && overdue->order == END_NOT_ORDERED)
		overdue_await_wall(launch);
}

void overdue_adopted(Launch *launch, double wall_seconds)
{
	overdue_limit(launch, wall_seconds);
	overdue_await_wall(launch);
}

void overdue_canceled(Launch *launch, double grace_seconds)
{
	struct overdue *overdue = &launch->overdue;
	double soon = grace_seconds + FORCE_SECONDS;

	/* It is to end anyhow: whoever stopped it has had the time for that. */
	keeper_signal(launch, SIGCONT);
	if (!overdue->ending && overdue->order == END_NOT_ORDERED)
		overdue->order = wall_has_passed(launch) ? END_WALL_LIMIT : END_CANCEL;
	if (overdue->silent || overdue->asked)
		return;
	if (!overdue->ending)
		overdue_ask(launch);
	else if (grace_seconds >= 0 && soon * 1000 < (double)uv_timer_get_due_in(&overdue->timer))
		overdue_arm(launch, soon);
}

void overdue_ending(Launch *launch, enum end_order order, double grace_seconds)
{
	struct overdue *overdue = &launch->overdue;

	overdue->ending = true;
	/* What the keeper did first is what came first. */
	overdue->order = order;
	if (!overdue->silent)
		overdue_arm(launch, grace_seconds + FORCE_SECONDS);
}

void overdue_heard(Launch *launch)
{
	struct overdue *overdue = &launch->overdue;

	if (!overdue->asked || overdue->silent)
		return;
	if (overdue->ending || (!overdue->running && overdue->order == END_NOT_ORDERED))
		overdue_stuck(launch);
	else if (overdue->order == END_NOT_ORDERED)
		overdue_await_wall(launch);
	else
		overdue_arm(launch, OVERDUE_ANSWER_SECONDS);
}

void overdue_stop(Launch *launch)
{
	uv_timer_stop(&launch->overdue.timer);
}
