/* SPDX-License-Identifier: MIT */

/*
 * trial-keeper: what every keeper is before it keeps anything. It is started by trialsd with its
 * channel as descriptor 3 and waits there, the gate, until it is told what to keep. Until then it
 * has done nothing, and the gate's end-of-file lets it leave.
 *
 * A spare keeper is told before that to make its control groups: moving a process into one takes
 * many milliseconds on an idle machine, which a launch then need not wait for.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "git_look.h"
#include "keeper.h"
#include "task.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef WITH_ADDRESS_SANITIZER
/* Looking for leaks takes ptrace, which a non-dumpable process refuses. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* stderr stays: it is trialsd's, for what can be told nowhere else. last: what is kept beside it. */
static int set_descriptors(int last)
{
	_cleanup_close_ int null = -1;

	if (fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	if (syscall(SYS_close_range, (unsigned int)last + 1, ~0u, 0u) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	/* It may have been closed, and a number below 3 must never be anything else. */
	if (fcntl(STDERR_FILENO, F_GETFD) < 0 && dup2(null, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

static int set_process(void)
{
	/* Not 0: that would still start a core_pattern that is a pipe. */
	const struct rlimit one = {.rlim_cur = 1, .rlim_max = 1};

	if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) < 0)
		return -errno;
	/* A hard limit of 0 is stricter than ours and cannot be raised. */
	if (setrlimit(RLIMIT_CORE, &one) < 0 && errno != EPERM)
		return -errno;
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return -errno;
	/* A leader of a session already is none of our terminal's either. */
	setsid();
	umask(077);
	return chdir("/") < 0 ? -errno : 0;
}

static int enter(struct payload *payload, const struct channel_packet *packet)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct keeper_enter order;
	struct decode_error error;
	int r;

	r = message_decode(packet->message, packet->body, &keeper_enter_type, UNKNOWN_KEYS_REFUSED,
			   &order, &error);
	if (r < 0 || payload->fd >= 0)
		return -EBADMSG;
	if (payload_init(payload, order.cgroup, &fault) == 0)
		return 0;
	fprintf(stderr, "trial-keeper: %s\n", fault.message);
	return -EIO;
}

/* 1: *ret_start is it. 0: there will be none. */
static int await_start(struct payload *payload, struct channel_packet *ret_start)
{
	int r;

	for (;;) {
		r = channel_receive(CHANNEL_FD, false, ret_start);
		if (r <= 0 || ret_start->verb == CHANNEL_start)
			return r;
		r = ret_start->verb == CHANNEL_enter ? enter(payload, ret_start) : -EBADMSG;
		channel_packet_done(ret_start);
		if (r < 0)
			return r;
	}
}

/* The highest descriptor of `--task carry` and `--task repository PATH`; -1: it is neither. */
static int task_descriptor(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--task") == 0 && strcmp(argv[2], "carry") == 0)
		return TASK_FD_LOGIN + LOGIN_FDS - 1;
	if (argc == 4 && strcmp(argv[1], "--task") == 0 && strcmp(argv[2], "repository") == 0)
		return GIT_TASK_FD_REPOSITORY;
	return -1;
}

static int run_task(char **argv)
{
	int r = argv[3] ? git_task(argv[3]) : task_carry();

	if (r < 0)
		fprintf(stderr, "trial-keeper: %s: %s\n", argv[3] ? "a repository" : "a login",
			strerror(-r));
	return r;
}

int main(int argc, char **argv)
{
	struct payload payload = PAYLOAD_INIT;
	struct channel_packet start;
	int task = argc > 1 ? task_descriptor(argc, argv) : 0;
	int r;

	if (task < 0) {
		fputs("trial-keeper: started by trialsd only\n", stderr);
		return EXIT_FAILURE;
	}
	r = set_process();
	if (r == 0)
		r = set_descriptors(task ? task : CHANNEL_FD);
	if (r < 0) {
		fprintf(stderr, "trial-keeper: cannot start: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	if (task)
		return run_task(argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	r = await_start(&payload, &start);
	if (r == 0)
		return EXIT_SUCCESS;
	if (r < 0) {
		fprintf(stderr, "trial-keeper: not a start: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	r = keeper_run(CHANNEL_FD, &start, &payload);
	if (r < 0)
		fprintf(stderr, "trial-keeper: no record could be left: %s\n", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
