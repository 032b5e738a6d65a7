/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

/*
 * A daemon that was killed while it started a program may have left a child that is about to
 * execute it, and holds all descriptors until then: moments, and no second daemon.
 */
static int lock_patiently(int fd)
{
	const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};

	for (int i = 0; i < 50; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		nanosleep(&moment, NULL);
	}
	return -EWOULDBLOCK;
}

int lock_take(int folder_fd, const char *folder, int *ret_fd, struct fault *ret_fault)
{
	_cleanup_close_ int fd = openat(folder_fd, "trialsd.lock",
					O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	char holder[32] = "";
	ssize_t n;

	if (fd < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s/trialsd.lock: %s", folder,
				 strerror(errno));
	if (lock_patiently(fd) < 0) {
		n = pread(fd, holder, sizeof(holder) - 1, 0);
		if (n > 0)
			holder[strcspn(holder, "\n")] = '\0';
		return fault_set(ret_fault, ERROR_refused, "another trialsd%s%s serves %s",
				 n > 0 ? ", pid " : "", holder, folder),
		       fault_hint(ret_fault,
				  "stop that one first, or name another folder with --state "
				  "and --runtime");
	}
	n = snprintf(holder, sizeof(holder), "%d\n", (int)getpid());
	/* For the message above only; the lock is what counts. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, holder, (size_t)n, 0) < 0)
		return fault_set(ret_fault, ERROR_unavailable, "%s/trialsd.lock: %s", folder,
				 strerror(errno));
	*ret_fd = fd_steal(&fd);
	return 0;
}
