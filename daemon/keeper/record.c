/* SPDX-License-Identifier: MIT */

/*
 * What a Trial leaves in its folder: the exit record, and the files of its two streams.
 *
 * Both are read while a keeper may be at work. The record appears whole by a rename. A stream's
 * files only grow or go: a reader that finds one gone looks at the folder again and then sees the
 * hole as what it is, a gap.
 */
#include "record.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/file.h"

#define RECORD_NAME "outcome"
#define RECORD_NAME_NEW "outcome.new"
#define OFFSET_DIGITS 20
/* A reader that loses this race so often in a row meets a writer no disk can have. */
#define LOOKS_MAX 100

/* Anew, and never into what is there: a name may be a link to another's file. */
static int create_file(int folder_fd)
{
	int fd;

	if (unlinkat(folder_fd, RECORD_NAME_NEW, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder_fd, RECORD_NAME_NEW,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int record_reserve(struct record_file *file, int folder_fd)
{
	int r;

	file->fd = create_file(folder_fd);
	if (file->fd < 0)
		return file->fd == -ENOSPC || file->fd == -EDQUOT ? file->fd : 0;
	do
		r = -posix_fallocate(file->fd, 0, RECORD_BYTES_RESERVED);
	while (r == -EINTR);
	return r == -ENOSPC || r == -EDQUOT ? r : 0;
}

void record_file_done(struct record_file *file, int folder_fd)
{
	if (file->fd >= 0 && !file->in_place)
		unlinkat(folder_fd, RECORD_NAME_NEW, 0);
	file->fd = fd_close(file->fd);
}

static int write_all(int fd, const char *bytes, size_t size)
{
	int r = file_write_at(fd, bytes, size, 0);

	if (r < 0)
		return r;
	/* What is left of the room that was reserved. */
	return ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

static int write_file(struct record_file *file, int folder_fd, const char *bytes, size_t size,
		      bool durable)
{
	int r = 0;

	if (!file->in_place && file->fd < 0)
		file->fd = create_file(folder_fd);
	if (file->fd < 0)
		return file->fd;
	if (!file->in_place)
		r = write_all(file->fd, bytes, size);
	if (r == 0 && durable && fsync(file->fd) < 0)
		r = -errno;
	if (r == 0 && !file->in_place) {
		if (renameat(folder_fd, RECORD_NAME_NEW, folder_fd, RECORD_NAME) < 0)
			r = -errno;
		file->in_place = r == 0;
	}
	if (r == 0 && durable && fsync(folder_fd) < 0)
		r = -errno;
	return r;
}

int record_write(struct record_file *file, int folder_fd, const struct outcome_record *record,
		 bool durable)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	if (!record->has.outcome || !record->has.ended_at)
		return -EINVAL;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &outcome_record_type, record);
	if (r == 0 && buffer.size > RECORD_BYTES_MAX)
		r = -EMSGSIZE;
	if (r == 0)
		r = write_file(file, folder_fd, buffer.data, buffer.size, durable);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

int record_read(int folder_fd, struct message **ret_message, struct outcome_record *ret_record)
{
	int r = record_read_whole(folder_fd, ret_message, ret_record);

	if (r == 0)
		record_leave_out_connections(ret_record);
	return r;
}

int record_read_whole(int folder_fd, struct message **ret_message,
		      struct outcome_record *ret_record)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *bytes = NULL;
	struct message *message = NULL;
	struct decode_error error;
	struct stat st;
	ssize_t n;

	fd = openat(folder_fd, RECORD_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > (off_t)RECORD_BYTES_MAX)
		return -ENOENT;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	n = pread(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return -errno;
	if (message_parse(&message, bytes, (size_t)n) < 0)
		return -ENOENT;
	if (message_decode(message, message_root(message), &outcome_record_type,
			   UNKNOWN_KEYS_IGNORED, ret_record, &error) < 0 ||
	    !ret_record->has.outcome || !ret_record->has.ended_at) {
		message_free(message);
		return -ENOENT;
	}
	*ret_message = message;
	return 0;
}

const char *record_segment_name(enum stream stream, uint64_t offset, char name[RECORD_NAME_BYTES])
{
	if (offset == 0)
		snprintf(name, RECORD_NAME_BYTES, "%s", stream_name((int)stream));
	else
		snprintf(name, RECORD_NAME_BYTES, "%s.%0*" PRIu64, stream_name((int)stream),
			 OFFSET_DIGITS, offset);
	return name;
}

/* Whether name is a file of the stream, and its offset. */
static bool parse_segment_name(const char *name, const char *stream, uint64_t *ret_offset)
{
	size_t length = strlen(stream);
	uint64_t offset = 0;
	const char *digit;

	if (strncmp(name, stream, length) != 0)
		return false;
	name += length;
	if (*name == '\0') {
		*ret_offset = 0;
		return true;
	}
	if (*name++ != '.' || strlen(name) != OFFSET_DIGITS)
		return false;
	for (digit = name; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		if (__builtin_mul_overflow(offset, 10, &offset) ||
		    __builtin_add_overflow(offset, (uint64_t)(*digit - '0'), &offset))
			return false;
	}
	*ret_offset = offset;
	return offset > 0;
}

/* Keeps the list ascending. More files than a keeper ever leaves: the oldest but the head go. */
static void insert_segment(struct record_stream *stream, uint64_t offset, uint64_t size)
{
	struct record_segment *segments = stream->segments;
	size_t at = stream->count;

	if (at == ARRAY_SIZE(stream->segments)) {
		/* The head may be yet to come. */
		size_t oldest = segments[0].offset == 0 ? 1 : 0;

		if (offset < segments[oldest].offset && offset > 0)
			return;
		memmove(segments + oldest, segments + oldest + 1,
			(at - oldest - 1) * sizeof(*segments));
		stream->count = --at;
	}
	while (at > 0 && segments[at - 1].offset > offset) {
		segments[at] = segments[at - 1];
		at--;
	}
	segments[at] = (struct record_segment){.offset = offset, .size = size};
	stream->count++;
}

static int look(struct record_stream *stream)
{
	const char *name = stream_name((int)stream->stream);
	struct dirent *entry;
	struct stat st;
	uint64_t offset;
	size_t i;
	DIR *folder;
	int fd;

	fd = openat(stream->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	folder = fdopendir(fd);
	if (!folder) {
		fd_close(fd);
		return -errno;
	}
	stream->count = 0;
	stream->bytes = 0;
	stream->kept = 0;
	while ((entry = readdir(folder)))
		if (parse_segment_name(entry->d_name, name, &offset) &&
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			insert_segment(stream, offset, (uint64_t)st.st_size);
	closedir(folder);
	for (i = 0; i < stream->count; i++) {
		stream->kept += stream->segments[i].size;
		stream->bytes = stream->segments[i].offset + stream->segments[i].size;
	}
	return 0;
}

int record_stream_open(struct record_stream *ret_stream, int folder_fd, enum stream stream)
{
	*ret_stream = (struct record_stream){.folder_fd = folder_fd, .stream = stream};
	return look(ret_stream);
}

static ssize_t read_segment(const struct record_stream *stream, uint64_t start, uint64_t offset,
			    void *buffer, size_t size)
{
	char name[RECORD_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	fd = openat(stream->folder_fd, record_segment_name(stream->stream, start, name),
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, buffer, size, (off_t)(offset - start));
	return n < 0 ? -errno : n;
}

int record_stream_read(struct record_stream *stream, uint64_t offset, void *buffer, size_t size,
		       size_t *ret_size, uint64_t *ret_gap_end)
{
	const struct record_segment *segment;
	uint64_t seen_gap_end = 0;
	int looks, r;
	ssize_t n;
	size_t i;

	*ret_size = 0;
	*ret_gap_end = offset;
	for (looks = 0; looks < LOOKS_MAX; looks++) {
		for (i = 0; i < stream->count; i++) {
			segment = &stream->segments[i];
			if (offset < segment->offset + segment->size)
				break;
		}
		if (i < stream->count && offset < segment->offset) {
			/*
			 * A hole is one only when a second look, at a time when the file that
			 * ends it was there, still shows it: by then those before it are as long
			 * as they will be, and the folder's listing cannot have missed one.
			 */
			if (segment->offset == seen_gap_end) {
				*ret_gap_end = seen_gap_end;
				return 1;
			}
			seen_gap_end = segment->offset;
		} else if (i < stream->count) {
			if (size > segment->offset + segment->size - offset)
				size = (size_t)(segment->offset + segment->size - offset);
			n = read_segment(stream, segment->offset, offset, buffer, size);
			if (n > 0) {
				*ret_size = (size_t)n;
				return 1;
			}
			if (n < 0 && n != -ENOENT)
				return (int)n;
		} else if (looks > 0) {
			return 0;
		}
		r = look(stream);
		if (r < 0)
			return r;
	}
	return -EAGAIN;
}
