/* SPDX-License-Identifier: MIT */
#include "doctor/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/mem.h"

#define CHILD_SECONDS 10

enum part {
	PART_UNSHARE,
	PART_MAP,
	PART_PRIVATE,
	PART_TMPFS,
	PART_PID,
	PART_PROC,
	PART_LOOPBACK,
	PART_NAME,
	PART_UNKNOWN,
};

static const char *const part_names[] = {
	[PART_UNSHARE] = "it is refused",
	[PART_MAP] = "the map of user ids is refused",
	[PART_PRIVATE] = "making mounts private is refused",
	[PART_TMPFS] = "mounting a tmpfs is refused",
	[PART_PID] = "its first process is refused",
	[PART_PROC] = "mounting /proc is refused",
	[PART_LOOPBACK] = "bringing the loopback up is refused",
	[PART_NAME] = "setting the host name is refused",
	[PART_UNKNOWN] = "the child that tried it ended without a word",
};

struct verdict {
	int error; /* errno, 0 for done */
	enum part part;
};

static struct verdict refused(enum part part)
{
	return (struct verdict){.error = errno ? errno : EIO, .part = part};
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	fd_close(fd);
	return n == (ssize_t)strlen(text);
}

static struct verdict try_maps(uid_t uid, gid_t gid)
{
	char text[64];

	/* Older kernels have no such file, and then none is needed. */
	if (!write_file("/proc/self/setgroups", "deny") && errno != ENOENT)
		return refused(PART_MAP);
	snprintf(text, sizeof(text), "%u %u 1\n", (unsigned int)uid, (unsigned int)uid);
	if (!write_file("/proc/self/uid_map", text))
		return refused(PART_MAP);
	snprintf(text, sizeof(text), "%u %u 1\n", (unsigned int)gid, (unsigned int)gid);
	if (!write_file("/proc/self/gid_map", text))
		return refused(PART_MAP);
	return (struct verdict){0};
}

static struct verdict try_mounts(bool tmpfs)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return refused(PART_PRIVATE);
	if (tmpfs && mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k") < 0)
		return refused(PART_TMPFS);
	return (struct verdict){0};
}

static struct verdict try_first_process(bool proc)
{
	struct verdict verdict = {0};
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return refused(PART_PID);
	if (pid == 0) {
		if (getpid() != 1)
			_exit(255);
		if (proc &&
		    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
			_exit(errno < 255 ? errno : EIO);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 255)
		verdict = (struct verdict){EIO, PART_PID};
	else if (WEXITSTATUS(status))
		verdict = (struct verdict){WEXITSTATUS(status), PART_PROC};
	return verdict;
}

static struct verdict try_loopback(void)
{
	struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(request.ifr_name, "lo");
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return refused(PART_LOOPBACK);
	close(fd);
	return (struct verdict){0};
}

static struct verdict try_step(enum namespace_step step)
{
	static const int flags[STEP_COUNT] = {
		[STEP_MOUNT] = CLONE_NEWNS,
		[STEP_PID] = CLONE_NEWPID,
		[STEP_PROC] = CLONE_NEWNS | CLONE_NEWPID,
		[STEP_NETWORK] = CLONE_NEWNET,
		[STEP_IPC] = CLONE_NEWIPC,
		[STEP_UTS] = CLONE_NEWUTS,
		[STEP_CGROUP] = CLONE_NEWCGROUP,
	};
	struct verdict verdict;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | flags[step]) < 0)
		return refused(PART_UNSHARE);
	verdict = try_maps(uid, gid);
	if (verdict.error)
		return verdict;
	switch (step) {
	case STEP_MOUNT:
		return try_mounts(true);
	case STEP_PID:
		return try_first_process(false);
	case STEP_PROC:
		verdict = try_mounts(false);
		return verdict.error ? verdict : try_first_process(true);
	case STEP_NETWORK:
		return try_loopback();
	case STEP_UTS:
		return sethostname("trial", 5) < 0 ? refused(PART_NAME) : (struct verdict){0};
	default:
		return verdict;
	}
}

int namespace_try(enum namespace_step step, const char **ret_what)
{
	struct verdict verdict = {.error = EIO, .part = PART_UNKNOWN};
	int ends[2];
	ssize_t n;
	pid_t pid;

	*ret_what = part_names[PART_UNKNOWN];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(CHILD_SECONDS);
		verdict = try_step(step);
		n = write(ends[1], &verdict, sizeof(verdict));
		_exit(n == (ssize_t)sizeof(verdict) ? 0 : 1);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	do
		n = read(ends[0], &verdict, sizeof(verdict));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(verdict))
		verdict = (struct verdict){EIO, PART_UNKNOWN};
	close(ends[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*ret_what = part_names[verdict.part];
	return -verdict.error;
}
