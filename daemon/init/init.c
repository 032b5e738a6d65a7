/* SPDX-License-Identifier: MIT */

/*
 * trials-init: pid 1 of a Trial's sandbox (bwrap --as-pid-1), started as `trials-init FD LEASES
 * [proxy]` with its end of the control socket (control.h) at FD and so many leases beside it. It
 * starts the main process, reaps whatever is orphaned, reports how the main process ended, and ends
 * the namespace.
 *
 * What shapes it:
 * - Everything in the namespace runs as the same user, so pid 1 must be out of reach before
 *   anything else runs: it makes itself non-dumpable before it says HELLO (no ptrace, no
 *   /proc/1/{fd,mem,environ}, no pidfd_getfd). Signals from inside do nothing to pid 1.
 * - It holds the Trial's leases, from its first moment. The kernel closes the files of a killed pid 1 before it kills the
 *   rest, so a lease would fall with the others still alive. Hence every regular way out (the main
 *   process ended, FINISH, or the keeper is gone) goes through init_end: kill, reap until nothing
 *   is left, and only then exit.
 * - kill(-1) outside a pid namespace would end everything the user runs. It is reached only as
 *   pid 1 and after GO, which the keeper sends only when HELLO proves the namespaces.
 * - A socket belongs to the network namespace that it was made in, whoever holds it. So the listener
 *   of the keeper's proxy is made here, handed out with HELLO, and closed: inside, nobody has it.
 * - Where trialsd was told to do without a sandbox ("bare") it is no pid 1: it is the subreaper of all
 *   that descends from the main process, never uses kill(-1), and ends its own children until there
 *   are none: those of a child that was killed become its own. A child that it has not reaped is
 *   surely the one of its number.
 * - One thread, no allocation, libc only.
 */

#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask.h"
#include "count.h"
#include "start.h"
#include "children.h"

#define OOM_SCORE_ADJUSTMENT 500
/* A storm of ending children must not keep init from hearing the keeper. */
#define REAP_BATCH 64
#define END_POLL_MILLISECONDS 100

struct init {
	int control;
	int signals;
	int start; /* read end of the start pipe, until the main process is executed */
	pid_t main;
	bool main_exited;
	bool bare; /* not pid 1 of a namespace */
};

static int init_send(struct init *init, struct control_packet *packet)
{
	packet->version = CONTROL_VERSION;
	if (send(init->control, packet, sizeof(*packet), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

static void usage_from_rusage(struct control_usage *ret, const struct rusage *from)
{
	*ret = (struct control_usage){
		.user_microseconds = (uint64_t)from->ru_utime.tv_sec * 1000000u +
				     (uint64_t)from->ru_utime.tv_usec,
		.system_microseconds = (uint64_t)from->ru_stime.tv_sec * 1000000u +
				       (uint64_t)from->ru_stime.tv_usec,
		.peak_bytes = (uint64_t)from->ru_maxrss * 1024u,
		.read_blocks = (uint64_t)from->ru_inblock,
		.write_blocks = (uint64_t)from->ru_oublock,
	};
}

static void init_not_started(struct init *init, const struct start_error *error)
{
	struct control_packet packet = {.type = CONTROL_NOT_STARTED};

	packet.not_started.step = error->step;
	packet.not_started.error = error->error;
	init_send(init, &packet);
	/* What the child that failed exits with says nothing about the main process. */
	init->main_exited = true;
}

/*
 * The start pipe closes when the main process is executed, or carries why it was not. False when
 * it was not. A main process killed on its way (by the memory limit, say) counts as started: its
 * wait status says the rest.
 */
static bool init_read_start(struct init *init)
{
	struct control_packet packet = {.type = CONTROL_STARTED};
	struct start_error error;
	ssize_t n;

	do
		n = read(init->start, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(init->start);
	init->start = -1;
	if (n == (ssize_t)sizeof(error)) {
		init_not_started(init, &error);
		return false;
	}
	init_send(init, &packet);
	return true;
}

static void init_main_exited(struct init *init, int status, const struct rusage *usage)
{
	struct control_packet packet = {.type = CONTROL_EXITED};

	init->main_exited = true;
	if (init->start >= 0 && !init_read_start(init))
		return;
	packet.exited.status = (uint32_t)status;
	usage_from_rusage(&packet.exited.usage, usage);
	init_send(init, &packet);
}

/* At most limit of them: 1 there may be more, 0 none is ready, -ECHILD nothing is left. */
static int init_reap(struct init *init, unsigned int limit)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while (limit-- > 0) {
		pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid == 0)
			return 0;
		if (pid < 0)
			return errno == EINTR ? 1 : -ECHILD;
		if (pid == init->main && !init->main_exited)
			init_main_exited(init, status, &usage);
	}
	return 1;
}

static void init_take_signals(struct init *init)
{
	struct signalfd_siginfo information[4];

	while (read(init->signals, information, sizeof(information)) > 0)
		;
}

/* Ends the namespace; see the head of this file for why exiting alone would not do. */
static _Noreturn void init_end(struct init *init)
{
	struct control_packet packet = {.type = CONTROL_EMPTY};
	struct pollfd signals = {.fd = init->signals, .events = POLLIN};
	struct rusage usage;
	int r;

	for (;;) {
		if (init->bare)
			children_kill();
		else
			kill(-1, SIGKILL);
		do
			r = init_reap(init, REAP_BATCH);
		while (r > 0);
		if (r < 0)
			break;
		poll(&signals, 1, END_POLL_MILLISECONDS);
		init_take_signals(init);
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	usage_from_rusage(&packet.empty.usage, &usage);
	init_send(init, &packet);
	_exit(EXIT_SUCCESS);
}

static void init_fork_failed(struct init *init, int error)
{
	struct start_error failed = {.step = CONTROL_STEP_FORK, .error = (uint32_t)error};

	init_not_started(init, &failed);
	init_end(init);
}

static void init_go(struct init *init, const int *descriptors)
{
	int ends[2];
	size_t i;

	if (pipe2(ends, O_CLOEXEC) < 0)
		init_fork_failed(init, errno);
	init->main = fork();
	if (init->main < 0)
		init_fork_failed(init, errno);
	if (init->main == 0)
		start_main(descriptors[0], descriptors + 1, ends[1]);
	close(ends[1]);
	init->start = ends[0];
	for (i = 0; i < CONTROL_DESCRIPTORS; i++)
		close(descriptors[i]);
	/* stderr was bwrap's, for messages of its own; stdin is /dev/null already. */
	dup2(STDIN_FILENO, STDERR_FILENO);
}

/* One packet and its descriptors; 0 at end-of-file, -EBADMSG for what the keeper never sends. */
static int init_receive(struct init *init, struct control_packet *ret_packet, int *ret_descriptors,
			size_t *ret_count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * CONTROL_DESCRIPTORS)];
	} ancillary;
	struct iovec vector = {.iov_base = ret_packet, .iov_len = sizeof(*ret_packet)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};
	struct cmsghdr *header;
	ssize_t n;

	*ret_count = 0;
	n = recvmsg(init->control, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : 0;
	if (n == 0)
		return 0;
	for (header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		*ret_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret_descriptors, CMSG_DATA(header), *ret_count * sizeof(int));
	}
	if (n != (ssize_t)sizeof(*ret_packet) || ret_packet->version != CONTROL_VERSION ||
	    message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	return 1;
}

static void init_count(struct init *init)
{
	struct control_packet packet = {.type = CONTROL_COUNTED};

	/* All processes of the machine are to be seen, and not those of the Trial alone. */
	if (init->bare)
		return;
	if (count_processor_time(&packet.counted.usage) == 0)
		init_send(init, &packet);
}

/* False when the namespace has to end. */
static bool init_hear(struct init *init)
{
	struct control_packet packet;
	int descriptors[CONTROL_DESCRIPTORS];
	size_t count;
	int r;

	r = init_receive(init, &packet, descriptors, &count);
	if (r == -EAGAIN)
		return true;
	if (r <= 0)
		return false;
	switch (packet.type) {
	case CONTROL_GO:
		if (init->main || count != CONTROL_DESCRIPTORS)
			return false;
		init_go(init, descriptors);
		return true;
	case CONTROL_SIGNAL:
		if (init->main && !init->main_exited && packet.signal.number < NSIG)
			kill(init->main, (int)packet.signal.number);
		return true;
	case CONTROL_COUNT:
		init_count(init);
		return true;
	default:
		return false;
	}
}

static _Noreturn void init_run(struct init *init)
{
	bool more = false;

	for (;;) {
		struct pollfd ready[] = {
			{.fd = init->control, .events = POLLIN},
			{.fd = init->signals, .events = POLLIN},
			{.fd = init->start, .events = POLLIN},
		};

		if (poll(ready, 3, more ? 0 : -1) < 0 && errno != EINTR)
			init_end(init);
		if (init->start >= 0 && ready[2].revents && !init_read_start(init))
			init_end(init);
		if (ready[1].revents)
			init_take_signals(init);
		if (ready[1].revents || more)
			more = init_reap(init, REAP_BATCH) > 0;
		if (init->main_exited)
			init_end(init);
		if (ready[0].revents && !init_hear(init)) {
			/* Before GO nothing runs and nothing was proved: just leave. */
			if (!init->main)
				_exit(EXIT_FAILURE);
			init_end(init);
		}
	}
}

/* Best effort: it only helps the kernel to choose. Raised, never lowered. */
static void raise_oom_score(void)
{
	char text[16];
	ssize_t n;
	int fd;

	fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		if (atoi(text) < OOM_SCORE_ADJUSTMENT) {
			n = snprintf(text, sizeof(text), "%d", OOM_SCORE_ADJUSTMENT);
			n = pwrite(fd, text, (size_t)n, 0);
		}
	}
	close(fd);
}

static int close_range_between(int before, int after)
{
	if (after - before < 2)
		return 0;
	return syscall(SYS_close_range, before + 1, after - 1, 0u) < 0 ? -errno : 0;
}

/* Whatever bwrap left open besides goes; what stays is not for the main process. */
static int keep_only(int control, int leases)
{
	int i;

	if (close_range_between(STDERR_FILENO, control) < 0 ||
	    close_range_between(control, CONTROL_FD_LEASES) < 0 ||
	    close_range_between(CONTROL_FD_LEASES + leases - 1, INT_MAX) < 0 ||
	    fcntl(control, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	for (i = 0; i < leases; i++)
		if (fcntl(CONTROL_FD_LEASES + i, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	return 0;
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return UINT64_MAX;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* The kernel takes the address whether or not the loopback is up; bwrap has brought it up. */
static int proxy_listener(int *ret_fd)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(CONTROL_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, CONTROL_PROXY_BACKLOG) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	*ret_fd = fd;
	return 0;
}

/*
 * With the root: the keeper keeps what is left of the home, or puts something there before anything
 * runs. And with the listener, if there is one.
 */
static int send_hello(struct init *init, struct control_packet *packet, int listener)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * CONTROL_HELLO_DESCRIPTORS)];
	} ancillary = {0};
	size_t count = listener < 0 ? 1 : CONTROL_HELLO_DESCRIPTORS;
	int fds[CONTROL_HELLO_DESCRIPTORS] = {-1, listener};
	struct iovec vector = {.iov_base = packet, .iov_len = sizeof(*packet)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = CMSG_SPACE(sizeof(int) * count),
	};
	ssize_t n;

	fds[0] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fds[0] < 0)
		return -errno;
	packet->version = CONTROL_VERSION;
	ancillary.header.cmsg_level = SOL_SOCKET;
	ancillary.header.cmsg_type = SCM_RIGHTS;
	ancillary.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(&ancillary.header), fds, sizeof(int) * count);
	n = sendmsg(init->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fds[0]);
	return n < 0 ? -errno : 0;
}

static int init_hello(struct init *init, int listener)
{
	static const char *const names[CONTROL_NS_COUNT] = {
		[CONTROL_NS_USER] = "/proc/self/ns/user",
		[CONTROL_NS_MNT] = "/proc/self/ns/mnt",
		[CONTROL_NS_PID] = "/proc/self/ns/pid",
		[CONTROL_NS_IPC] = "/proc/self/ns/ipc",
		[CONTROL_NS_UTS] = "/proc/self/ns/uts",
		[CONTROL_NS_CGROUP] = "/proc/self/ns/cgroup",
		[CONTROL_NS_NET] = "/proc/self/ns/net",
	};
	struct control_packet packet = {.type = CONTROL_HELLO};
	struct stat st;
	size_t i;

	/* One that cannot be read stays 0, which the keeper refuses. */
	for (i = 0; i < CONTROL_NS_COUNT; i++)
		if (stat(names[i], &st) == 0)
			packet.hello.namespaces[i] = st.st_ino;
	packet.hello.capabilities = effective_capabilities();
	packet.hello.pid = (uint32_t)getpid();
	packet.hello.uid = (uint32_t)getuid();
	packet.hello.no_new_privileges = (uint32_t)prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
	packet.hello.seccomp = (uint32_t)prctl(PR_GET_SECCOMP, 0L, 0L, 0L, 0L);
	return send_hello(init, &packet, listener);
}

static int parse_number(const char *text, unsigned long least, unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		return -EINVAL;
	return (int)value;
}

/* Only what is wrong is said, on bwrap's standard error, which the keeper reads. */
static int introduce(struct init *init, bool proxy)
{
	int listener = -1, r;

	if (proxy) {
		r = proxy_listener(&listener);
		if (r < 0) {
			fprintf(stderr, "trials-init: cannot listen on 127.0.0.1 inside: %s\n",
				strerror(-r));
			return r;
		}
	}
	r = init_hello(init, listener);
	if (listener >= 0)
		close(listener);
	return r;
}

int main(int argc, char **argv)
{
	struct init init = {
		.start = -1,
		.bare = argc == 4 && strcmp(argv[3], CONTROL_BARE_ARGUMENT) == 0,
	};
	bool proxy = argc == 4 && strcmp(argv[3], CONTROL_PROXY_ARGUMENT) == 0;
	int leases = 0;
	sigset_t all;

	if (argc == 5 && strcmp(argv[1], CONTROL_ASK_ARGUMENT) == 0)
		return ask(argv + 2);
	if ((argc != 3 && !proxy && !init.bare) ||
	    (init.control = parse_number(argv[1], 3, CONTROL_FD_LEASES - 1)) < 0 ||
	    (leases = parse_number(argv[2], 0, CONTROL_LEASES_MAX)) < 0) {
		fputs("trials-init: started by trial-keeper only\n", stderr);
		return EXIT_FAILURE;
	}
	prctl(PR_SET_NAME, "trials-init", 0L, 0L, 0L);
	raise_oom_score();
	if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) < 0 || keep_only(init.control, leases) < 0)
		return EXIT_FAILURE;
	/* bwrap would have seen to the second. */
	if (init.bare && (prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) < 0 ||
			  prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0 || setsid() < 0))
		return EXIT_FAILURE;
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return EXIT_FAILURE;
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	init.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init.signals < 0 || introduce(&init, proxy) < 0)
		return EXIT_FAILURE;
	/* The keeper will refuse it too; but nothing here may depend on that. */
	if (!init.bare && getpid() != 1)
		return EXIT_FAILURE;
	init_run(&init);
}
