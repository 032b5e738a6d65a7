/* SPDX-License-Identifier: MIT */
#include "queue/prompt.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "launch/launch.h"

static int read_whole(int fd, char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, data + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

int kept_prompt_open(struct kept_prompt *ret, int trials_fd, uint64_t id)
{
	_cleanup_(kept_prompt_done) struct kept_prompt kept = KEPT_PROMPT_INIT;
	_cleanup_close_ int folder = -1;
	struct stat st;
	int r;

	*ret = KEPT_PROMPT_INIT;
	r = launch_folder(trials_fd, id, false, &folder);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	kept.fd = openat(folder, "prompt", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (kept.fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(kept.fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)PROMPT_FILE_BYTES_MAX)
		return -EBADMSG;
	if (st.st_size <= (off_t)SESSION_ARGUMENT_BYTES_MAX) {
		kept.data = malloc((size_t)st.st_size + 1);
		if (!kept.data)
			return -ENOMEM;
		r = read_whole(kept.fd, kept.data, (size_t)st.st_size);
		if (r < 0)
			return r;
	}
	kept.prompt = (struct session_prompt){
		.there = true,
		.size = (uint64_t)st.st_size,
		.data = kept.data,
		.fd = kept.fd,
	};
	*ret = kept;
	kept = KEPT_PROMPT_INIT;
	return 0;
}

void kept_prompt_done(struct kept_prompt *kept)
{
	fd_close(kept->fd);
	free(kept->data);
	*kept = KEPT_PROMPT_INIT;
}
