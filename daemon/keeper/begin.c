/* SPDX-License-Identifier: MIT */

/*
 * The beginning of a Trial: the plan is read, the control groups and limits are put in force and
 * read back, and only then is anything started. What fails up to here has run nothing.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bare_home.h"
#include "harden.h"
#include "listener.h"
#include "state.h"

#define HELLO_SECONDS 30
/* Enough for every number that descriptors are moved to while bwrap is started. */
#define DESCRIPTORS_MIN 1024

static int refuse(struct keeper *keeper, const char *what, int error)
{
	return fault_void(&keeper->fault, CAUSE_sandbox_unavailable, "%s: %s", what,
			  strerror(error < 0 ? -error : error));
}

static int read_plan(struct keeper *keeper)
{
	struct channel_packet *start = keeper->start;
	struct keeper_plan *plan = &keeper->plan;
	struct decode_error error;
	size_t i;
	int r;

	r = channel_plan_read(start->descriptors[CHANNEL_FD_PLAN], &keeper->plan_message, plan,
			      &error);
	if (r == -EBADMSG)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the keeper cannot read its plan: %s: %s", error.field,
				  error.reason);
	if (r < 0)
		return refuse(keeper, "the keeper cannot read its plan", r);
	if (plan->version != CHANNEL_VERSION)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the plan is of version %llu, the keeper of %d",
				  (unsigned long long)plan->version, CHANNEL_VERSION);
	if (plan->logins > LOGINS_MAX ||
	    start->count != CHANNEL_FD_BINDS + plan->descriptors + plan->logins * LOGIN_FDS ||
	    plan->leases > plan->descriptors || plan->leases > CONTROL_LEASES_MAX ||
	    plan->command.count == 0)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the plan and the descriptors that came with it do not agree");
	start->count -= plan->logins * LOGIN_FDS;
	r = logins_open(&keeper->logins, start->descriptors + start->count, plan->logins,
			&keeper->fault);
	/* The leases are ours for as long as anything is left; the rest goes once it has started. */
	for (i = 0; i < plan->leases; i++)
		keeper->leases[i] = fd_steal(&start->descriptors[start->count - 1 - i]);
	keeper->lease_count = plan->leases;
	keeper->logins.leases = keeper->leases;
	keeper->logins.lease_count = keeper->lease_count;
	start->count -= plan->leases;
	return r;
}

static int reserve_record(struct keeper *keeper)
{
	int r = record_reserve(&keeper->record_file, keeper->folder);

	if (r == 0)
		return 0;
	refuse(keeper, "there is no room for the Trial's record", r);
	return fault_hint(&keeper->fault, "make room on the disk of trialsd's state folder");
}

static int make_limits(struct keeper *keeper)
{
	int r;

	if (keeper->plan.backend == BACKEND_systemd) {
		if (!keeper->plan.has.cgroup)
			return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
					  "the plan names no control group to be in");
		r = payload_init(&keeper->payload, keeper->plan.cgroup, &keeper->fault);
		if (r != 0)
			return r;
	}
	return limits_apply(&keeper->payload, &keeper->plan, keeper->limits, &keeper->limit_count,
			    &keeper->fault);
}

/*
 * Like a pipe, but nobody else can open it through /proc/PID/fd: what a Grader runs of the judged Trial
 * could otherwise write its verdict. An urgent byte is one like the others.
 */
static int open_socket(int ends[2])
{
	const int on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	if (setsockopt(ends[0], SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) < 0 ||
	    shutdown(ends[0], SHUT_WR) < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	return 0;
}

static int start_capture(struct keeper *keeper, enum stream stream, int *ret_write_end)
{
	struct capture *capture = &keeper->captures[stream];
	int ends[2];
	int r;

	r = capture_init(capture, keeper->folder, stream, keeper->plan.output);
	if (r < 0)
		return r;
	if (keeper->plan.judges && stream == STREAM_stdout)
		r = open_socket(ends);
	else
		r = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
	if (r < 0)
		return r;
	*ret_write_end = ends[1];
	r = capture_start(capture, &keeper->loop, &ends[0]);
	if (r < 0)
		fd_close(ends[0]);
	return r;
}

static int make_stdio(struct keeper *keeper)
{
	int r;

	r = sandbox_stdin(keeper->start->descriptors[CHANNEL_FD_STDIN], &keeper->stdio[0]);
	if (r < 0)
		return refuse(keeper, "the prompt cannot be taken over", r);
	keeper->capturing = true;
	r = start_capture(keeper, STREAM_stdout, &keeper->stdio[1]);
	if (r == 0)
		r = start_capture(keeper, STREAM_stderr, &keeper->stdio[2]);
	return r < 0 ? refuse(keeper, "the output cannot be stored in the Trial's folder", r) : 0;
}

/* What is told of its connections is bounded like an output, and by this. */
#define NETWORK_LOG_BYTES (8u * 1024u * 1024u)

static bool has_proxy(const struct keeper *keeper)
{
	return keeper->plan.network == NETWORK_allowlist;
}

static int make_network(struct keeper *keeper)
{
	struct capture *log = &keeper->captures[STREAM_network];
	uint64_t most = keeper->plan.output;
	int r;

	if (!has_proxy(keeper))
		return 0;
	r = capture_init(log, keeper->folder, STREAM_network,
			 most < NETWORK_LOG_BYTES ? most : NETWORK_LOG_BYTES);
	if (r < 0)
		return refuse(keeper, "connections cannot be told in the Trial's folder", r);
	return network_init(&keeper->network, &keeper->plan, log, &keeper->fault);
}

int keeper_open_network(struct keeper *keeper, const struct control_packet *hello)
{
	struct sandbox *sandbox = &keeper->sandbox;
	size_t expected = has_proxy(keeper) ? CONTROL_HELLO_DESCRIPTORS : 1;
	int r;

	if (sandbox->handed != expected)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the sandbox handed out %zu descriptors and not %zu, nothing was "
				  "started in it",
				  sandbox->handed, expected);
	if (!has_proxy(keeper))
		return 0;
	r = listener_check(sandbox->listener, hello->hello.namespaces[CONTROL_NS_NET],
			   keeper->namespaces[CONTROL_NS_NET], &keeper->fault);
	if (r == 0)
		r = network_start(&keeper->network, &keeper->loop, &sandbox->listener,
				  &keeper->fault);
	return r;
}

/* Raises our own soft limit where it is low; *ret_before is what the sandbox gets back. */
static int raise_descriptors(const struct keeper *keeper, struct rlimit *ret_before)
{
	const rlim_t least = DESCRIPTORS_MIN + (has_proxy(keeper) ? PROXY_DESCRIPTORS : 0);
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, ret_before) < 0)
		return -errno;
	raised = *ret_before;
	if (raised.rlim_cur >= least)
		return 0;
	raised.rlim_cur = raised.rlim_max < least ? raised.rlim_max : least;
	return setrlimit(RLIMIT_NOFILE, &raised) < 0 ? -errno : 0;
}

static int spawn(struct keeper *keeper)
{
	const struct channel_packet *start = keeper->start;
	struct rlimit descriptors;
	const struct sandbox_order order = {
		.bwrap = start->descriptors[CHANNEL_FD_BWRAP],
		.init = start->descriptors[CHANNEL_FD_INIT],
		.seccomp = start->descriptors[CHANNEL_FD_SECCOMP],
		.binds = start->descriptors + CHANNEL_FD_BINDS,
		.bind_count = start->count - CHANNEL_FD_BINDS,
		.leases = keeper->leases,
		.lease_count = keeper->lease_count,
		.arguments = &keeper->plan.sandbox,
		.cgroup = keeper->payload.fd,
		.descriptors = &descriptors,
		.proxy = has_proxy(keeper),
		.bare = keeper->plan.no_sandbox,
	};
	int r;

	r = raise_descriptors(keeper, &descriptors);
	if (r < 0)
		return refuse(keeper, "the limit on open files cannot be raised", r);
	return sandbox_spawn(&keeper->sandbox, &order, &keeper->fault);
}

static int watch(struct keeper *keeper)
{
	struct sandbox *sandbox = &keeper->sandbox;
	int r;

	r = loop_add(&keeper->loop, &keeper->control_source, sandbox->control, EPOLLIN);
	if (r == 0)
		r = loop_add(&keeper->loop, &keeper->text_source, sandbox->text_fd, EPOLLIN);
	if (r == 0)
		r = loop_add(&keeper->loop, &keeper->bwrap_source, sandbox->bwrap_fd, EPOLLIN);
	if (r == 0 && keeper->payload.events_fd >= 0)
		r = loop_add(&keeper->loop, &keeper->payload_source, keeper->payload.events_fd,
			     EPOLLPRI);
	return r < 0 ? refuse(keeper, "the sandbox cannot be watched", r) : 0;
}

/* From here on a trialsd that was started anew finds this keeper. */
static int open_attach(struct keeper *keeper)
{
	int r = attach_listen(keeper->keepers, keeper->plan.uuid, &keeper->listener);

	if (r == 0)
		r = loop_add(&keeper->loop, &keeper->listener_source, keeper->listener, EPOLLIN);
	return r < 0 ? refuse(keeper, "the keeper cannot listen in the runtime folder", r) : 0;
}

/* The descriptor of that number, from 1; -1: there is none. */
static int bind_descriptor(const struct keeper *keeper, uint64_t number)
{
	const struct channel_packet *start = keeper->start;

	return number > 0 && number <= start->count - CHANNEL_FD_BINDS
		       ? start->descriptors[CHANNEL_FD_BINDS + number - 1]
		       : -1;
}

/* What git would run there, before the Trial can change it. */
static int watch_repository(struct keeper *keeper)
{
	const struct keeper_plan *plan = &keeper->plan;
	int tree = plan->has.repository ? bind_descriptor(keeper, plan->repository) : -1;
	int folder = plan->has.git_folder ? bind_descriptor(keeper, plan->git_folder) : -1;
	int r;

	if (tree < 0)
		return 0;
	r = git_watch_begin(&keeper->git, tree, folder);
	return r < 0 ? refuse(keeper, "the repository cannot be looked at", r) : 0;
}

/* Where there is no sandbox: the home that its environment names. */
static int make_bare_home(struct keeper *keeper)
{
	const struct keeper_plan *plan = &keeper->plan;
	const struct bare_home bare = {
		.folder = keeper->folder,
		.orders = &plan->sandbox,
		.descriptors = keeper->start->descriptors + CHANNEL_FD_BINDS,
		.count = keeper->start->count - CHANNEL_FD_BINDS,
		.logins = &keeper->logins,
	};

	if (!plan->no_sandbox)
		return 0;
	if (plan->network != NETWORK_host)
		return fault_void(&keeper->fault, CAUSE_sandbox_unavailable,
				  "the plan asks for what only a sandbox can give");
	return bare_home_make(&bare, &keeper->fault);
}

int keeper_begin(struct keeper *keeper)
{
	int r;

	r = read_plan(keeper);
	if (r == 0)
		r = watch_repository(keeper);
	if (r == 0)
		r = open_attach(keeper);
	if (r == 0)
		r = reserve_record(keeper);
	if (r == 0)
		r = make_limits(keeper);
	if (r == 0)
		r = make_stdio(keeper);
	if (r == 0)
		r = make_network(keeper);
	if (r != 0)
		return r;
	r = make_bare_home(keeper);
	if (r != 0)
		return r;
	r = boundary_own_namespaces(keeper->namespaces);
	if (r < 0)
		return refuse(keeper, "the keeper's own namespaces cannot be read", r);
	r = logins_watch(&keeper->logins, &keeper->loop);
	if (r < 0)
		return refuse(keeper, "the Trial's logins cannot be watched", r);
	r = spawn(keeper);
	if (keeper->sandbox.bwrap_fd >= 0) {
		int watched = watch(keeper);

		if (r == 0)
			r = watched;
	}
	keeper_set_deadline(keeper, DEADLINE_HELLO, HELLO_SECONDS);
	return r;
}

/* What is still to be opened: below these folders, and nowhere else. */
static int give_up(struct keeper *keeper)
{
	struct harden_folder folders[8 + LOGINS_MAX * LOGIN_FDS] = {
		{keeper->folder, true},		  {keeper->keepers, true},
		{keeper->payload.scope_fd, true}, {keeper->git.tree, false},
		{keeper->git.folder, false},	  {keeper->keep.home, false},
		{keeper->keep.bound, false},
	};
	struct harden_order order = {.folders = folders, .count = 7};
	size_t i, k;

	for (i = 0; i < keeper->logins.count; i++)
		for (k = LOGIN_FD_PRODUCTION; k <= LOGIN_FD_LOCKS; k++)
			folders[order.count++] = (struct harden_folder){
				keeper->logins.carries[i].folders[k], true};
	return harden(&order, &keeper->fault);
}

int keeper_go(struct keeper *keeper)
{
	_cleanup_close_ int launch = -1;
	int r;

	r = give_up(keeper);
	if (r != 0)
		return r;
	r = sandbox_launch_memfd(&keeper->plan, &launch);
	if (r == 0)
		r = sandbox_go(&keeper->sandbox, launch, keeper->stdio);
	if (r < 0)
		return refuse(keeper, "the sandbox cannot be told what to start", r);
	keeper->go = true;
	keeper_forget_start(keeper);
	return 0;
}

void keeper_forget_start(struct keeper *keeper)
{
	size_t i;

	for (i = 0; i < 3; i++)
		keeper->stdio[i] = fd_close(keeper->stdio[i]);
	channel_packet_done(keeper->start);
}
