/* SPDX-License-Identifier: MIT */

/*
 * From an order to an open gate.
 *
 * The keeper is a child, spawned with posix_spawn (fork would copy the page tables of a daemon
 * that may be large), and blocked on its gate: it reads its channel before it does anything. With a
 * scope, the gate opens when the scope's job is done and the keeper's own cgroup shows it, so no
 * process ever runs unlimited.
 *
 * The Trial's folder is locked (flock) through the descriptor the keeper receives, and which it
 * hands on to trials-init as a lease: the lock lives as long as anything of the Trial does. That is
 * how a restarted daemon sees that a keeper is there, and how the end of a Trial whose keeper was
 * killed is known to be its end.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fault_point.h"
#include "keeper/login.h"
#include "launch/attempt.h"

/* Opening the gate. */

static int plan_memfd(const struct keeper_plan *plan, int *ret_fd)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &keeper_plan_type, plan);
	if (r == 0)
		r = channel_memfd("trial-plan", buffer.data, buffer.size, ret_fd);
	if (buffer.data)
		explicit_bzero(buffer.data, buffer.size); /* a key may be in it */
	msgpack_sbuffer_destroy(&buffer);
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

int launch_open_gate(Launch *launch, const char *cgroup)
{
	const Launcher *launcher = launch->launcher;
	int descriptors[CHANNEL_DESCRIPTORS_MAX];
	_cleanup_close_ int plan_fd = -1, seccomp_fd = -1;
	size_t leases = 1 + launch->lease_count, count = 0;
	int r;

	if (launch->lease_count > LOGINS_MAX || launch->plan.logins > LOGINS_MAX ||
	    launch->plan.descriptors > LAUNCH_DESCRIPTORS(launch->lease_count, launch->plan.logins))
		return -E2BIG;
	/* The last one is a lease: keeper and trials-init hold the folder's lock until nothing is
	 * left of the Trial, whichever of them goes first. */
	launch->plan.descriptors += leases;
	launch->plan.leases = leases;
	launch->plan.has.leases = true;
	launch->plan.cgroup = cgroup;
	launch->plan.has.cgroup = cgroup != NULL;
	FAULT_POINT(launch_scoped);
	r = plan_memfd(&launch->plan, &plan_fd);
	launch->plan.cgroup = NULL;
	launch->plan.descriptors -= leases;
	if (r == 0)
		r = reopen(launch->plan.judges ? launcher->grader_seccomp_fd : launcher->seccomp_fd,
			   &seccomp_fd);
	if (r < 0)
		return r;
	descriptors[count++] = plan_fd;
	descriptors[count++] = launch->folder_fd;
	/* Without a sandbox none is needed, nor maybe there. */
	descriptors[count++] = launcher->bwrap_fd >= 0 ? launcher->bwrap_fd : launcher->null_fd;
	descriptors[count++] = launcher->init_fd;
	descriptors[count++] = seccomp_fd;
	descriptors[count++] = launch->stdin_fd >= 0 ? launch->stdin_fd : launcher->null_fd;
	descriptors[count++] = launcher->keepers_fd;
	for (size_t i = 0; i < launch->plan.descriptors; i++)
		descriptors[count++] = launch->descriptors[i];
	/* The keeper counts them from the last one. */
	for (size_t i = launch->lease_count; i > 0; i--)
		descriptors[count++] = launch->leases[i - 1];
	descriptors[count++] = launch->folder_fd;
	for (size_t i = 0; i < launch->plan.logins * LOGIN_FDS; i++)
		descriptors[count++] = launch->logins[i / LOGIN_FDS][i % LOGIN_FDS];
	r = channel_send(launch->channel, CHANNEL_start, NULL, NULL, descriptors, count, true);
	if (r < 0)
		return r;
	launch->started = true;
	overdue_begun(launch);
	FAULT_POINT(launch_gate);
	/* The keeper has its own now. The folder stays open here to read the record from; it is
	 * the same open file description, so the lock is the keeper's and ours until both close. */
	launch->stdin_fd = fd_close(launch->stdin_fd);
	return 0;
}

/* A keeper's own view of its cgroup; *ret_line points into buffer, without its end of line. */
static int read_cgroup(const Launch *launch, char *buffer, size_t size, char **ret_line)
{
	char path[64], *line, *end;
	ssize_t n;
	int fd;

	buffer[0] = '\0';
	*ret_line = buffer;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)launch->pid);
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
	*ret_line = line;
	return 0;
}

/* That of our unreaped child, which must end in the unit's name. */
int launch_keeper_cgroup(const Launch *launch, char *buffer, size_t size)
{
	char *line, *name;
	int r = read_cgroup(launch, buffer, size, &line);

	if (r < 0)
		return r;
	name = strrchr(line, '/');
	if (!name || strcmp(name + 1, launch->unit) != 0)
		return -ESRCH;
	memmove(buffer, line, strlen(line) + 1);
	return 0;
}

/* By then it is in a group below its scope's. */
int launch_group(const Launch *launch, char *buffer, size_t size)
{
	char *line, *name;
	int r = launch->adopted ? -ENOENT : read_cgroup(launch, buffer, size, &line);

	if (r < 0)
		return r;
	name = strstr(line, launch->unit);
	if (!name || name == line || name[-1] != '/')
		return -ENOENT;
	name[strlen(launch->unit)] = '\0';
	memmove(buffer, line, strlen(line) + 1);
	return 0;
}

/*
 * What others of this user have used up for now: open files, descriptors under way in sockets,
 * processes, memory. No reason to give a Trial up.
 */
static bool will_pass(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ETOOMANYREFS || error == -EAGAIN ||
	       error == -ENOMEM || error == -ENOSPC;
}

static void on_scope_started(struct scope_start *start)
{
	Launch *launch = container_of(start, Launch, scope);
	char cgroup[4096];
	int r = start->result;

	launch->scope_pending = false;
	if (launch->ended || launch->early || launch->waits) {
		fault_done(&start->fault);
		if (launch->waits)
			spare_scoped(launch, r);
		return;
	}
	launch->again = launch->spare;
	if (r == FAULT) {
		fault_move(&launch->fault, &start->fault);
		launch_fail(launch);
		return;
	}
	r = launch_keeper_cgroup(launch, cgroup, sizeof(cgroup));
	if (r == 0)
		r = launch_open_gate(launch, cgroup);
	launch->passing = will_pass(r) ? r : 0;
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
	return -r;
}

int launch_spawn(Launch *launch)
{
	_cleanup_close_ int theirs = -1;
	int pair[2], pidfd, r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	theirs = pair[1];
	r = launch_listen(launch, pair[0]);
	if (r == 0)
		r = keeper_spawn(launch, theirs);
	if (r < 0)
		return r;
	/* Not reaped before its pidfd reports it: the number is still its own. */
	pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
	return pidfd < 0 ? -errno : launch_listen_keeper(launch, pidfd);
}

/* The folder, its lock, and what the main process will read. */
/*
 * What a keeper writes must be this attempt's: a record or an output that is there already is
 * somebody else's, and is neither taken for ours nor overwritten.
 */
static bool folder_is_fresh(int folder_fd)
{
	static const char *const names[] = {"outcome", "stdout", "stderr", "network"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (faccessat(folder_fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return false;
	return true;
}

static int launch_prepare_folder(Launch *launch, bool no_prompt)
{
	int r = launch_folder(launch->launcher->trials_fd, launch->id, true, &launch->folder_fd);

	if (r < 0)
		return r;
	if (flock(launch->folder_fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	if (!folder_is_fresh(launch->folder_fd))
		return fault_void(&launch->fault, CAUSE_sandbox_unavailable,
				  "the folder of Trial %llu holds another's output or record",
				  (unsigned long long)launch->id);
	if (no_prompt)
		return 0;
	launch->stdin_fd = openat(launch->folder_fd, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return launch->stdin_fd < 0 && errno != ENOENT ? -errno : 0;
}

void launch_scope(Launch *launch)
{
	const struct scope_request scope = {
		.unit = launch->unit,
		.description = launch->unit,
		.pid = launch->pid,
	};

	launch->scope_pending = true;
	launch->scope.done = on_scope_started;
	scope_start(launch->launcher->scopes, &launch->scope, &scope);
}

/* Its scope may still be on its way: then the gate is opened when that is there. */
static int launch_spare(Launch *launch)
{
	FAULT_POINT(spare_taken);
	launch->again = true;
	if (launch->gone)
		return -ESRCH;
	return launch->scope_pending ? 0 : launch_open_gate(launch, launch->cgroup);
}

static int launch_go(Launch *launch, bool no_prompt)
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
	r = launch_prepare_folder(launch, no_prompt);
	if (r)
		return r;
	if (launch->spare)
		return launch_spare(launch);
	r = launch_spawn(launch);
	FAULT_POINT(launch_spawned);
	if (r < 0)
		return r;
	if (!launcher->scopes)
		return launch_open_gate(launch, NULL);
	launch_scope(launch);
	return 0;
}

int launch_new(Launch **ret_launch, Launcher *launcher, const struct launch_order *order,
	       const struct launch_watch *watch, void *context)
{
	Launch *launch = order->spare;
	int r = 0;

	if (!launch)
		r = launch_make(&launch, launcher, order->id, order->uuid, order->unit, watch,
				context);
	if (r < 0)
		return r;
	launch->waits = false;
	launch->id = order->id;
	launch->watch = watch;
	launch->context = context;
	launch->greeted = true; /* it is our own child */
	launch->plan = order->plan;
	launch->plan.version = CHANNEL_VERSION;
	launch->plan.trial = order->id;
	launch->plan.uuid = launch->uuid;
	launch->plan.backend = launcher->backend;
	launch->plan.has.version = launch->plan.has.trial = true;
	launch->plan.has.uuid = launch->plan.has.backend = true;
	launch->descriptors = order->descriptors;
	memcpy(launch->logins, order->logins, sizeof(launch->logins));
	memcpy(launch->leases, order->leases, sizeof(launch->leases));
	launch->lease_count = order->lease_count;
	*ret_launch = launch;
	r = launch_go(launch, order->no_prompt);
	launch->passing = will_pass(r) ? r : 0;
	if (r < 0)
		fault_void(&launch->fault, CAUSE_sandbox_unavailable,
			   "the Trial's keeper could not be started: %s", strerror(-r));
	if (r)
		launch_fail(launch);
	return 0;
}
