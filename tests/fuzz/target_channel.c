/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/channel.h"
#include "keeper/login.h"
#include "stage.h"

/*
 * A packet of the channel between trialsd and a keeper, with up to three descriptors. What is
 * accepted is a verb and a body; the body, taken for what that verb carries, can be sent again and
 * comes as the same. No descriptor stays open, whatever becomes of the packet.
 */

static const struct message_type *const types[CHANNEL_VERB_COUNT] = {
	[CHANNEL_hello] = &keeper_hello_type,	  [CHANNEL_start] = &keeper_empty_type,
	[CHANNEL_running] = &keeper_running_type, [CHANNEL_ending] = &keeper_ending_type,
	[CHANNEL_ended] = &outcome_record_type,	  [CHANNEL_cancel] = &keeper_cancel_type,
	[CHANNEL_taken] = &keeper_empty_type,	  [CHANNEL_ping] = &keeper_empty_type,
	[CHANNEL_pong] = &keeper_empty_type,	  [CHANNEL_enter] = &keeper_enter_type,
	[CHANNEL_login] = &login_result_type,
};

union structures {
	struct keeper_hello hello;
	struct keeper_running running;
	struct keeper_ending ending;
	struct keeper_cancel cancel;
	struct keeper_enter enter;
	struct login_result login;
	struct outcome_record record;
};

static void send_bytes(int fd, const void *bytes, size_t size, size_t count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * 3)];
	} ancillary = {0};
	const int descriptors[3] = {fd, fd, fd};
	struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	if (count > 0) {
		message.msg_control = &ancillary;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&ancillary.header), descriptors, sizeof(int) * count);
	}
	must(sendmsg(fd, &message, MSG_DONTWAIT) == (ssize_t)size);
}

/* Whether it is one, and then in *ret_structure, pointing into the packet. */
static bool decode(struct channel_packet *packet, union structures *ret_structure)
{
	struct decode_error error;

	must((size_t)packet->verb < CHANNEL_VERB_COUNT && packet->body);
	must(types[packet->verb]);
	must(packet->body->type == MSGPACK_OBJECT_MAP);
	return message_decode(packet->message, packet->body, types[packet->verb],
			      UNKNOWN_KEYS_IGNORED, ret_structure, &error) == 0;
}

/* Both are encoded, and the bytes compared: the structures hold pointers. */
static void must_be_same(const struct message_type *type, const void *a, const void *b)
{
	msgpack_sbuffer buffers[2];
	msgpack_packer packer;

	for (int i = 0; i < 2; i++) {
		msgpack_sbuffer_init(&buffers[i]);
		msgpack_packer_init(&packer, &buffers[i], msgpack_sbuffer_write);
		must(message_encode(&packer, type, i ? b : a) == 0);
	}
	must(buffers[0].size == buffers[1].size);
	must(memcmp(buffers[0].data, buffers[1].data, buffers[0].size) == 0);
	msgpack_sbuffer_destroy(&buffers[0]);
	msgpack_sbuffer_destroy(&buffers[1]);
}

static void send_again(const int pair[2], enum channel_verb verb, const union structures *structure)
{
	struct channel_packet packet;
	union structures again;
	int r;

	r = channel_send(pair[0], verb, types[verb], structure, NULL, 0, true);
	/* What was written in a shorter form, and was the largest there may be. */
	if (r == -EMSGSIZE)
		return;
	must(r == 0);
	must(channel_receive(pair[1], true, &packet) == 1);
	must(packet.verb == verb && packet.count == 0);
	must(decode(&packet, &again));
	must_be_same(types[verb], structure, &again);
	channel_packet_done(&packet);
}

int fuzz_channel(const uint8_t *data, size_t size)
{
	int before = stage_descriptors();
	size_t count = size % 4;
	struct channel_packet packet;
	union structures structure;
	int pair[2], r;

	/* A packet of no bytes is the end of a channel; no more than this fits into a socket. */
	if (size == 0 || size > 2u * CHANNEL_PACKET_BYTES_MAX)
		return 0;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	send_bytes(pair[0], data, size, count);
	r = channel_receive(pair[1], true, &packet);
	must(r == 1 || r == -EBADMSG);
	must(packet.count == (r == 1 ? count : 0));
	for (size_t i = 0; i < packet.count; i++)
		must(fcntl(packet.descriptors[i], F_GETFD) == FD_CLOEXEC);
	if (r == 1) {
		must(size <= CHANNEL_PACKET_BYTES_MAX);
		if (decode(&packet, &structure))
			send_again(pair, packet.verb, &structure);
		channel_packet_done(&packet);
	}
	must(channel_receive(pair[1], true, &packet) == -EAGAIN);
	close(pair[0]);
	close(pair[1]);
	must(stage_descriptors() == before);
	return 0;
}
