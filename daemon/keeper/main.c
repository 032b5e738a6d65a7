/* SPDX-License-Identifier: MIT */

/*
 * trial-keeper: what every keeper is before it keeps anything. It is started by trialsd with its
 * channel as descriptor 3 and waits there, the gate, until it is told what to keep. Until then it
 * has done nothing, and the gate's end-of-file lets it leave.
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
#include "keeper.h"

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

/* stderr stays: it is trialsd's, for what can be told nowhere else. */
static int set_descriptors(void)
{
	_cleanup_close_ int null = -1;

	if (fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	if (syscall(SYS_close_range, CHANNEL_FD + 1u, ~0u, 0u) < 0)
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
	if (chdir("/") < 0)
		return -errno;
	return set_descriptors();
}

int main(int argc, char **argv)
{
	struct channel_packet start;
	int r;

	(void)argv;
	if (argc != 1) {
		fputs("trial-keeper: started by trialsd only\n", stderr);
		return EXIT_FAILURE;
	}
	r = set_process();
	if (r < 0) {
		fprintf(stderr, "trial-keeper: cannot start: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	r = channel_receive(CHANNEL_FD, false, &start);
	if (r == 0)
		return EXIT_SUCCESS;
	if (r == 1 && start.verb != CHANNEL_start) {
		channel_packet_done(&start);
		r = -EBADMSG;
	}
	if (r < 0) {
		fprintf(stderr, "trial-keeper: not a start: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	r = keeper_run(CHANNEL_FD, &start);
	if (r < 0)
		fprintf(stderr, "trial-keeper: no record could be left: %s\n", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
