/* SPDX-License-Identifier: MIT */
#include "queue/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"

#define RESERVE "../reserve" /* of STATE/trials */
#define RESERVE_BYTES (1 << 20)

void reserve_keep(int trials_fd)
{
	_cleanup_close_ int fd = openat(trials_fd, RESERVE,
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == RESERVE_BYTES)
		return;
	/* Half of one would be room taken and no use. */
	if (posix_fallocate(fd, 0, RESERVE_BYTES) != 0 && ftruncate(fd, 0) < 0)
		return;
}

bool reserve_release(int trials_fd)
{
	struct stat st;

	return fstatat(trials_fd, RESERVE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0 &&
	       unlinkat(trials_fd, RESERVE, 0) == 0;
}
