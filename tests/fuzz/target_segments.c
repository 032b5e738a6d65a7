/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/record.h"
#include "stage.h"

/*
 * A Trial's folder with files of any names, one a line of the input, each as many bytes long as
 * its name's bytes add up to. A stream is read from its beginning to its end, in steps that each
 * take one forward, and its files are those whose names it makes itself.
 */

#define FILES_MAX 24
#define READS_MAX 4096

static void make_files(char *text)
{
	int folder = stage_folder(), files = 0;
	char *name;

	while ((name = strsep(&text, "\n")) && files < FILES_MAX) {
		off_t size = 0;
		int fd = -1;

		for (const char *at = name; *at; at++)
			size += (unsigned char)*at;
		if (*name && !strchr(name, '/'))
			fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			continue;
		must(ftruncate(fd, size) == 0);
		close(fd);
		files++;
	}
}

static void check_names(const struct record_stream *stream)
{
	char name[RECORD_NAME_BYTES];

	for (size_t i = 0; i < stream->count; i++) {
		const struct record_segment *segment = &stream->segments[i];

		must(i == 0 || segment->offset > stream->segments[i - 1].offset);
		record_segment_name(stream->stream, segment->offset, name);
		must(faccessat(stream->folder_fd, name, F_OK, 0) == 0);
	}
}

static bool is_listed(const struct record_stream *stream, uint64_t offset)
{
	for (size_t i = 0; i < stream->count; i++)
		if (stream->segments[i].offset == offset)
			return true;
	return false;
}

/* Of more files than there is room for, the oldest behind the head were left out. */
static void check_newest(const struct record_stream *stream)
{
	int fd = openat(stream->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fdopendir(fd);
	char name[RECORD_NAME_BYTES];
	struct dirent *entry;

	must(folder);
	while ((entry = readdir(folder))) {
		const char *point = strchr(entry->d_name, '.');
		uint64_t offset = point ? strtoull(point + 1, NULL, 10) : 0;

		record_segment_name(stream->stream, offset, name);
		if (strcmp(entry->d_name, name) == 0 && !is_listed(stream, offset))
			must(stream->count == 1 + RECORD_SEGMENTS_MAX + 1 && offset > 0 &&
			     offset < stream->segments[1].offset);
	}
	closedir(folder);
}

static void read_through(struct record_stream *stream)
{
	uint64_t offset = 0, gap_end;
	char buffer[4096];
	size_t size;

	for (int reads = 0; reads < READS_MAX; reads++) {
		int r = record_stream_read(stream, offset, buffer, sizeof(buffer), &size, &gap_end);

		must(r == 0 || r == 1);
		if (r == 0)
			break;
		must(size <= sizeof(buffer));
		must(size > 0 || gap_end > offset);
		offset = size > 0 ? offset + size : gap_end;
	}
	must(offset >= stream->bytes);
}

int fuzz_segments(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size);
	struct record_stream stream;

	make_files(text);
	for (int i = 0; i < STREAM_COUNT; i++) {
		must(record_stream_open(&stream, stage_folder(), (enum stream)i) == 0);
		check_names(&stream);
		check_newest(&stream);
		read_through(&stream);
	}
	stage_clear();
	free(text);
	return 0;
}
