/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "queue/launch_file.h"
#include "queue/view.h"
#include "stage.h"

/*
 * The file `launch` of a Trial's folder, from which a lost ledger is filled again. What is accepted
 * is of that Trial, can be written, and is then read as the same.
 */

#define ID 7

/* 0, and what was read, encoded. */
static int read_file(const void *bytes, size_t size, msgpack_sbuffer *ret_buffer)
{
	struct launch_file file;
	struct message *message;
	int r;

	stage_write("launch", bytes, size);
	r = launch_file_read(stage_folder(), ID, &message, &file);
	must(r == 0 || r == -ENOENT);
	if (r == 0) {
		must(file.id == ID && file.uuid && file.boot_id);
		must(view_encode(ret_buffer, &launch_file_type, &file) == 0);
		message_free(message);
	}
	return r;
}

int fuzz_launch_file(const uint8_t *data, size_t size)
{
	msgpack_sbuffer first = {0}, second = {0};

	/* What was written in a shorter form, and was the largest there may be, may not fit again. */
	if (read_file(data, size, &first) == 0 && first.size <= FRAME_BYTES_MAX) {
		must(read_file(first.data, first.size, &second) == 0);
		must(first.size == second.size);
		must(first.data && memcmp(first.data, second.data, first.size) == 0);
		msgpack_sbuffer_destroy(&second);
	}
	msgpack_sbuffer_destroy(&first);
	return 0;
}
