/* SPDX-License-Identifier: MIT */
#include "queue/judged_output.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"

#define CHUNK_BYTES 65536

static const char *const copies[] = {
	[STREAM_stdout] = "judged-stdout",
	[STREAM_stderr] = "judged-stderr",
};

static int write_gap(int fd, uint64_t bytes, bool inside_line)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "%s[%" PRIu64 " bytes not kept]\n",
			    inside_line ? "\n" : "", bytes);

	return file_write(fd, text, (size_t)size);
}

static int copy(struct record_stream *stream, uint64_t bytes, int to)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	uint64_t at = 0, gap_end;
	bool inside_line = false;
	size_t n;
	int r;

	if (!chunk)
		return -ENOMEM;
	while ((r = record_stream_read(stream, at, chunk, CHUNK_BYTES, &n, &gap_end)) > 0) {
		if (n > 0) {
			r = file_write(to, chunk, n);
			inside_line = chunk[n - 1] != '\n';
			at += n;
		} else {
			r = write_gap(to, gap_end - at, inside_line);
			inside_line = false;
			at = gap_end;
		}
		if (r < 0)
			return r;
	}
	return r == 0 && at < bytes ? write_gap(to, bytes - at, inside_line) : r;
}

/* All that there was is in the head. */
static bool is_whole(const struct record_stream *stream, uint64_t bytes)
{
	return stream->count == 1 && stream->segments[0].offset == 0 &&
	       stream->segments[0].size >= bytes;
}

int judged_output_open(int from, int to, enum stream stream, uint64_t bytes, int *ret_fd)
{
	char head[RECORD_NAME_BYTES];
	_cleanup_close_ int file = -1;
	struct record_stream found;
	int fd, r;

	r = record_stream_open(&found, from, stream);
	if (r < 0)
		return r;
	if (is_whole(&found, bytes)) {
		fd = openat(from, record_segment_name(stream, 0, head),
			    O_PATH | O_NOFOLLOW | O_CLOEXEC);
	} else {
		unlinkat(to, copies[stream], 0);
		file = openat(to, copies[stream],
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file < 0)
			return -errno;
		r = copy(&found, bytes, file);
		if (r < 0)
			return r;
		fd = openat(to, copies[stream], O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

void judged_output_remove(int to)
{
	unlinkat(to, copies[STREAM_stdout], 0);
	unlinkat(to, copies[STREAM_stderr], 0);
}
