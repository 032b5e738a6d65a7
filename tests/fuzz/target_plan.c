/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/channel.h"
#include "stage.h"

/*
 * The plan that a keeper reads. What is accepted can be written, and is then read as the same; what
 * is refused is told by a field and a reason.
 */

static void encode(msgpack_sbuffer *buffer, const struct keeper_plan *plan)
{
	msgpack_packer packer;

	msgpack_sbuffer_init(buffer);
	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	must(message_encode(&packer, &keeper_plan_type, plan) == 0);
}

/* 0: accepted, and encoded into *ret_buffer. */
static int read_plan(const void *bytes, size_t size, msgpack_sbuffer *ret_buffer)
{
	struct decode_error error;
	struct message *message;
	struct keeper_plan plan;
	int fd, r;

	must(channel_memfd("fuzz", bytes, size, &fd) == 0);
	r = channel_plan_read(fd, &message, &plan, &error);
	close(fd);
	if (r == 0) {
		encode(ret_buffer, &plan);
		message_free(message);
	} else {
		must(error.field[0] && error.reason[0]);
		must(stage_is_text(error.field) && stage_is_text(error.reason));
	}
	return r;
}

int fuzz_plan(const uint8_t *data, size_t size)
{
	msgpack_sbuffer first = {0}, second = {0};

	if (read_plan(data, size, &first) < 0)
		return 0;
	/* What was written in a shorter form, and was the largest there may be. */
	if (first.size <= FRAME_BYTES_MAX) {
		must(first.data);
		must(read_plan(first.data, first.size, &second) == 0);
		must(first.size == second.size);
		must(memcmp(first.data, second.data, first.size) == 0);
		msgpack_sbuffer_destroy(&second);
	}
	msgpack_sbuffer_destroy(&first);
	return 0;
}
