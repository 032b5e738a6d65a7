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
#define EMPTY_LOOKS 100 /* then it is ended from here, and looked at once a second */
#define EMPTY_LATER_MILLISECONDS 1000

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
	cgroup_free(launch->payload);
	fault_done(&launch->fault);
	free(launch->cgroup);
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
	uv_close((uv_handle_t *)&launch->overdue.timer, on_handle_closed);
}

static void launch_ended(Launch *launch, const struct outcome_record *record)
{
	if (launch->ended)
		return;
	launch->ended = true;
	overdue_stop(launch);
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

/* Neither a message nor a record: nobody saw the end. What the kernel counted is left. */
static void launch_ended_unseen(Launch *launch)
{
	struct outcome_record record = {.has.ended_at = true, .ended_at = now_microseconds()};
	struct unseen_facts facts = {
		.order = launch->overdue.order,
		.silent = launch->overdue.silent,
	};
	struct outcome_decision decision;

	if (launch->payload) {
		const struct payload_counters *counters = cgroup_counters(launch->payload);

		facts.oom_kills = counters->oom_limit ? counters->oom_kills : 0;
		facts.task_limit_hits = counters->task_limit_hits;
		payload_fill(counters, &record);
	}
	outcome_decide_unseen(&facts, &decision);
	outcome_fill(&decision, &record);
	launch_ended(launch, &record);
}

/*
 * Whether a spare keeper was killed before it made anything of its order: its scope was stopped by
 * hand, say, as the order came. The streams' files come before the sandbox.
 */
static bool launch_did_nothing(const Launch *launch)
{
	return launch->spare && !launch->running && launch->watch->not_started &&
	       faccessat(launch->folder_fd, "stdout", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
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
	} else if (launch_did_nothing(launch)) {
		unlinkat(launch->launcher->keepers_fd, launch->uuid, 0);
		launch->ended = true;
		launch->watch->not_started(launch->context, 0);
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
	else if ((launch->passing || launch->again) && launch->watch->not_started)
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

static void launch_take_running(Launch *launch, const struct channel_packet *packet)
{
	struct keeper_running running;
	struct decode_error error;

	launch->running = true;
	if (message_decode(packet->message, packet->body, &keeper_running_type,
			   UNKNOWN_KEYS_IGNORED, &running, &error) < 0)
		return;
	/* The keeper that says so is its parent's parent, so the number is its own now. */
	if (launch->init_pidfd < 0)
		launch->init_pidfd = (int)syscall(SYS_pidfd_open, running.pid, 0);
	if (!launch->payload)
		cgroup_open(&launch->payload, launch->launcher->loop, launch->pidfd, launch->unit);
	overdue_running(launch, running.has.wall_seconds ? running.wall_seconds : -1);
	if (!launch->ended)
		launch->watch->running(launch->context, running.started_at, running.pid);
}

static void launch_take_ending(Launch *launch, const struct channel_packet *packet)
{
	struct keeper_ending ending;
	struct decode_error error;

	if (message_decode(packet->message, packet->body, &keeper_ending_type, UNKNOWN_KEYS_IGNORED,
			   &ending, &error) < 0)
		ending = (struct keeper_ending){0};
	overdue_ending(launch,
		       ending.has.ended_by ? outcome_order(ending.ended_by) : END_NOT_ORDERED,
		       ending.has.grace_seconds ? ending.grace_seconds : 0);
	launch->watch->ending(launch->context);
}

static void launch_take_packet(Launch *launch, struct channel_packet *packet)
{
	struct outcome_record record;
	struct decode_error error;
	int r;

	if (!launch->greeted && packet->verb != CHANNEL_hello)
		return; /* a keeper that was found has to say whose it is first */
	if (!launch->started)
		return; /* there is nothing to tell yet */
	switch (packet->verb) {
	case CHANNEL_hello:
		launch_take_hello(launch, packet);
		break;
	case CHANNEL_running:
		launch_take_running(launch, packet);
		break;
	case CHANNEL_ending:
		if (!launch->ended)
			launch_take_ending(launch, packet);
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
		/* Ours to say, not the keeper's; and pong, which says no more than that it is there. */
		break;
	}
	if (!launch->ended)
		overdue_heard(launch);
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
	if (launch->payload && !launch->ended)
		cgroup_look(launch->payload);
}

/*
 * The keeper is gone without a word. What it kept may not be: trials-init holds the folder's lock
 * until the sandbox is empty. Our own descriptor is of the same open file, so it is opened anew.
 */
static bool launch_is_empty(const Launch *launch)
{
	return launch_folder_held(launch->folder_fd) != 1 &&
	       (!launch->payload || cgroup_is_empty(launch->payload));
}

static void on_empty_timer(uv_timer_t *timer)
{
	Launch *launch = timer->data;

	if (!launch_is_empty(launch)) {
		if (++launch->looks > EMPTY_LOOKS + 1)
			overdue_tell(launch);
		if (launch->looks != EMPTY_LOOKS)
			return;
		/* It ends its sandbox when its keeper goes, unless it was stopped before. */
		if (launch->init_pidfd >= 0)
			syscall(SYS_pidfd_send_signal, launch->init_pidfd, SIGKILL, NULL, 0);
		if (launch->payload)
			cgroup_kill(launch->payload);
		uv_timer_set_repeat(timer, EMPTY_LATER_MILLISECONDS);
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
	/* Before the manager removes it. */
	if (launch->payload && !launch->ended)
		cgroup_look(launch->payload);
	if (waitid(P_PIDFD, (id_t)launch->pidfd, &info, WEXITED | WNOHANG) < 0 && errno == EINTR)
		return;
	uv_poll_stop(&launch->pidfd_poll);
	launch->reaped = true;
	overdue_stop(launch);
	if (launch->waits)
		spare_gone(launch);
	/* What it said before it went may still be in the channel. */
	if (!launch->ended && launch->started)
		on_channel(&launch->channel_poll, 0, 0);
	if (!launch->ended && !launch->early && !launch->waits)
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
	overdue_init(launch);
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
	overdue_canceled(launch, grace_seconds);
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
		if (launch->waits)
			launch_close_channel(launch);
		if (launch->started)
			channel_send(launch->channel, CHANNEL_taken, NULL, NULL, NULL, 0, true);
		FAULT_POINT(finish_taken);
		uv_timer_start(&launch->timer, on_leave_timer, KEEPER_LEAVE_MILLISECONDS, 0);
	}
	launch_try_free(launch);
}
