/* SPDX-License-Identifier: MIT */

/*
 * One launch and its keeper, as trialsd sees them.
 *
 * The keeper is a child, spawned with posix_spawn (fork would copy the page tables of a daemon
 * that may be large). Two things are watched: the channel, which brings what the keeper says, and
 * the keeper's pidfd, which says that it is gone and can be reaped. The record decides; where it
 * does not come by the channel it is looked for in the Trial's folder, and only when both are
 * absent does a launch end as lost.
 *
 * The Trial's folder is locked (flock) through the descriptor the keeper receives: the lock lives
 * as long as the keeper does, so a restarted daemon can see that one is there.
 */
#include "launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "keeper/channel.h"
#include "keeper/record.h"
#include "launch/launcher.h"

/* How long a keeper that has said its last word may take to leave before it is ended. */
#define KEEPER_LEAVE_MILLISECONDS 5000

struct Launch {
	Launcher *launcher;
	const struct launch_watch *watch;
	void *context;
	uint64_t id;
	char uuid[37];
	char unit[128];
	struct keeper_plan plan; /* what it points to is the owner's, until the gate is open */
	const int *descriptors;
	int folder_fd;
	int stdin_fd;
	int channel;
	int pidfd;
	pid_t pid;
	struct scope_start scope;
	uv_poll_t channel_poll;
	uv_poll_t pidfd_poll;
	uv_timer_t timer;
	int handles; /* not yet closed */
	bool scope_pending;
	bool started;  /* the gate was opened */
	bool canceled; /* before the gate opened: nothing is started any more */
	bool ended;    /* watch->ended was called */
	bool reaped;
	bool finished;	    /* the owner has let go */
	bool early;	    /* ended before anything ran; told from the timer */
	struct fault fault; /* why, when early */
};

static uint64_t now_microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* The end. */

static void on_handle_closed(uv_handle_t *handle)
{
	Launch *launch = handle->data;
	Launcher *launcher = launch->launcher;

	if (--launch->handles > 0)
		return;
	fd_close(launch->channel);
	fd_close(launch->pidfd);
	fd_close(launch->folder_fd);
	fd_close(launch->stdin_fd);
	fault_done(&launch->fault);
	free(launch);
	launcher_put(launcher);
}

static void launch_try_free(Launch *launch)
{
	if (!launch->finished || !launch->reaped || launch->handles < 0)
		return;
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
static void launch_close_channel(Launch *launch)
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
	else
		launch_ended_by_fault(launch, &launch->fault);
}

/*
 * Before anything ran: closes the gate and tells the owner from the loop, so that nothing is ever
 * called from within launch_new.
 */
static void launch_fail(Launch *launch)
{
	launch->early = true;
	launch_close_channel(launch);
	uv_timer_start(&launch->timer, on_fail_timer, 0, 0);
}

/* What the keeper says. */

static void launch_take_packet(Launch *launch, struct channel_packet *packet)
{
	struct keeper_running running;
	struct outcome_record record;
	struct decode_error error;
	int r;

	switch (packet->verb) {
	case CHANNEL_running:
		r = message_decode(packet->message, packet->body, &keeper_running_type,
				   UNKNOWN_KEYS_IGNORED, &running, &error);
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
		launch_ended_from_folder(launch);
	launch_try_free(launch);
}

/* Opening the gate. */

static int plan_memfd(const struct keeper_plan *plan, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &keeper_plan_type, plan);
	if (r == 0) {
		fd = memfd_create("trial-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0)
			r = -errno;
		else if (write(fd, buffer.data, buffer.size) != (ssize_t)buffer.size)
			r = -EIO;
		else if (fcntl(fd, F_ADD_SEALS,
			       F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
			r = -errno;
	}
	msgpack_sbuffer_destroy(&buffer);
	if (r == 0)
		*ret_fd = fd_steal(&fd);
	return r;
}

/*
 * The same file, opened anew: two bwraps that read one open file description would share its
 * offset, and each would get a part of the filter.
 */
static int reopen(int fd, int *ret_fd)
{
	char path[64];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_RDONLY | O_CLOEXEC);
	if (opened < 0)
		return -errno;
	*ret_fd = opened;
	return 0;
}

static int launch_open_gate(Launch *launch, const char *cgroup)
{
	const Launcher *launcher = launch->launcher;
	int descriptors[CHANNEL_DESCRIPTORS_MAX];
	_cleanup_close_ int plan_fd = -1, seccomp_fd = -1;
	size_t count = 0;
	int r;

	if (launch->plan.descriptors > CHANNEL_DESCRIPTORS_MAX - CHANNEL_FD_BINDS)
		return -E2BIG;
	launch->plan.cgroup = cgroup;
	launch->plan.has.cgroup = cgroup != NULL;
	r = plan_memfd(&launch->plan, &plan_fd);
	launch->plan.cgroup = NULL;
	if (r == 0)
		r = reopen(launcher->seccomp_fd, &seccomp_fd);
	if (r < 0)
		return r;
	descriptors[count++] = plan_fd;
	descriptors[count++] = launch->folder_fd;
	descriptors[count++] = launcher->bwrap_fd;
	descriptors[count++] = launcher->init_fd;
	descriptors[count++] = seccomp_fd;
	descriptors[count++] = launch->stdin_fd >= 0 ? launch->stdin_fd : launcher->null_fd;
	for (size_t i = 0; i < launch->plan.descriptors; i++)
		descriptors[count++] = launch->descriptors[i];
	r = channel_send(launch->channel, CHANNEL_start, NULL, NULL, descriptors, count, true);
	if (r < 0)
		return r;
	launch->started = true;
	/* The keeper has its own now. The folder stays open here to read the record from; it is
	 * the same open file description, so the lock is the keeper's and ours until both close. */
	launch->stdin_fd = fd_close(launch->stdin_fd);
	return 0;
}

/* Our unreaped child's own view of its cgroup, which must end in the unit's name. */
static int keeper_cgroup(pid_t pid, const char *unit, char *buffer, size_t size)
{
	char path[64], *line, *end, *name;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	buffer[n] = '\0';
	line = strncmp(buffer, "0::", 3) == 0 ? buffer : strstr(buffer, "\n0::");
	if (!line)
		return -ENOENT;
	line += *line == '\n' ? 4 : 3;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	name = strrchr(line, '/');
	if (!name || strcmp(name + 1, unit) != 0)
		return -ESRCH;
	memmove(buffer, line, strlen(line) + 1);
	return 0;
}

static void on_scope_started(struct scope_start *start)
{
	Launch *launch = container_of(start, Launch, scope);
	char cgroup[4096];
	int r = start->result;

	launch->scope_pending = false;
	if (launch->ended || launch->early) {
		fault_done(&start->fault);
		return;
	}
	if (r == FAULT) {
		fault_move(&launch->fault, &start->fault);
		launch_fail(launch);
		return;
	}
	r = keeper_cgroup(launch->pid, launch->unit, cgroup, sizeof(cgroup));
	if (r == 0)
		r = launch_open_gate(launch, cgroup);
	if (r < 0) {
		fault_void(&launch->fault, CAUSE_sandbox_unavailable,
			   "the keeper is not in its scope %s: %s", launch->unit, strerror(-r));
		launch_fail(launch);
	}
}

/* The way to the gate. */

/*
 * An empty environment and the channel are all the keeper gets. Its stderr is ours, for what a
 * keeper in trouble has to say to the journal.
 */
static int keeper_spawn(Launch *launch, int channel)
{
	char *const arguments[] = {(char *)"trial-keeper", NULL};
	char *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigfillset(&all);
	sigemptyset(&none);
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, channel, CHANNEL_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, CHANNEL_FD + 1);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
								  POSIX_SPAWN_SETSIGMASK |
								  POSIX_SPAWN_SETSID);
	if (r == 0)
		r = posix_spawn(&launch->pid, launch->launcher->keeper, &actions, &attributes,
				arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (r)
		return -r;
	/* Not reaped before its pidfd reports it: the number is still its own. */
	launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
	return launch->pidfd < 0 ? -errno : 0;
}

static int launch_watch_descriptor(Launch *launch, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
	int r = uv_poll_init(launch->launcher->loop, poll, fd);

	if (r < 0)
		return r;
	poll->data = launch;
	launch->handles++;
	return uv_poll_start(poll, UV_READABLE, callback);
}

static int launch_spawn(Launch *launch)
{
	_cleanup_close_ int theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	theirs = pair[1];
	r = launch_watch_descriptor(launch, &launch->channel_poll, pair[0], on_channel);
	if (r < 0) {
		close(pair[0]);
		return r;
	}
	launch->channel = pair[0];
	r = keeper_spawn(launch, theirs);
	if (r < 0)
		return r;
	launch->reaped = false;
	return launch_watch_descriptor(launch, &launch->pidfd_poll, launch->pidfd, on_pidfd);
}

/* The folder, its lock, and what the main process will read. */
static int launch_prepare_folder(Launch *launch)
{
	int r = launch_folder(launch->launcher->trials_fd, launch->id, true, &launch->folder_fd);

	if (r < 0)
		return r;
	if (flock(launch->folder_fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	launch->stdin_fd = openat(launch->folder_fd, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return launch->stdin_fd < 0 && errno != ENOENT ? -errno : 0;
}

static int launch_go(Launch *launch)
{
	Launcher *launcher = launch->launcher;
	int r;

	if (launcher->unavailable.message) {
		fault_void(&launch->fault, CAUSE_sandbox_unavailable, "%s",
			   launcher->unavailable.message);
		if (launcher->unavailable.hint)
			fault_hint(&launch->fault, "%s", launcher->unavailable.hint);
		return FAULT;
	}
	r = launch_prepare_folder(launch);
	if (r == 0)
		r = launch_spawn(launch);
	if (r == 0 && launcher->scopes) {
		struct scope_request scope = {
			.unit = launch->unit,
			.description = launch->unit,
			.pid = launch->pid,
		};

		launch->scope_pending = true;
		launch->scope.done = on_scope_started;
		scope_start(launcher->scopes, &launch->scope, &scope);
	} else if (r == 0) {
		r = launch_open_gate(launch, NULL);
	}
	return r;
}

int launch_new(Launch **ret_launch, Launcher *launcher, const struct launch_order *order,
	       const struct launch_watch *watch, void *context)
{
	Launch *launch = calloc(1, sizeof(*launch));
	int r;

	if (!launch)
		return -ENOMEM;
	launch->launcher = launcher;
	launch->watch = watch;
	launch->context = context;
	launch->id = order->id;
	launch->fault = FAULT_INIT;
	launch->folder_fd = launch->stdin_fd = launch->channel = launch->pidfd = -1;
	launch->reaped = true; /* nothing to reap until a keeper is spawned */
	snprintf(launch->uuid, sizeof(launch->uuid), "%s", order->uuid);
	snprintf(launch->unit, sizeof(launch->unit), "%s", order->unit);
	launch->plan = order->plan;
	launch->plan.version = CHANNEL_VERSION;
	launch->plan.trial = order->id;
	launch->plan.uuid = launch->uuid;
	launch->plan.backend = launcher->backend;
	launch->plan.has.version = launch->plan.has.trial = true;
	launch->plan.has.uuid = launch->plan.has.backend = true;
	launch->descriptors = order->descriptors;
	uv_timer_init(launcher->loop, &launch->timer);
	launch->timer.data = launch;
	launch->handles = 1;
	launcher->launches++;
	*ret_launch = launch;
	r = launch_go(launch);
	if (r < 0)
		fault_void(&launch->fault, CAUSE_sandbox_unavailable,
			   "the Trial's keeper could not be started: %s", strerror(-r));
	if (r)
		launch_fail(launch);
	return 0;
}

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
	channel_send(launch->channel, CHANNEL_cancel, &keeper_cancel_type, &cancel, NULL, 0, true);
}

bool launch_abandon(Launch *launch)
{
	if (launch->ended || launch->early)
		return false;
	if (!launch->started) {
		launch->early = true;
		launch_close_channel(launch);
		return true;
	}
	shutdown(launch->channel, SHUT_WR);
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
		uv_timer_start(&launch->timer, on_leave_timer, KEEPER_LEAVE_MILLISECONDS, 0);
	}
	launch_try_free(launch);
}
