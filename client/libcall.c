/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib.h"

/*
 * Requests out, replies and events in.
 *
 * Replies come in any order and events come between them, so a caller that waits for one message
 * reads others first: they are queued on the connection, in order, up to QUEUE_BYTES_MAX. While
 * a request is being written the socket is read as well: a daemon that drops clients which do not
 * read could otherwise drop one that is only busy writing.
 *
 * A write that meets a closed socket is no error yet. What trialsd said before it closed (busy,
 * say) is still in the receive buffer and tells more; the read side reports the end.
 */

static int broken(const struct trials_connection *connection, struct trials_error *ret_error)
{
	switch (connection->broken) {
	case -ECONNRESET:
		return error_set(ret_error, connection->broken,
				 "trialctl status tells whether it runs", "trialsd at %s went away",
				 connection->path);
	case -ENOBUFS:
		return error_set(ret_error, connection->broken, NULL,
				 "more messages are waiting than are kept; take them with "
				 "trials_next()");
	case -ETIMEDOUT:
		return error_set(ret_error, connection->broken, NULL,
				 "a request was cut off half-way");
	default:
		return error_set(ret_error, connection->broken, NULL,
				 "trialsd at %s sent what is not a message of the protocol",
				 connection->path);
	}
}

static int enqueue(struct trials_connection *connection, struct trials_message *message)
{
	if (connection->queue_bytes + message->size > QUEUE_BYTES_MAX) {
		trials_message_free(message);
		return connection->broken = -ENOBUFS;
	}
	connection->queue_bytes += message->size;
	*connection->queue_end = message;
	connection->queue_end = &message->next;
	return 0;
}

/* The first queued reply to that request, or the first message of any kind for 0. */
static struct trials_message *dequeue(struct trials_connection *connection, uint64_t number)
{
	for (struct trials_message **at = &connection->queue; *at; at = &(*at)->next) {
		struct trials_message *message = *at;

		if (number && (message->kind != ENVELOPE_REPLY || message->number != number))
			continue;
		*at = message->next;
		if (!*at)
			connection->queue_end = at;
		message->next = NULL;
		connection->queue_bytes -= message->size;
		return message;
	}
	return NULL;
}

/* Every whole frame that has been read becomes a queued message. */
static int take_frames(struct trials_connection *connection)
{
	const uint8_t *body;
	size_t size;
	int r;

	while ((r = frame_reader_next(&connection->reader, &body, &size)) > 0) {
		struct trials_message *message;

		r = message_from_frame(&message, body, size);
		if (r == -ENOMEM)
			return r;
		if (r >= 0)
			r = enqueue(connection, message);
		if (r < 0)
			break;
	}
	if (r < 0 && !connection->broken)
		connection->broken = r;
	return r;
}

/* Reads once. 0 when something came, -EAGAIN when there is nothing, else the end. */
static int read_some(struct trials_connection *connection)
{
	uint8_t bytes[65536];
	ssize_t got;
	int r;

	if (connection->broken)
		return connection->broken;
	do {
		got = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return -EAGAIN;
	if (got <= 0)
		return connection->broken = -ECONNRESET;
	r = frame_reader_feed(&connection->reader, bytes, (size_t)got);
	if (r == -EBADMSG)
		connection->broken = r;
	if (r < 0)
		return r;
	return take_frames(connection);
}

/* 0 when ready; -ETIMEDOUT. */
static int wait_ready(struct trials_connection *connection, short events, uint64_t deadline,
		      short *ret_events)
{
	for (;;) {
		struct pollfd pollfd = {.fd = connection->fd, .events = events};
		int r = poll(&pollfd, 1, deadline_milliseconds(deadline));

		if (r > 0) {
			*ret_events = pollfd.revents;
			return 0;
		}
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0 && monotonic_now() >= deadline)
			return -ETIMEDOUT;
	}
}

/* descriptor: goes with the first byte; -1: none. */
static ssize_t send_some(int socket, const char *bytes, size_t size, int descriptor)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {.iov_base = (char *)bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (descriptor >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(descriptor));
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int write_all(struct trials_connection *connection, const char *bytes, size_t size,
		     int descriptor, uint64_t deadline)
{
	size_t done = 0;

	while (done < size) {
		ssize_t sent = send_some(connection->fd, bytes + done, size - done,
					 done ? -1 : descriptor);
		short events;
		int r;

		if (sent >= 0) {
			done += (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EBADF || errno == ETOOMANYREFS)
			return -errno; /* of the descriptor; nothing was sent */
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return 0;
		r = wait_ready(connection, POLLIN | POLLOUT, deadline, &events);
		if (r < 0) {
			if (done)
				connection->broken = r;
			return r;
		}
		if (events & POLLIN) {
			r = read_some(connection);
			if (r < 0 && r != -EAGAIN)
				return r;
		}
	}
	return 0;
}

static int out_of(int number, struct trials_error *ret_error)
{
	if (number == -ETIMEDOUT)
		return error_set(ret_error, number, "try again; is it stopped or overloaded?",
				 "trialsd does not answer");
	if (number == -ENOMEM)
		return error_set(ret_error, number, NULL, "out of memory");
	if (number == -EBADF || number == -ETOOMANYREFS)
		return error_set(ret_error, number, NULL, "the descriptor cannot be sent: %s",
				 strerror(-number));
	return error_set(ret_error, number, NULL, "cannot talk to trialsd: %s", strerror(-number));
}

static bool says_descriptor(const struct trials_message *arguments)
{
	int says = 0;

	return arguments && trials_get_boolean(arguments, "prompt_descriptor", &says) == 0 && says;
}

static int send_request(struct trials_connection *connection, const char *verb,
			const struct trials_message *arguments, int descriptor, uint64_t deadline,
			uint64_t *ret_number, struct trials_error *ret_error)
{
	static const uint8_t empty_map = 0x80;
	const void *map = arguments && arguments->map ? arguments->map : &empty_map;
	size_t map_size = arguments && arguments->map ? arguments->map_size : sizeof(empty_map);
	msgpack_sbuffer buffer;
	int r;

	if (connection->broken && connection->broken != -ECONNRESET)
		return broken(connection, ret_error);
	if (verb_from_name(verb) < 0)
		return error_set(ret_error, -EINVAL, NULL, "no such verb: %s", verb);
	if (says_descriptor(arguments) != (descriptor >= 0))
		return error_set(ret_error, -EINVAL, NULL,
				 "prompt_descriptor: true goes with a descriptor, and is sent "
				 "with trials_send_launch()");
	msgpack_sbuffer_init(&buffer);
	r = frame_write_request_raw(&buffer, connection->last_number + 1, verb, map, map_size);
	if (r >= 0) {
		*ret_number = ++connection->last_number;
		r = write_all(connection, buffer.data, buffer.size, descriptor, deadline);
	}
	msgpack_sbuffer_destroy(&buffer);
	if (r == -EMSGSIZE)
		return error_too_long(ret_error);
	if (r < 0)
		return connection->broken ? broken(connection, ret_error) : out_of(r, ret_error);
	return 0;
}

/* The next message that answers number (0: any), from the queue or the socket. */
static int take(struct trials_connection *connection, uint64_t number, uint64_t deadline,
		struct trials_message **ret_message, struct trials_error *ret_error)
{
	for (;;) {
		struct trials_message *message = dequeue(connection, number);
		short events;
		int r;

		if (message) {
			*ret_message = message;
			return 0;
		}
		r = read_some(connection);
		if (r == -EAGAIN)
			r = wait_ready(connection, POLLIN, deadline, &events);
		if (r >= 0)
			continue;
		message = dequeue(connection, number);
		if (message) {
			*ret_message = message;
			return 0;
		}
		return connection->broken ? broken(connection, ret_error) : out_of(r, ret_error);
	}
}

int trials_send(struct trials_connection *connection, const char *verb,
		const struct trials_message *arguments, double timeout_seconds,
		uint64_t *ret_number, struct trials_error *ret_error)
{
	uint64_t number = 0;
	int r;

	r = send_request(connection, verb, arguments, -1, deadline_after(timeout_seconds), &number,
			 ret_error);
	if (r >= 0 && ret_number)
		*ret_number = number;
	return r;
}

int trials_send_launch(struct trials_connection *connection, const struct trials_message *arguments,
		       int prompt_fd, double timeout_seconds, uint64_t *ret_number,
		       struct trials_error *ret_error)
{
	uint64_t number = 0;
	int r;

	r = send_request(connection, "launch", arguments, prompt_fd,
			 deadline_after(timeout_seconds), &number, ret_error);
	if (r >= 0 && ret_number)
		*ret_number = number;
	return r;
}

static int receive(struct trials_connection *connection, uint64_t number, uint64_t deadline,
		   struct trials_message **ret_reply, struct trials_error *ret_error)
{
	struct trials_message *reply;
	int r;

	r = take(connection, number, deadline, &reply, ret_error);
	if (r < 0)
		return r;
	r = trials_message_error(reply, ret_error);
	if (r >= 0 && ret_reply)
		*ret_reply = reply;
	else
		trials_message_free(reply);
	return r;
}

int trials_receive(struct trials_connection *connection, uint64_t number, double timeout_seconds,
		   struct trials_message **ret_reply, struct trials_error *ret_error)
{
	if (!number)
		return error_set(ret_error, -EINVAL, NULL, "requests are numbered from 1");
	return receive(connection, number, deadline_after(timeout_seconds), ret_reply, ret_error);
}

int trials_subscribe(struct trials_connection *connection, const char *verb,
		     const struct trials_message *arguments, double timeout_seconds,
		     uint64_t *ret_number, struct trials_message **ret_reply,
		     struct trials_error *ret_error)
{
	uint64_t deadline = deadline_after(timeout_seconds);
	uint64_t number = 0;
	int r;

	r = send_request(connection, verb, arguments, -1, deadline, &number, ret_error);
	if (r < 0)
		return r;
	if (ret_number)
		*ret_number = number;
	return receive(connection, number, deadline, ret_reply, ret_error);
}

int trials_call(struct trials_connection *connection, const char *verb,
		const struct trials_message *arguments, double timeout_seconds,
		struct trials_message **ret_reply, struct trials_error *ret_error)
{
	return trials_subscribe(connection, verb, arguments, timeout_seconds, NULL, ret_reply,
				ret_error);
}

int trials_next(struct trials_connection *connection, double timeout_seconds,
		struct trials_message **ret_message, struct trials_error *ret_error)
{
	return take(connection, 0, deadline_after(timeout_seconds), ret_message, ret_error);
}
