/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "keeper/boundary.h"
#include "keeper/outcome.h"
#include "keeper/sandbox.h"
#include "stage.h"

/*
 * What a keeper hears of pid 1 of its sandbox, and what it makes of it. The input is cut into
 * packets; the last one may be short. A packet counts only when it is whole, of our version, and
 * comes after a HELLO; a boundary is taken for one only when every part of it is right; and an
 * outcome can be written, whatever was said.
 */

static const uint64_t own[CONTROL_NS_COUNT] = {1, 2, 3, 4, 5, 6, 7};

/* boundary_check's rule once more, as a list of what must be. */
static bool is_boundary(const struct control_packet *packet, enum network network)
{
	for (size_t i = 0; i < CONTROL_NS_COUNT; i++) {
		uint64_t inside = packet->hello.namespaces[i];
		bool shared = i == CONTROL_NS_NET && network == NETWORK_host;

		/* One that cannot be seen is nobody's own, and will do where the host's was asked for. */
		if (shared ? inside != own[i] && inside != 0 : inside == 0 || inside == own[i])
			return false;
	}
	return packet->hello.pid == 1 && packet->hello.uid == 1000 &&
	       packet->hello.no_new_privileges == 1 && packet->hello.seccomp == 2 &&
	       packet->hello.capabilities == 0;
}

static void check_boundary(const struct control_packet *packet)
{
	struct boundary boundary;

	for (int network = 0; network < NETWORK_COUNT; network++) {
		struct fault fault = FAULT_INIT;
		int r = boundary_check(packet, own, 1000, (enum network)network, &boundary, &fault);

		must((r == 0) == is_boundary(packet, (enum network)network));
		must(r == 0 || (r == FAULT && fault.message && fault.hint));
		fault_done(&fault);
	}
}

static void take(struct outcome_facts *facts, const struct control_packet *packet)
{
	switch (packet->type) {
	case CONTROL_HELLO:
		check_boundary(packet);
		break;
	case CONTROL_STARTED:
		facts->started = true;
		break;
	case CONTROL_NOT_STARTED:
		facts->not_started = true;
		facts->step = packet->not_started.step;
		facts->error = packet->not_started.error;
		break;
	case CONTROL_EXITED:
		facts->exited = true;
		facts->status = packet->exited.status;
		break;
	case CONTROL_EMPTY:
		facts->oom_kills = packet->empty.usage.peak_bytes;
		facts->init_gone = packet->empty.usage.read_blocks & 1;
		facts->bwrap_gone = packet->empty.usage.read_blocks & 2;
		facts->bwrap_signal = (int)(packet->empty.usage.write_blocks & 0x7f);
		break;
	default:
		break;
	}
}

static void check_record(const struct outcome_decision *decision)
{
	struct outcome_record record = {.has.ended_at = true, .ended_at = 1}, again;
	struct decode_error error;
	struct message *message;
	msgpack_sbuffer buffer;
	msgpack_packer packer;

	outcome_fill(decision, &record);
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	must(message_encode(&packer, &outcome_record_type, &record) == 0);
	must(message_parse(&message, buffer.data, buffer.size) == 0);
	must(message_decode(message, message_root(message), &outcome_record_type,
			    UNKNOWN_KEYS_REFUSED, &again, &error) == 0);
	must(again.has.outcome && again.outcome == decision->outcome);
	must(again.has.cause == (decision->outcome == OUTCOME_void));
	message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}

static void check_outcomes(struct outcome_facts *facts)
{
	struct outcome_decision decision;

	for (int order = END_NOT_ORDERED; order <= END_OUTSIDE; order++) {
		facts->order = (enum end_order)order;
		outcome_decide(facts, &decision);
		/* Delivered is what ended by itself with 0, and nothing else. */
		if (decision.outcome == OUTCOME_delivered)
			must(order == END_NOT_ORDERED && facts->started && !facts->not_started &&
			     facts->exited && WIFEXITED(facts->status) &&
			     WEXITSTATUS(facts->status) == 0);
		check_record(&decision);
	}
}

int fuzz_control(const uint8_t *data, size_t size)
{
	/* A name that is not UTF-8, as a launch may have it. */
	struct outcome_facts facts = {.command = "ag\xff\x1b[2Jent", .cwd = "/w\xfe"};
	int before = stage_descriptors(), pair[2], on = 1, r = 1;
	struct control_packet packet;
	struct sandbox sandbox;
	bool greeted = false;

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	must(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
	sandbox_init(&sandbox);
	sandbox.control = pair[0];
	for (size_t at = 0; at < size && r == 1;) {
		size_t piece = size - at < sizeof(packet) ? size - at : sizeof(packet);

		must(send(pair[1], data + at, piece, MSG_DONTWAIT) == (ssize_t)piece);
		r = sandbox_receive(&sandbox, &packet);
		must(r == 1 || r == -EBADMSG);
		if (r == 1) {
			must(piece == sizeof(packet) && packet.version == CONTROL_VERSION);
			must(greeted || packet.type == CONTROL_HELLO);
			must(memcmp((const char *)&packet, data + at, sizeof(packet)) == 0);
			greeted = true;
			take(&facts, &packet);
		}
		at += piece;
	}
	close(pair[1]);
	must(sandbox.init_pid == (greeted ? getpid() : 0));
	sandbox_done(&sandbox);
	check_outcomes(&facts);
	must(stage_descriptors() == before);
	return 0;
}
