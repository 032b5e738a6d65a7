/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/record.h"
#include "stage.h"

/*
 * The file `outcome` that a keeper left. What is accepted has what a record must have, can be
 * written again, is then read as the same, and leaves nothing else in the folder.
 */

static size_t read_file(int folder, char *bytes, size_t room)
{
	int fd = openat(folder, "outcome", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	must(fd >= 0);
	n = read(fd, bytes, room);
	must(n > 0);
	close(fd);
	return (size_t)n;
}

/* The record as the file holds it afterwards; 0 bytes: it is larger than a record may be. */
static size_t write_again(int folder, char *bytes, size_t room)
{
	struct record_file file = RECORD_FILE_INIT;
	struct outcome_record record;
	struct message *message;
	int r;

	must(record_read(folder, &message, &record) == 0);
	must(record.has.outcome && record.has.ended_at);
	r = record_write(&file, folder, &record, false);
	/* What was written in a shorter form, and was the largest there may be. */
	must(r == 0 || r == -EMSGSIZE);
	must(file.in_place == (r == 0));
	record_file_done(&file, folder);
	message_free(message);
	must(faccessat(folder, "outcome.new", F_OK, 0) < 0 && errno == ENOENT);
	return r == 0 ? read_file(folder, bytes, room) : 0;
}

int fuzz_record(const uint8_t *data, size_t size)
{
	static char first[RECORD_BYTES_MAX + 1], second[RECORD_BYTES_MAX + 1];
	int folder = stage_folder();
	struct outcome_record record;
	struct message *message;
	size_t length;
	int r;

	stage_write("outcome", data, size);
	r = record_read(folder, &message, &record);
	must(r == 0 || r == -ENOENT);
	if (r == 0) {
		message_free(message);
		length = write_again(folder, first, sizeof(first));
		if (length)
			must(length <= RECORD_BYTES_MAX &&
			     write_again(folder, second, sizeof(second)) == length &&
			     memcmp(first, second, length) == 0);
	}
	stage_clear();
	return 0;
}
