/* SPDX-License-Identifier: MIT */

/*
 * Starting and ending the sandbox's processes.
 *
 * bwrap is the pinned file itself, executed by descriptor, with an empty environment. Its options
 * travel in a memory file (--args), since they would otherwise be seen in ps and bounded by the
 * kernel's limit on arguments; every descriptor the options name is put at the number they were
 * written for, after all of them were moved out of the way of each other.
 *
 * The keeper is the subreaper of what it starts: bwrap killed at a bad moment leaves a child that
 * waits for it for ever, and that must be somebody's to find.
 */
#include "sandbox.h"
#include "init/children.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Above every number that bwrap's options can name, and above the leases'. */
#define STAGE_FD_MIN 300

_Static_assert(SANDBOX_FD_BINDS + CHANNEL_DESCRIPTORS_MAX <= CONTROL_FD_LEASES &&
		       CONTROL_FD_LEASES + CONTROL_LEASES_MAX <= STAGE_FD_MIN,
	       "no two descriptors may be put at one number");
#define OOM_SCORE_ADJUSTMENT 500
#define PLACEMENTS_MAX (7 + CHANNEL_DESCRIPTORS_MAX + CONTROL_LEASES_MAX)

#define CHANGE_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

struct placement {
	int from;
	int to;
};

static int pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u);

	return fd < 0 ? -errno : fd;
}

static int pidfd_kill(int fd)
{
	return syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u) < 0 ? -errno : 0;
}

void sandbox_init(struct sandbox *sandbox)
{
	*sandbox = (struct sandbox){
		.control = -1,
		.text_fd = -1,
		.exec_fd = -1,
		.bwrap_fd = -1,
		.init_fd = -1,
		.root = -1,
		.listener = -1,
	};
}

void sandbox_done(struct sandbox *sandbox)
{
	sandbox->control = fd_close(sandbox->control);
	sandbox->text_fd = fd_close(sandbox->text_fd);
	sandbox->exec_fd = fd_close(sandbox->exec_fd);
	sandbox->bwrap_fd = fd_close(sandbox->bwrap_fd);
	sandbox->init_fd = fd_close(sandbox->init_fd);
	sandbox->root = fd_close(sandbox->root);
	sandbox->listener = fd_close(sandbox->listener);
}

/* bwrap's options, NUL-terminated, one after another. */
static int arguments_memfd(const struct text_list *arguments, int *ret_fd)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, length, i;
	char *at;

	for (i = 0; i < arguments->count; i++)
		size += strlen(arguments->items[i]) + 1;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	at = bytes;
	for (i = 0; i < arguments->count; i++) {
		length = strlen(arguments->items[i]) + 1;
		memcpy(at, arguments->items[i], length);
		at += length;
	}
	return channel_memfd("trial-sandbox", bytes, size, ret_fd);
}

/* The child. */

static _Noreturn void child_fail(int report, int error)
{
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

static int stage(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STAGE_FD_MIN);
}

static void child_signals(void)
{
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void child_main(const struct sandbox_order *order, struct placement *placements,
				 size_t count, int report)
{
	char program[] = "bwrap", option[] = "--args", separator[] = "--", arguments[16], init[32],
	     control[16], leases[16], proxy[] = CONTROL_PROXY_ARGUMENT;
	char *const argv[] = {program, option,	arguments, separator,
			      init,    control, leases,	   order->proxy ? proxy : NULL,
			      NULL};
	char name[] = "trials-init", bare[] = CONTROL_BARE_ARGUMENT;
	char *const bare_argv[] = {name, control, leases, bare, NULL};
	char *const environment[] = {NULL};
	int bwrap;
	size_t i;

	snprintf(arguments, sizeof(arguments), "%d", SANDBOX_FD_ARGUMENTS);
	snprintf(init, sizeof(init), "/proc/self/fd/%d", SANDBOX_FD_INIT);
	snprintf(control, sizeof(control), "%d", SANDBOX_FD_CONTROL);
	snprintf(leases, sizeof(leases), "%zu", order->lease_count);
	report = stage(report);
	bwrap = stage(order->bare ? order->init : order->bwrap);
	if (report < 0 || bwrap < 0)
		_exit(EXIT_FAILURE);
	for (i = 0; i < count; i++) {
		placements[i].from = stage(placements[i].from);
		if (placements[i].from < 0)
			child_fail(report, errno);
	}
	for (i = 0; i < count; i++)
		if (dup2(placements[i].from, placements[i].to) < 0)
			child_fail(report, errno);
	child_signals();
	if (order->descriptors && setrlimit(RLIMIT_NOFILE, order->descriptors) < 0)
		child_fail(report, errno);
	syscall(SYS_execveat, bwrap, "", order->bare ? bare_argv : argv, environment,
		AT_EMPTY_PATH);
	child_fail(report, errno);
}

/* The parent. */

/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes to it. */
pid_t sandbox_clone(int cgroup, int *ret_pidfd)
{
	struct clone_args arguments = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};

	if (cgroup >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)cgroup;
	}
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

/*
 * Only possible after exec: until then the child is as non-dumpable as we are, and its file is
 * root's. So it is done when pid 1 has told of itself, which bwrap started. Our child and not reaped,
 * so the number is surely its. Best effort.
 */
static void raise_oom_score(pid_t pid)
{
	char path[64], text[16];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		if (strtol(text, NULL, 10) < OOM_SCORE_ADJUSTMENT) {
			n = snprintf(text, sizeof(text), "%d", OOM_SCORE_ADJUSTMENT);
			n = pwrite(fd, text, (size_t)n, 0);
		}
	}
	fd_close(fd);
}

struct spawning {
	int control[2]; /* ours, init's */
	int text[2];	/* read, write */
	int report[2];	/* closes with the exec, or carries its errno */
	int arguments;
	int null;
};

static void spawning_done(struct spawning *spawning)
{
	int *fds[] = {&spawning->control[0], &spawning->control[1], &spawning->text[0],
		      &spawning->text[1],    &spawning->report[0],  &spawning->report[1],
		      &spawning->arguments,  &spawning->null};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		*fds[i] = fd_close(*fds[i]);
}

static int spawning_init(struct spawning *spawning, const struct sandbox_order *order)
{
	const int on = 1;

	*spawning = (struct spawning){
		.control = {-1, -1},
		.text = {-1, -1},
		.report = {-1, -1},
		.arguments = -1,
		.null = -1,
	};
	/* Credentials are asked for before there is anybody to send a packet without them. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, spawning->control) < 0 ||
	    setsockopt(spawning->control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    pipe2(spawning->text, O_CLOEXEC) < 0 ||
	    fcntl(spawning->text[0], F_SETFL, O_NONBLOCK) < 0 ||
	    pipe2(spawning->report, O_CLOEXEC) < 0 ||
	    fcntl(spawning->report[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	spawning->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (spawning->null < 0)
		return -errno;
	return arguments_memfd(order->arguments, &spawning->arguments);
}

static size_t fill_placements(const struct spawning *spawning, const struct sandbox_order *order,
			      struct placement *placements)
{
	size_t count = 0, i;

	placements[count++] = (struct placement){spawning->null, STDIN_FILENO};
	placements[count++] = (struct placement){spawning->null, STDOUT_FILENO};
	placements[count++] = (struct placement){spawning->text[1], STDERR_FILENO};
	placements[count++] = (struct placement){spawning->control[1], SANDBOX_FD_CONTROL};
	placements[count++] = (struct placement){order->init, SANDBOX_FD_INIT};
	placements[count++] = (struct placement){spawning->arguments, SANDBOX_FD_ARGUMENTS};
	placements[count++] = (struct placement){order->seccomp, SANDBOX_FD_SECCOMP};
	for (i = 0; i < order->bind_count; i++)
		placements[count++] = (struct placement){order->binds[i],
							 SANDBOX_FD_BINDS + (int)i};
	for (i = 0; i < order->lease_count; i++)
		placements[count++] = (struct placement){order->leases[i],
							 CONTROL_FD_LEASES + (int)i};
	return count;
}

static int refuse_spawn(struct fault *fault, const char *what, int error)
{
	return fault_void(fault, CAUSE_sandbox_unavailable, "bwrap cannot be started: %s: %s", what,
			  strerror(-error));
}

int sandbox_spawn(struct sandbox *sandbox, const struct sandbox_order *order,
		  struct fault *ret_fault)
{
	_cleanup_(spawning_done) struct spawning spawning;
	struct placement placements[PLACEMENTS_MAX];
	size_t count;
	pid_t pid;
	int r, pidfd = -1;

	r = spawning_init(&spawning, order);
	if (r < 0)
		return refuse_spawn(ret_fault, "its descriptors", r);
	lseek(order->seccomp, 0, SEEK_SET);
	count = fill_placements(&spawning, order, placements);
	pid = sandbox_clone(order->cgroup, &pidfd);
	if (pid == 0)
		child_main(order, placements, count, spawning.report[1]);
	if (pid < 0)
		return refuse_spawn(ret_fault, "clone", -errno);
	sandbox->bwrap_pid = pid;
	sandbox->bwrap_fd = pidfd;
	sandbox->control = fd_steal(&spawning.control[0]);
	sandbox->text_fd = fd_steal(&spawning.text[0]);
	sandbox->exec_fd = fd_steal(&spawning.report[0]);
	return 0;
}

int sandbox_exec_error(struct sandbox *sandbox)
{
	int error = 0;
	ssize_t n;

	do
		n = read(sandbox->exec_fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? -error : 0;
}

/* The control socket. */

/* The sender's pid as the kernel gives it, in our namespace; 0 for none. */
static pid_t sender(struct msghdr *message)
{
	struct cmsghdr *header;
	struct ucred credentials;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
		return credentials.pid;
	}
	return 0;
}

/* Room for more than there should be, so that it can be told that there were. */
#define HANDED_MAX 4

struct handed {
	int fds[HANDED_MAX];
	size_t count;
};

static void handed_close(struct handed *handed)
{
	for (size_t i = 0; i < handed->count; i++)
		fd_close(handed->fds[i]);
}

static void handed_take(struct handed *handed, struct msghdr *message)
{
	struct cmsghdr *header;
	size_t count;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (count > HANDED_MAX - handed->count)
			continue; /* cannot be: the space received into holds no more */
		memcpy(handed->fds + handed->count, CMSG_DATA(header), count * sizeof(int));
		handed->count += count;
	}
}

int sandbox_receive(struct sandbox *sandbox, struct control_packet *ret_packet)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * HANDED_MAX)];
	} ancillary;
	_cleanup_(handed_close) struct handed handed = {0};
	struct iovec vector = {.iov_base = ret_packet, .iov_len = sizeof(*ret_packet)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};
	ssize_t n;
	pid_t pid;

	if (sandbox->control < 0)
		return 0;
	do
		n = recvmsg(sandbox->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (n == 0)
		return 0;
	handed_take(&handed, &message);
	if (n != (ssize_t)sizeof(*ret_packet) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    ret_packet->version != CONTROL_VERSION)
		return -EBADMSG;
	pid = sender(&message);
	if (pid <= 0 || (sandbox->init_pid ? pid != sandbox->init_pid || handed.count > 0
					   : ret_packet->type != CONTROL_HELLO))
		return -EBADMSG;
	if (!sandbox->init_pid) {
		sandbox->init_fd = pidfd_open(pid);
		if (sandbox->init_fd < 0)
			return sandbox->init_fd == -ESRCH ? 0 : sandbox->init_fd;
		sandbox->init_pid = pid;
		sandbox->handed = handed.count;
		if (handed.count > 0)
			sandbox->root = fd_steal(&handed.fds[0]);
		if (handed.count > 1)
			sandbox->listener = fd_steal(&handed.fds[1]);
		sandbox->exec_fd = fd_close(sandbox->exec_fd);
		if (sandbox->bwrap_fd >= 0)
			raise_oom_score(sandbox->bwrap_pid);
	}
	return 1;
}

static int send_control(struct sandbox *sandbox, struct control_packet *packet, const int *fds,
			size_t count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * CONTROL_DESCRIPTORS)];
	} ancillary = {0};
	struct iovec vector = {.iov_base = packet, .iov_len = sizeof(*packet)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	if (sandbox->control < 0)
		return -EPIPE;
	packet->version = CONTROL_VERSION;
	if (count > 0) {
		message.msg_control = &ancillary;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&ancillary.header), fds, sizeof(int) * count);
	}
	/* A handful of small packets in all: a full buffer means a stopped init, killed in time. */
	if (sendmsg(sandbox->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

int sandbox_go(struct sandbox *sandbox, int launch, const int stdio[3])
{
	struct control_packet packet = {.type = CONTROL_GO};
	const int fds[CONTROL_DESCRIPTORS] = {launch, stdio[0], stdio[1], stdio[2]};

	return send_control(sandbox, &packet, fds, CONTROL_DESCRIPTORS);
}

int sandbox_signal(struct sandbox *sandbox, int number)
{
	struct control_packet packet = {.type = CONTROL_SIGNAL};

	packet.signal.number = (uint32_t)number;
	return send_control(sandbox, &packet, NULL, 0);
}

int sandbox_finish(struct sandbox *sandbox)
{
	struct control_packet packet = {.type = CONTROL_FINISH};

	return send_control(sandbox, &packet, NULL, 0);
}

int sandbox_count(struct sandbox *sandbox)
{
	struct control_packet packet = {.type = CONTROL_COUNT};

	return send_control(sandbox, &packet, NULL, 0);
}

/* What is handed over. */

static char *add_string(char *at, const char *string)
{
	size_t length = strlen(string) + 1;

	memcpy(at, string, length);
	return at + length;
}

int sandbox_launch_memfd(const struct keeper_plan *plan, int *ret_fd)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = sizeof(struct control_launch) + strlen(plan->cwd) + 1;
	struct control_launch *header;
	char *at;
	size_t i;

	for (i = 0; i < plan->command.count; i++)
		size += strlen(plan->command.items[i]) + 1;
	for (i = 0; i < plan->environment.count; i++)
		size += strlen(plan->environment.items[i].name) + 1 +
			strlen(plan->environment.items[i].value) + 1;
	if (size > CONTROL_LAUNCH_BYTES_MAX)
		return -E2BIG;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	header = (struct control_launch *)(void *)bytes;
	*header = (struct control_launch){
		.magic = CONTROL_LAUNCH_MAGIC,
		.arguments = (uint32_t)plan->command.count,
		.variables = (uint32_t)plan->environment.count,
		.bytes = (uint32_t)size,
	};
	at = add_string(bytes + sizeof(*header), plan->cwd);
	for (i = 0; i < plan->command.count; i++)
		at = add_string(at, plan->command.items[i]);
	for (i = 0; i < plan->environment.count; i++) {
		at = add_string(at, plan->environment.items[i].name);
		at[-1] = '=';
		at = add_string(at, plan->environment.items[i].value);
	}
	return channel_memfd("trial-launch", bytes, size, ret_fd);
}

int sandbox_stdin(int fd, int *ret_fd)
{
	_cleanup_close_ int copy = -1;
	struct stat st;
	off_t offset = 0;
	ssize_t n;
	int seals;

	if (fstat(fd, &st) < 0)
		return -errno;
	seals = fcntl(fd, F_GET_SEALS);
	if (!S_ISREG(st.st_mode) || (seals >= 0 && (seals & CHANGE_SEALS) == CHANGE_SEALS)) {
		*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? -errno : 0;
	}
	if (st.st_size > (off_t)PROMPT_FILE_BYTES_MAX)
		return -EFBIG;
	copy = memfd_create("trial-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return -errno;
	while (offset < st.st_size) {
		n = sendfile(copy, fd, &offset, (size_t)(st.st_size - offset));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
	}
	if (fcntl(copy, F_ADD_SEALS, CHANGE_SEALS | F_SEAL_SEAL) < 0 ||
	    lseek(copy, 0, SEEK_SET) < 0)
		return -errno;
	*ret_fd = fd_steal(&copy);
	return 0;
}

bool sandbox_read_text(struct sandbox *sandbox)
{
	char dropped[512];
	size_t room;
	ssize_t n;

	for (;;) {
		room = SANDBOX_TEXT_BYTES - sandbox->text_size;
		if (room > 0)
			n = read(sandbox->text_fd, sandbox->text + sandbox->text_size, room);
		else
			n = read(sandbox->text_fd, dropped, sizeof(dropped));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (room > 0)
			sandbox->text_size += (size_t)n;
	}
	sandbox->text[sandbox->text_size] = '\0';
	return n < 0 && errno == EAGAIN;
}

/* The end. */

int sandbox_reap_bwrap(struct sandbox *sandbox, int *ret_status)
{
	siginfo_t info = {0};

	if (sandbox->bwrap_fd < 0)
		return 0;
	if (waitid(P_PIDFD, (id_t)sandbox->bwrap_fd, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		*ret_status = W_EXITCODE(info.si_status, 0);
	else
		*ret_status = W_EXITCODE(0, info.si_status);
	sandbox->bwrap_fd = fd_close(sandbox->bwrap_fd);
	return 1;
}

void sandbox_kill(struct sandbox *sandbox)
{
	if (sandbox->init_fd >= 0)
		pidfd_kill(sandbox->init_fd);
	else if (sandbox->bwrap_fd >= 0)
		pidfd_kill(sandbox->bwrap_fd);
	else
		children_kill();
}

bool sandbox_reap_rest(const struct sandbox *sandbox)
{
	pid_t pid;

	if (sandbox->bwrap_fd >= 0)
		return false;
	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0;
}
