/* SPDX-License-Identifier: MIT */

/*
 * One Trial's keeper: what it hears, and what it does about it.
 *
 * Heard: trialsd (cancel, taken, gone), pid 1 of the sandbox (hello, started, exited, empty, its
 * pidfd), bwrap (its stderr, its pidfd), the payload's control group, two clocks, signals. The
 * Trial has ended when bwrap and pid 1 are gone, nothing else is left to us as subreaper, and the
 * control group is empty: keeper_progress looks after every event and is the only way to the
 * record. The end of a pipe decides nothing: anything may hold a pipe open.
 *
 * Every way of ending is a request first (TERM), then an order (FINISH, or the control socket's
 * end), then SIGKILL for pid 1 and cgroup.kill, repeated until it is empty.
 */
#include "keeper.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "pinned.h"
#include "state.h"

#define FORCE_SECONDS 2.0
#define CONTROL_PACKETS_PER_WAKE_UP 16

void keeper_set_deadline(struct keeper *keeper, enum deadline deadline, double seconds)
{
	keeper->deadline = deadline;
	if (deadline == DEADLINE_NONE)
		timer_stop(&keeper->timer);
	else
		timer_set(&keeper->timer, seconds);
}

void keeper_say(struct keeper *keeper, enum channel_verb verb, const struct message_type *type,
		const void *structure)
{
	/* A channel that broke is noticed by its end-of-file. */
	if (keeper->channel_open)
		channel_send(keeper->channel, verb, type, structure, NULL, 0, false);
}

void keeper_say_ending(struct keeper *keeper)
{
	struct keeper_ending ending = {
		.has = {.ended_by = keeper->facts.order != END_NOT_ORDERED,
			.grace_seconds = keeper->deadline == DEADLINE_GRACE},
		.ended_by = outcome_ender(keeper->facts.order),
		.grace_seconds = timer_left(&keeper->timer),
	};

	timer_stop(&keeper->wall);
	timer_stop(&keeper->stall);
	if (!keeper->ending_said)
		keeper_say(keeper, CHANNEL_ending, &keeper_ending_type, &ending);
	keeper->ending_said = true;
}

static void close_control(struct keeper *keeper)
{
	loop_remove(&keeper->loop, &keeper->control_source);
	keeper->sandbox.control = fd_close(keeper->sandbox.control);
}

static bool main_started(const struct keeper *keeper)
{
	return keeper->facts.started;
}

/* Whether the end has begun, ordered or not: nothing after it can name the outcome. */
static bool is_decided(const struct keeper *keeper)
{
	const struct outcome_facts *facts = &keeper->facts;

	return facts->order != END_NOT_ORDERED || keeper->has_fault || facts->not_started ||
	       facts->exited || facts->init_gone || facts->bwrap_gone;
}

void keeper_fail(struct keeper *keeper, int r)
{
	if (!is_decided(keeper)) {
		if (r < 0)
			fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				   "the keeper failed: %s", strerror(-r));
		keeper->has_fault = true;
	}
	keeper_forget_start(keeper);
	close_control(keeper);
	keeper_stop_keeping(keeper);
	keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
}

void keeper_order(struct keeper *keeper, enum end_order order, double grace)
{
	if (keeper->reported || keeper->facts.exited)
		return;
	if (is_decided(keeper)) {
		if (keeper->deadline == DEADLINE_GRACE && grace < timer_left(&keeper->timer))
			keeper_set_deadline(keeper, DEADLINE_GRACE, grace);
		return;
	}
	keeper->facts.order = order;
	if (main_started(keeper)) {
		sandbox_signal(&keeper->sandbox,
			       keeper->plan.stop_signal ? (int)keeper->plan.stop_signal : SIGTERM);
		keeper_set_deadline(keeper, DEADLINE_GRACE, grace);
	} else if (keeper->go) {
		sandbox_finish(&keeper->sandbox);
		keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
	} else {
		keeper_fail(keeper, 0);
	}
	keeper_say_ending(keeper);
}

/* pid 1 */

static void take_hello(struct keeper *keeper, const struct control_packet *packet)
{
	int r;

	if (keeper->has_boundary) {
		keeper_fail(keeper, -EBADMSG);
		return;
	}
	keeper->has_boundary = true;
	r = loop_add(&keeper->loop, &keeper->init_source, keeper->sandbox.init_fd, EPOLLIN);
	if (r == 0)
		r = keeper->plan.no_sandbox
			    ? boundary_check_bare(packet, keeper->namespaces, getuid(),
						  &keeper->boundary, &keeper->fault)
			    : boundary_check(packet, keeper->namespaces, getuid(),
					     keeper->plan.network, &keeper->boundary,
					     &keeper->fault);
	if (r == 0)
		r = pinned_check(keeper->sandbox.init_pid, &keeper->plan.pinned, &keeper->fault);
	if (r == 0)
		r = keeper_open_network(keeper, packet);
	if (r == 0)
		r = keeper_prepare_home(keeper);
	if (r != 0)
		keeper_fail(keeper, r);
}

void keeper_say_running(struct keeper *keeper)
{
	struct keeper_running running = {
		.has = {.started_at = true,
			.pid = true,
			.wall_seconds = keeper->plan.has.wall_seconds},
		.started_at = keeper->span.start.wall,
		.pid = (uint64_t)keeper->sandbox.init_pid,
		.wall_seconds = span_left(&keeper->span, keeper->plan.wall_seconds),
	};

	keeper_say(keeper, CHANNEL_running, &keeper_running_type, &running);
}

static void take_started(struct keeper *keeper)
{
	if (keeper->facts.started)
		return;
	keeper->facts.started = true;
	keeper->span.has_start = true;
	moment_now(&keeper->span.start);
	keeper_say_running(keeper);
	if (keeper->facts.order != END_NOT_ORDERED)
		return;
	keeper_set_deadline(keeper, DEADLINE_NONE, 0);
	if (keeper->plan.has.wall_seconds)
		timer_set(&keeper->wall, keeper->plan.wall_seconds);
	keeper_stall_look(keeper);
}

static void take_control(struct keeper *keeper, const struct control_packet *packet)
{
	switch (packet->type) {
	case CONTROL_HELLO:
		take_hello(keeper, packet);
		break;
	case CONTROL_STARTED:
		take_started(keeper);
		break;
	case CONTROL_NOT_STARTED:
		keeper->facts.not_started = true;
		keeper->facts.step = packet->not_started.step;
		keeper->facts.error = packet->not_started.error;
		keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
		break;
	case CONTROL_EXITED:
		keeper->facts.exited = true;
		keeper->facts.status = packet->exited.status;
		keeper_say_ending(keeper);
		keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
		break;
	case CONTROL_EMPTY:
		keeper->has_usage = true;
		keeper->usage = packet->empty.usage;
		break;
	case CONTROL_COUNTED:
		keeper_stall_counted(keeper, &packet->counted.usage);
		break;
	default:
		break;
	}
}

/* What is in the control socket, up to a bound. */
static void read_control(struct keeper *keeper)
{
	struct control_packet packet;
	int i, r;

	for (i = 0; i < CONTROL_PACKETS_PER_WAKE_UP; i++) {
		if (keeper->sandbox.control < 0)
			return;
		r = sandbox_receive(&keeper->sandbox, &packet);
		if (r == -EAGAIN)
			return;
		if (r <= 0) {
			close_control(keeper);
			if (!keeper->go && !is_decided(keeper))
				keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
			else if (r < 0)
				sandbox_kill(&keeper->sandbox);
			return;
		}
		take_control(keeper, &packet);
	}
}

static void on_control(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, control_source);

	(void)events;
	read_control(keeper);
	keeper_progress(keeper);
}

static void on_init(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, init_source);

	(void)events;
	/* Its last words count, and may not have been read yet. */
	read_control(keeper);
	loop_remove(&keeper->loop, source);
	keeper->sandbox.init_fd = fd_close(keeper->sandbox.init_fd);
	if (!keeper->facts.exited && !keeper->facts.not_started)
		keeper->facts.init_gone = true;
	close_control(keeper);
	if (keeper->go)
		keeper_say_ending(keeper);
	keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
	keeper_progress(keeper);
}

/* bwrap */

static void on_text(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, text_source);

	(void)events;
	if (!sandbox_read_text(&keeper->sandbox))
		loop_remove(&keeper->loop, source);
}

/* bwrap ended and pid 1 never reported: what bwrap said is the reason. */
static void fault_from_bwrap(struct keeper *keeper, int status)
{
	char *text = keeper->sandbox.text;
	int error = sandbox_exec_error(&keeper->sandbox);
	size_t size;

	if (is_decided(keeper)) {
		keeper_fail(keeper, 0);
		return;
	}
	sandbox_read_text(&keeper->sandbox);
	size = keeper->sandbox.text_size;
	while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
		text[--size] = '\0';
	if (error < 0)
		fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
			   "bwrap cannot be started: exec: %s", strerror(-error));
	else if (size > 0)
		fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
			   "the sandbox could not be built: %s", text);
	else if (WIFSIGNALED(status))
		fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
			   "bwrap was ended by signal %d before the sandbox was up",
			   WTERMSIG(status));
	else
		fault_void(
			&keeper->fault, CAUSE_sandbox_unavailable,
			"bwrap exited with %d before the sandbox was up: it may not be the bwrap it should be",
			WEXITSTATUS(status));
	keeper_fail(keeper, FAULT);
}

static bool init_is_there(const struct keeper *keeper)
{
	struct pollfd ready = {.fd = keeper->sandbox.init_fd, .events = POLLIN};

	return ready.fd >= 0 && poll(&ready, 1, 0) == 0;
}

static void take_signals(struct keeper *keeper);

static void on_bwrap(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, bwrap_source);
	int fd = keeper->sandbox.bwrap_fd, status = 0;

	(void)events;
	/* A session that is going down ends keeper and bwrap alike; that is heard first. */
	take_signals(keeper);
	read_control(keeper);
	loop_remove(&keeper->loop, source);
	if (!sandbox_reap_bwrap(&keeper->sandbox, &status)) {
		loop_add(&keeper->loop, source, fd, EPOLLIN);
		return;
	}
	if (!keeper->sandbox.init_pid) {
		fault_from_bwrap(keeper, status);
		/* What it leaves waits for it, for ever. */
		sandbox_kill(&keeper->sandbox);
	} else if (!keeper->facts.exited && !keeper->facts.not_started && init_is_there(keeper)) {
		if (!is_decided(keeper)) {
			keeper->facts.bwrap_gone = true;
			keeper->facts.bwrap_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		}
		keeper_say_ending(keeper);
		sandbox_finish(&keeper->sandbox);
		keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
	}
	keeper_progress(keeper);
}

/* trialsd */

static void take_cancel(struct keeper *keeper, struct channel_packet *packet)
{
	struct decode_error error;
	struct keeper_cancel cancel;

	if (message_decode(packet->message, packet->body, &keeper_cancel_type, UNKNOWN_KEYS_IGNORED,
			   &cancel, &error) < 0)
		cancel = (struct keeper_cancel){0};
	keeper_order(keeper, END_CANCEL,
		     cancel.has.grace_seconds ? cancel.grace_seconds : keeper->plan.grace_seconds);
}

static void on_channel(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, channel_source);
	struct channel_packet packet;
	int r;

	(void)events;
	r = channel_receive(keeper->channel, true, &packet);
	if (r == 1) {
		if (packet.verb == CHANNEL_cancel)
			take_cancel(keeper, &packet);
		else if (packet.verb == CHANNEL_taken)
			keeper->taken = keeper->reported && !keeper->keeping;
		else if (packet.verb == CHANNEL_ping)
			keeper_say(keeper, CHANNEL_pong, NULL, NULL);
		channel_packet_done(&packet);
	} else if (r != -EAGAIN && r != -EBADMSG && r != -ENOMEM) {
		keeper_channel_gone(keeper);
	}
	keeper_progress(keeper);
}

static void on_login(struct logins *logins, const struct login_result *result)
{
	keeper_say(container_of(logins, struct keeper, logins), CHANNEL_login, &login_result_type,
		   result);
}

/* Clocks and signals */

static void on_wall(struct timer *timer)
{
	struct keeper *keeper = container_of(timer, struct keeper, wall);

	keeper_order(keeper, END_WALL_LIMIT, keeper->plan.grace_seconds);
	keeper_progress(keeper);
}

static void on_stall(struct timer *timer)
{
	keeper_stall_look(container_of(timer, struct keeper, stall));
}

static void force(struct keeper *keeper)
{
	if (!is_decided(keeper)) {
		fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
			   "the sandbox's first process let go of its keeper without a report");
		keeper->has_fault = true;
	}
	keeper_stop_keeping(keeper);
	sandbox_kill(&keeper->sandbox);
	if (keeper->payload.fd >= 0)
		payload_kill(&keeper->payload);
	keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
}

static void on_deadline(struct timer *timer)
{
	struct keeper *keeper = container_of(timer, struct keeper, timer);

	switch (keeper->deadline) {
	case DEADLINE_HELLO:
		if (!is_decided(keeper))
			fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				   keeper->go ? "the main process was not started in time"
					      : "the sandbox was not up in time");
		keeper_fail(keeper, FAULT);
		break;
	case DEADLINE_GRACE:
		sandbox_finish(&keeper->sandbox);
		keeper_set_deadline(keeper, DEADLINE_FORCE, FORCE_SECONDS);
		break;
	case DEADLINE_FORCE:
		force(keeper);
		break;
	case DEADLINE_RECORD:
		keeper_set_deadline(keeper, DEADLINE_NONE, 0);
		keeper_write_record(keeper);
		break;
	case DEADLINE_KEEP:
		keeper_keep_overdue(keeper);
		break;
	default:
		break;
	}
	keeper_progress(keeper);
}

/* There is nothing left to keep but the record: whoever tells us to end has that or does without. */
static void leave_now(struct keeper *keeper)
{
	keeper_channel_gone(keeper);
	if (!keeper->durable)
		keeper_write_record(keeper);
	loop_stop(&keeper->loop);
}

static void take_signals(struct keeper *keeper)
{
	struct signalfd_siginfo info;

	while (read(keeper->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (keeper->reported)
			leave_now(keeper);
		else
			keeper_order(keeper, END_OUTSIDE, keeper->plan.grace_seconds);
	}
}

static void on_signal(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, signal_source);

	(void)events;
	take_signals(keeper);
	keeper_progress(keeper);
}

static void on_payload(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, payload_source);

	(void)events;
	/* The notification stands until the file is read. */
	payload_populated(&keeper->payload);
	keeper_progress(keeper);
}

/* The end */

static bool is_empty(struct keeper *keeper)
{
	if (keeper->sandbox.bwrap_fd >= 0 || keeper->sandbox.init_fd >= 0)
		return false;
	if (!sandbox_reap_rest(&keeper->sandbox))
		return false;
	if (keeper->payload.fd < 0 || payload_populated(&keeper->payload) == 0)
		return true;
	/* Neither of pid 1's namespace nor ours: somebody put it there from outside. */
	payload_kill(&keeper->payload);
	return false;
}

static void try_leave(struct keeper *keeper)
{
	if (keeper->keeping || (!keeper->taken && keeper->channel_open))
		return;
	/* trialsd went without taking it: now the file is what counts. */
	if (!keeper->taken && !keeper->durable && keeper->deadline != DEADLINE_RECORD)
		keeper_write_record(keeper);
	if (keeper->taken || keeper->deadline != DEADLINE_RECORD)
		loop_stop(&keeper->loop);
}

void keeper_progress(struct keeper *keeper)
{
	if (!keeper->reported && is_empty(keeper))
		keeper_report(keeper);
	if (keeper->reported)
		try_leave(keeper);
}

static int watch_signals(struct keeper *keeper)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	keeper->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0)
		return -errno;
	return loop_add(&keeper->loop, &keeper->signal_source, keeper->signals, EPOLLIN);
}

static int keeper_init(struct keeper *keeper, int channel, struct channel_packet *start,
		       struct payload *payload)
{
	int r;

	*keeper = (struct keeper){
		.loop.epoll_fd = -1,
		.channel = channel,
		.channel_open = true,
		.channel_source = {.fd = -1, .callback = on_channel},
		.keepers = fd_steal(&start->descriptors[CHANNEL_FD_KEEPERS]),
		.listener = -1,
		.listener_source = {.fd = -1, .callback = keeper_on_listener},
		.caller = -1,
		.caller_source = {.fd = -1, .callback = keeper_on_caller},
		.signals = -1,
		.signal_source = {.fd = -1, .callback = on_signal},
		.start = start,
		.folder = fd_steal(&start->descriptors[CHANNEL_FD_FOLDER]),
		.stdio = {-1, -1, -1},
		.control_source = {.fd = -1, .callback = on_control},
		.text_source = {.fd = -1, .callback = on_text},
		.bwrap_source = {.fd = -1, .callback = on_bwrap},
		.init_source = {.fd = -1, .callback = on_init},
		.payload = *payload,
		.payload_source = {.fd = -1, .callback = on_payload},
		.captures = {{.source = SOURCE_INIT, .file = -1},
			     {.source = SOURCE_INIT, .file = -1},
			     {.source = SOURCE_INIT, .file = -1}},
		.record_file = RECORD_FILE_INIT,
		.git = GIT_WATCH_INIT,
		.logins = {.changed = on_login},
		.keep = KEEP_INIT,
		.keep_source = SOURCE_INIT,
		.wall = TIMER_INIT,
		.stall = TIMER_INIT,
		.timer = TIMER_INIT,
		.fault = FAULT_INIT,
	};
	*payload = PAYLOAD_INIT;
	sandbox_init(&keeper->sandbox);
	r = loop_init(&keeper->loop);
	if (r == 0)
		r = timer_init(&keeper->wall, &keeper->loop, on_wall);
	if (r == 0)
		r = timer_init(&keeper->stall, &keeper->loop, on_stall);
	if (r == 0)
		r = timer_init(&keeper->timer, &keeper->loop, on_deadline);
	if (r == 0)
		r = watch_signals(keeper);
	if (r == 0)
		r = loop_add(&keeper->loop, &keeper->channel_source, channel, EPOLLIN);
	return r;
}

static void keeper_done(struct keeper *keeper)
{
	size_t i;

	network_done(&keeper->network);
	for (i = 0; i < STREAM_COUNT; i++)
		capture_done(&keeper->captures[i]);
	keeper_forget_start(keeper);
	sandbox_done(&keeper->sandbox);
	payload_done(&keeper->payload);
	timer_done(&keeper->wall, &keeper->loop);
	timer_done(&keeper->stall, &keeper->loop);
	timer_done(&keeper->timer, &keeper->loop);
	keep_done(&keeper->keep);
	loop_done(&keeper->loop);
	fd_close(keeper->signals);
	record_file_done(&keeper->record_file, keeper->folder);
	git_watch_done(&keeper->git);
	/* Nothing is left: now the leases may go. */
	for (i = 0; i < keeper->lease_count; i++)
		fd_close(keeper->leases[i]);
	logins_done(&keeper->logins);
	if (keeper->listener >= 0)
		unlinkat(keeper->keepers, keeper->plan.uuid, 0);
	fd_close(keeper->listener);
	fd_close(keeper->caller);
	fd_close(keeper->keepers);
	fd_close(keeper->folder);
	message_free(keeper->plan_message);
	fault_done(&keeper->fault);
}

int keeper_run(int channel, struct channel_packet *start, struct payload *payload)
{
	static struct keeper keeper;
	int r;

	if (start->count < CHANNEL_FD_BINDS) {
		channel_packet_done(start);
		return -EBADMSG;
	}
	r = keeper_init(&keeper, channel, start, payload);
	if (r == 0) {
		r = keeper_begin(&keeper);
		if (r != 0)
			keeper_fail(&keeper, r);
		keeper_progress(&keeper);
		r = keeper.loop.stopped ? 0 : loop_run(&keeper.loop);
	}
	if (r == 0 && !keeper.taken)
		r = keeper.result;
	keeper_done(&keeper);
	return r;
}
