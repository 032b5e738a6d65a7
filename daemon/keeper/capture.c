/* SPDX-License-Identifier: MIT */

/*
 * Capture of a Trial's stdout and stderr.
 *
 * A Trial may write as fast as memory allows and for as long as it runs. So: one buffer shared by
 * both streams (there is one thread, and nothing is kept in it between calls), a bounded number of
 * reads per wake-up so that a cancel is heard at once, and never a wait for the files: a write
 * that fails (a full disk, a quota) loses those bytes, counted, and the stream goes on with a new
 * segment when there is room again.
 */
#include "capture.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/mem.h"

#define BUFFER_BYTES (64u * 1024u)
#define READS_PER_WAKE_UP 4

static char buffer[BUFFER_BYTES];

static int open_file(struct capture *capture, uint64_t offset)
{
	char name[RECORD_NAME_BYTES];

	capture->file = openat(capture->folder_fd,
			       record_segment_name(capture->stream, offset, name),
			       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			       0600);
	if (capture->file < 0)
		return -errno;
	capture->file_offset = offset;
	capture->file_size = 0;
	return 0;
}

int capture_init(struct capture *capture, int folder_fd, enum stream stream, uint64_t cap)
{
	*capture = (struct capture){
		.source = SOURCE_INIT,
		.folder_fd = folder_fd,
		.stream = stream,
		.head_bytes = cap / 2,
		.segment_bytes = RECORD_SEGMENT_BYTES(cap),
		.file = -1,
	};
	return open_file(capture, 0);
}

/* The file that is written to is as long as it will be. */
static void finish_file(struct capture *capture)
{
	struct record_segment *last;

	if (capture->file_offset > 0) {
		last = &capture->ring[(capture->oldest + capture->segments - 1) %
				      RECORD_SEGMENTS_MAX];
		last->size = capture->file_size;
	}
	capture->file = fd_close(capture->file);
}

static void remove_oldest(struct capture *capture)
{
	struct record_segment *oldest = &capture->ring[capture->oldest];
	char name[RECORD_NAME_BYTES];

	unlinkat(capture->folder_fd, record_segment_name(capture->stream, oldest->offset, name), 0);
	capture->kept -= oldest->size;
	capture->oldest = (capture->oldest + 1) % RECORD_SEGMENTS_MAX;
	capture->segments--;
}

/* The oldest goes first, also since that may be what makes room. */
static int begin_segment(struct capture *capture, uint64_t offset)
{
	int r;

	if (capture->segments == RECORD_SEGMENTS_MAX)
		remove_oldest(capture);
	r = open_file(capture, offset);
	if (r < 0)
		return r;
	capture->ring[(capture->oldest + capture->segments) % RECORD_SEGMENTS_MAX] =
		(struct record_segment){.offset = offset};
	capture->segments++;
	return 0;
}

/* A write failed. A segment that got nothing is taken away again: its name would say too much. */
static void lose(struct capture *capture, size_t size, int error)
{
	char name[RECORD_NAME_BYTES];

	if (capture->error == 0)
		capture->error = error;
	capture->unstored += size;
	if (capture->file < 0)
		return;
	finish_file(capture);
	if (capture->file_offset > 0 && capture->file_size == 0) {
		record_segment_name(capture->stream, capture->file_offset, name);
		unlinkat(capture->folder_fd, name, 0);
		capture->segments--;
	}
}

void capture_store(struct capture *capture, const char *bytes, size_t size)
{
	uint64_t most, room;
	size_t length;
	ssize_t n;
	int r;

	while (size > 0) {
		if (capture->file < 0) {
			r = begin_segment(capture, capture->bytes);
			if (r < 0) {
				capture->bytes += size;
				lose(capture, size, r);
				return;
			}
		}
		most = capture->file_offset > 0 ? capture->segment_bytes : capture->head_bytes;
		room = most - capture->file_size;
		length = size < room ? size : (size_t)room;
		do
			n = write(capture->file, bytes, length);
		while (n < 0 && errno == EINTR);
		if (n <= 0) {
			r = n < 0 ? -errno : -EIO;
			capture->bytes += size;
			lose(capture, size, r);
			return;
		}
		bytes += n;
		size -= (size_t)n;
		capture->bytes += (uint64_t)n;
		capture->kept += (uint64_t)n;
		capture->file_size += (uint64_t)n;
		if (capture->file_size == most)
			finish_file(capture);
	}
}

static void capture_close(struct capture *capture)
{
	int fd = capture->source.fd;

	if (fd < 0)
		return;
	loop_remove(capture->loop, &capture->source);
	fd_close(fd);
}

static void on_pipe(struct source *source, uint32_t events)
{
	struct capture *capture = container_of(source, struct capture, source);
	ssize_t n;
	int i;

	(void)events;
	for (i = 0; i < READS_PER_WAKE_UP; i++) {
		n = read(source->fd, buffer, sizeof(buffer));
		if (n > 0) {
			capture_store(capture, buffer, (size_t)n);
			if ((size_t)n < sizeof(buffer))
				return;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		capture_close(capture);
		return;
	}
}

int capture_start(struct capture *capture, struct loop *loop, int *pipe_fd)
{
	int flags, r;

	flags = fcntl(*pipe_fd, F_GETFL);
	if (flags < 0 || fcntl(*pipe_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	capture->loop = loop;
	capture->source.callback = on_pipe;
	r = loop_add(loop, &capture->source, *pipe_fd, EPOLLIN);
	if (r < 0)
		return r;
	*pipe_fd = -1;
	return 0;
}

void capture_drain(struct capture *capture)
{
	int left = 0;
	size_t length;
	ssize_t n;

	if (capture->source.fd >= 0 && ioctl(capture->source.fd, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0) {
		length = (size_t)left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
		n = read(capture->source.fd, buffer, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		capture_store(capture, buffer, (size_t)n);
		left -= (int)n;
	}
	capture_close(capture);
	if (capture->file >= 0)
		finish_file(capture);
}

void capture_done(struct capture *capture)
{
	capture_close(capture);
	capture->file = fd_close(capture->file);
}
