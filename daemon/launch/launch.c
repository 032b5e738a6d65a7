/* SPDX-License-Identifier: MIT */

/*
 * One launch and its keeper, as trialsd sees them.
 *
 * Two things are watched: the channel, which brings what the keeper says, and the keeper's pidfd,
 * which says that it is gone and, when it is our child, can be reaped. The record decides; where it
 * does not come by the channel it is looked for in the Trial's folder, and only when both are
 * absent does a launch end as lost. gate.c starts keepers, adopt.c finds those of an earlier life.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fault_point.h"
#include "base/now.h"
#include "keeper/record.h"
#include "launch/attempt.h"

/* How long a keeper that has said its last word may take to leave before it is ended. */
#define KEEPER_LEAVE_MILLISECONDS 5000
/* How often a sandbox without a keeper is looked at; it ends itself within milliseconds. */
#define EMPTY_POLL_MILLISECONDS 10
#define EMPTY_LOOKS 100 /* then its pid 1 is ended from here */

/* The end. */

static void on_handle_closed(uv_handle_t *handle)
{
	Launch *launch = handle->data;
	Launcher *launcher = launch->launcher;

	if (--launch->handles > 0)
		return;
	fd_close(launch->channel);
	fd_close(launch->pidfd);
	fd_close(launch->init_pidfd);
	fd_close(launch->folder_fd);
	fd_close(launch->stdin_fd);
	fault_done(&launch->fault);
	free(launch);
	launcher_put(launcher);
}

static void launch_try_free(Launch *launch)
{
	if (!launch->finished || !launch->reaped || launch->closing)
		return;
	launch->closing = true;
	if (launch->scope_pending)
		scope_start_abandon(&launch->scope);
	if (launch->channel >= 0)
		uv_close((uv_handle_t *)&launch->channel_poll, on_handle_closed);
	if (launch->pidfd >= 0)
		uv_close((uv_handle_t *)&launch->pidfd_poll, on_handle_closed);
	uv_close((uv_handle_t *)&launch->timer, on_handle_closed);
}

static void launch_ended(Launch *launch, const struct outcome_record *record)
{
	if (launch->ended)
		return;
	launch->ended = true;
	launch->watch->ended(launch->context, record);
}

static void launch_ended_by_fault(Launch *launch, const struct fault *fault)
{
	struct outcome_record record = {
		.has = {.outcome = true, .cause = true, .ended_by = true, .ended_at = true},
		.outcome = OUTCOME_void,
		.cause = fault->cause,
		.ended_by = ENDER_daemon,
		.message = fault->message,
		.hint = fault->hint,
		.ended_at = now_microseconds(),
	};

	record.has.message = record.message != NULL;
	record.has.hint = record.hint != NULL;
	launch_ended(launch, &record);
}

/* Neither a message nor a record: nobody saw the end. */
static void launch_ended_unseen(Launch *launch)
{
	struct outcome_record record = {
		.has = {.outcome = true, .ended_by = true, .ended_at = true, .message = true},
		.outcome = OUTCOME_lost,
		.ended_by = ENDER_outside,
		.message =
			"the Trial's keeper is gone and left no record: it was killed from outside",
		.ended_at = now_microseconds(),
	};

	launch_ended(launch, &record);
}

static void launch_ended_from_folder(Launch *launch)
{
	struct message *message = NULL;
	struct outcome_record record;

	if (launch->ended)
		return;
	if (record_read(launch->folder_fd, &message, &record) == 0) {
		launch_ended(launch, &record);
		message_free(message);
	} else if (!launch->started) {
		fault_void(&launch->fault, CAUSE_sandbox_unavailable,
			   "the keeper ended before the sandbox was started");
		launch_ended_by_fault(launch, &launch->fault);
	} else {
		launch_ended_unseen(launch);
	}
}

/* Gives the gate's end-of-file, or the end of what runs; the pidfd then reports the keeper. */
void launch_close_channel(Launch *launch)
{
	if (launch->channel < 0)
		return;
	uv_poll_stop(&launch->channel_poll);
	shutdown(launch->channel, SHUT_RDWR);
}

static void on_fail_timer(uv_timer_t *timer)
{
	Launch *launch = timer->data;
	struct outcome_record record = {
		.has = {.outcome = true, .ended_by = true, .ended_at = true, .message = true},
		.outcome = OUTCOME_canceled,
		.ended_by = ENDER_client,
		.message = "canceled before it was started",
		.ended_at = now_microseconds(),
	};

	if (launch->canceled)
		launch_ended(launch, &record);
	else if (launch->passing)
		launch->watch->not_started(launch->context, launch->passing);
	else
		launch_ended_by_fault(launch, &launch->fault);
}

/*
 * Before anything ran: closes the gate and tells the owner from the loop, so that nothing is ever
 * called from within launch_new.
 */
void launch_fail(Launch *launch)
{
	launch->early = true;
	launch_close_channel(launch);
	uv_timer_start(&launch->timer, on_fail_timer, 0, 0);
}

/* What the keeper says. */

static void launch_take_hello(Launch *launch, const struct channel_packet *packet)
{
	struct keeper_hello hello;
	struct decode_error error;

	if (message_decode(packet->message, packet->body, &keeper_hello_type, UNKNOWN_KEYS_IGNORED,
			   &hello, &error) == 0 &&
	    hello.trial == launch->id && strcmp(hello.uuid, launch->uuid) == 0)
		launch->greeted = true;
}

static void launch_take_packet(Launch *launch, struct channel_packet *packet)
{
	struct keeper_running running;
	struct outcome_record record;
	struct decode_error error;
	int r;

	if (!launch->greeted && packet->verb != CHANNEL_hello)
		return; /* a keeper that was found has to say whose it is first */
	switch (packet->verb) {
	case CHANNEL_hello:
		launch_take_hello(launch, packet);
		break;
	case CHANNEL_running:
		r = message_decode(packet->message, packet->body, &keeper_running_type,
				   UNKNOWN_KEYS_IGNORED, &running, &error);
		/* The keeper that says so is its parent's parent, so the number is its own now. */
		if (r == 0 && launch->init_pidfd < 0)
			launch->init_pidfd = (int)syscall(SYS_pidfd_open, running.pid, 0);
		if (r == 0 && !launch->ended)
			launch->watch->running(launch->context, running.started_at, running.pid);
		break;
	case CHANNEL_ending:
		if (!launch->ended)
			launch->watch->ending(launch->context);
		break;
	case CHANNEL_ended:
		r = message_decode(packet->message, packet->body, &outcome_record_type,
				   UNKNOWN_KEYS_IGNORED, &record, &error);
		if (r == 0 && record.has.outcome)
			launch_ended(launch, &record);
		else
			launch_ended_from_folder(launch);
		break;
	default:
		/* Ours to say, not the keeper's. */
		break;
	}
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
	Launch *launch = poll->data;
	struct channel_packet packet;
	int r;

	(void)status;
	(void)events;
	for (;;) {
		r = channel_receive(launch->channel, true, &packet);
		if (r == -EAGAIN)
			return;
		if (r <= 0)
			break;
		launch_take_packet(launch, &packet);
		channel_packet_done(&packet);
	}
	/* End-of-file: the pidfd tells when the keeper is gone, and then the folder is read. */
	uv_poll_stop(&launch->channel_poll);
}

/*
 * The keeper is gone without a word. What it kept may not be: trials-init holds the folder's lock
 * until the sandbox is empty. Our own descriptor is of the same open file, so it is opened anew.
 */
static void on_empty_timer(uv_timer_t *timer)
{
	Launch *launch = timer->data;

	if (launch_folder_held(launch->folder_fd) == 1) {
		/* It ends its sandbox when its keeper goes, unless it was stopped before. */
		if (launch->init_pidfd >= 0 && ++launch->looks == EMPTY_LOOKS)
			syscall(SYS_pidfd_send_signal, launch->init_pidfd, SIGKILL, NULL, 0);
		return;
	}
	uv_timer_stop(timer);
	launch_ended_from_folder(launch);
}

static void launch_await_empty(Launch *launch)
{
	int fd, r = launch_folder(launch->launcher->trials_fd, launch->id, false, &fd);

	if (r < 0) {
		launch_ended_from_folder(launch);
		return;
	}
	fd_close(launch->folder_fd);
	launch->folder_fd = fd;
	uv_timer_start(&launch->timer, on_empty_timer, 0, EMPTY_POLL_MILLISECONDS);
}

static void on_pidfd(uv_poll_t *poll, int status, int events)
{
	Launch *launch = poll->data;
	siginfo_t info;

	(void)status;
	(void)events;
	if (waitid(P_PIDFD, (id_t)launch->pidfd, &info, WEXITED | WNOHANG) < 0 && errno == EINTR)
		return;
	uv_poll_stop(&launch->pidfd_poll);
	launch->reaped = true;
	/* What it said before it went may still be in the channel. */
	if (!launch->ended && launch->started)
		on_channel(&launch->channel_poll, 0, 0);
	if (!launch->ended && !launch->early)
		launch_await_empty(launch);
	launch_try_free(launch);
}

/* Making one, and listening. */

static int launch_watch_descriptor(Launch *launch, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
	int r = uv_poll_init(launch->launcher->loop, poll, fd);

	if (r < 0)
		return r;
	poll->data = launch;
	launch->handles++;
	return uv_poll_start(poll, UV_READABLE, callback);
}

int launch_listen(Launch *launch, int channel)
{
	int r = launch_watch_descriptor(launch, &launch->channel_poll, channel, on_channel);

	if (r < 0) {
		close(channel);
		return r;
	}
	launch->channel = channel;
	return 0;
}

int launch_listen_keeper(Launch *launch, int pidfd)
{
	int r = launch_watch_descriptor(launch, &launch->pidfd_poll, pidfd, on_pidfd);

	if (r < 0) {
		close(pidfd);
		return r;
	}
	launch->pidfd = pidfd;
	launch->reaped = false;
	return 0;
}

int launch_make(Launch **ret_launch, Launcher *launcher, uint64_t id, const char *uuid,
		const char *unit, const struct launch_watch *watch, void *context)
{
	Launch *launch = calloc(1, sizeof(*launch));

	if (!launch)
		return -ENOMEM;
	launch->launcher = launcher;
	launch->watch = watch;
	launch->context = context;
	launch->id = id;
	launch->fault = FAULT_INIT;
	launch->folder_fd = launch->stdin_fd = launch->channel = launch->pidfd = -1;
	launch->init_pidfd = -1;
	launch->reaped = true; /* nothing to reap until there is a keeper */
	snprintf(launch->uuid, sizeof(launch->uuid), "%s", uuid);
	snprintf(launch->unit, sizeof(launch->unit), "%s", unit);
	uv_timer_init(launcher->loop, &launch->timer);
	launch->timer.data = launch;
	launch->handles = 1;
	launcher->launches++;
	*ret_launch = launch;
	return 0;
}

/* What the owner orders. */

void launch_cancel(Launch *launch, double grace_seconds)
{
	struct keeper_cancel cancel = {
		.has = {.grace_seconds = grace_seconds >= 0},
		.grace_seconds = grace_seconds,
	};

	if (launch->ended)
		return;
	if (!launch->started) {
		if (!launch->early) {
			launch->canceled = true;
			launch_fail(launch);
		}
		return;
	}
	FAULT_POINT(cancel_recorded);
	channel_send(launch->channel, CHANNEL_cancel, &keeper_cancel_type, &cancel, NULL, 0, true);
}

bool launch_leave(Launch *launch)
{
	if (!launch->started && !launch->ended) {
		launch->early = true;
		launch_close_channel(launch);
		return true;
	}
	launch->ended = true; /* whatever it still says is for the next trialsd */
	launch->finished = true;
	launch->reaped = true;
	launch_try_free(launch);
	return false;
}

static void on_leave_timer(uv_timer_t *timer)
{
	Launch *launch = timer->data;

	/* Its sandbox is empty and its record is kept: there is nothing left that it could hold. */
	syscall(SYS_pidfd_send_signal, launch->pidfd, SIGKILL, NULL, 0);
}

void launch_finish(Launch *launch)
{
	launch->finished = true;
	if (!launch->reaped) {
		if (launch->started)
			channel_send(launch->channel, CHANNEL_taken, NULL, NULL, NULL, 0, true);
		FAULT_POINT(finish_taken);
		uv_timer_start(&launch->timer, on_leave_timer, KEEPER_LEAVE_MILLISECONDS, 0);
	}
	launch_try_free(launch);
}
