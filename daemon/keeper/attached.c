/* SPDX-License-Identifier: MIT */

/* The trialsd that a keeper belongs to goes, and another comes. */
#include "state.h"

/*
 * trialsd is gone; the Trial goes on. A trialsd that is started anew comes by the listener, and if
 * none does, the record in the Trial's folder tells the end.
 */
void keeper_channel_gone(struct keeper *keeper)
{
	loop_remove(&keeper->loop, &keeper->channel_source);
	keeper->channel = fd_close(keeper->channel);
	keeper->channel_open = false;
}

static void drop_caller(struct keeper *keeper)
{
	loop_remove(&keeper->loop, &keeper->caller_source);
	keeper->caller = fd_close(keeper->caller);
}

/* A trialsd that was started anew is told all that the one before it was. The newest counts. */
static void take_caller(struct keeper *keeper)
{
	struct keeper_hello hello = {
		.has = {.version = true, .trial = true, .uuid = true},
		.version = CHANNEL_VERSION,
		.trial = keeper->plan.trial,
		.uuid = keeper->plan.uuid,
	};

	loop_remove(&keeper->loop, &keeper->caller_source);
	keeper_channel_gone(keeper);
	if (loop_add(&keeper->loop, &keeper->channel_source, keeper->caller, EPOLLIN) < 0) {
		drop_caller(keeper);
		return;
	}
	keeper->channel = fd_steal(&keeper->caller);
	keeper->channel_open = true;
	keeper_say(keeper, CHANNEL_hello, &keeper_hello_type, &hello);
	if (keeper->facts.started)
		keeper_say_running(keeper);
	if (keeper->ending_said) {
		keeper->ending_said = false;
		keeper_say_ending(keeper);
	}
	if (keeper->reported && !keeper->keeping)
		keeper_say_ended(keeper);
}

void keeper_on_caller(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, caller_source);
	int r = attach_proved(keeper->caller);

	(void)events;
	if (r == 0)
		take_caller(keeper);
	else if (r != -EAGAIN)
		drop_caller(keeper);
}

void keeper_on_listener(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, listener_source);
	int fd;

	(void)events;
	if (attach_accept(keeper->listener, &fd) < 0)
		return;
	drop_caller(keeper);
	keeper->caller = fd;
	if (loop_add(&keeper->loop, &keeper->caller_source, fd, EPOLLIN) < 0)
		drop_caller(keeper);
}
