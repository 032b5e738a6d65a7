/* SPDX-License-Identifier: MIT */

/*
 * One client: bytes to frames, frames to requests, replies to bytes.
 *
 * A client that breaks a rule loses only itself. The rules: a frame that lies about its length or
 * is not a message ends it; so does a frame that is not whole FRAME_DEADLINE_SECONDS after its
 * first byte, and more than CLIENT_OUTPUT_BYTES_MAX that it does not read. More than
 * CLIENT_REQUESTS_MAX requests at once is no offence: we stop reading until some are answered, and
 * the client's own socket buffer holds it back.
 *
 * Output gathers in one buffer and is written before the loop sleeps, so a burst of small replies
 * costs one system call. The socket is read and written here and not by a uv stream, as that has no
 * way to give out the descriptors that come with a client's bytes.
 */
#include "serve/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define READS_MAX 8 /* of one client before others have their turn */

Session *session_ref(Session *session)
{
	session->references++;
	return session;
}

void session_unref(Session *session)
{
	Server *server = session->server;

	if (--session->references > 0)
		return;
	frame_reader_done(&session->reader);
	msgpack_sbuffer_destroy(&session->output);
	msgpack_sbuffer_destroy(&session->writing);
	free(session);
	server_session_gone(server);
}

/*
 * Requests that stand are let go only here, from the loop: whoever was walking through them when
 * the client was found wanting has finished by now.
 */
static void on_closed(uv_handle_t *handle)
{
	Session *session = handle->data;

	request_session_gone(session);
	session_unref(session);
}

/* Keeps the sum of what all clients have not taken yet. */
static void session_count(Session *session, size_t backlog)
{
	session->server->backlog += backlog - session->counted;
	session->counted = backlog;
}

void session_close(Session *session)
{
	Server *server = session->server;

	if (session->closing)
		return;
	session->closing = true;
	session_count(session, 0);
	TAILQ_REMOVE(&server->sessions, session, link);
	if (session->dirty)
		TAILQ_REMOVE(&server->dirty, session, dirty_link);
	session->dirty = false;
	descriptors_done(&session->descriptors);
	uv_close((uv_handle_t *)&session->poll, on_closed);
	session->fd = fd_close(session->fd);
}

void session_settled(Session *session)
{
	if (session->closing)
		return;
	if (!session->draining) {
		session_resume(session);
		return;
	}
	if (session->pending > 0)
		return;
	/* What was asked for before is answered by now: this is the last frame. */
	if (session->broken)
		session_error(session, 0, ERROR_bad_request, session->broken, NULL);
	session->broken = NULL;
	if (!session->closing && session_backlog(session) == 0)
		session_close(session);
}

/* Output. */

size_t session_backlog(const Session *session)
{
	return session->output.size + session->writing.size - session->written;
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Polls for what there is to do, and for nothing else. */
static void session_poll(Session *session)
{
	int wanted = (session->reading ? UV_READABLE : 0) |
		     (session->written < session->writing.size ? UV_WRITABLE : 0);

	if (session->closing || wanted == session->polled)
		return;
	session->polled = wanted;
	if (!wanted)
		uv_poll_stop(&session->poll);
	else if (uv_poll_start(&session->poll, wanted, on_poll) < 0)
		session_close(session);
}

/* The next buffer to write; false: all is written. */
static bool session_next_buffer(Session *session)
{
	if (session->written < session->writing.size)
		return true;
	msgpack_sbuffer_destroy(&session->writing);
	session->writing = session->output;
	session->written = 0;
	msgpack_sbuffer_init(&session->output);
	return session->writing.size > 0;
}

static void session_write(Session *session)
{
	while (session_next_buffer(session)) {
		ssize_t n = send(session->fd, session->writing.data + session->written,
				 session->writing.size - session->written,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			session_close(session);
			return;
		}
		session->written += (size_t)n;
	}
	session_count(session, session_backlog(session));
	if (session_backlog(session) == 0)
		server_go_on_later(session);
	session_poll(session);
}

void session_go_on(Session *session)
{
	request_session_writable(session);
	session_settled(session);
}

void session_flush(Session *session)
{
	TAILQ_REMOVE(&session->server->dirty, session, dirty_link);
	session->dirty = false;
	session_write(session);
}

void session_flush_later(Session *session)
{
	if (session->closing)
		return;
	session_count(session, session_backlog(session));
	/* Over the sum of all, those go that have more than a share of it. */
	if (session->counted > CLIENT_OUTPUT_BYTES_MAX ||
	    (session->server->backlog > CLIENTS_OUTPUT_BYTES_MAX &&
	     session->counted > CLIENTS_OUTPUT_BYTES_MAX / CLIENTS_MAX)) {
		session_close(session);
		return;
	}
	if (session->dirty)
		return;
	session->dirty = true;
	TAILQ_INSERT_TAIL(&session->server->dirty, session, dirty_link);
}

void session_drain(Session *session)
{
	if (session->closing)
		return;
	session->draining = true;
	session->partial_since = uv_now(session->server->loop); /* the deadline for reading it */
	server_sweep_later(session->server);
	session->reading = false;
	descriptors_done(&session->descriptors);
	session_poll(session);
	session_settled(session);
}

void session_break(Session *session, const char *message)
{
	session->broken = message;
	session_drain(session);
}

void session_error(Session *session, uint64_t number, enum error_code code, const char *message,
		   const char *hint)
{
	struct error_body error = {
		.has = {.code = true, .message = true, .hint = hint != NULL},
		.code = error_name(code),
		.message = message,
		.hint = hint,
	};

	if (session->closing)
		return;
	if (frame_write_error(&session->output, number, &error) < 0) {
		session_close(session);
		return;
	}
	session_flush_later(session);
}

void session_reply(Session *session, uint64_t number, const struct message_type *type,
		   const void *structure)
{
	int r;

	if (session->closing)
		return;
	r = frame_write_reply(&session->output, number, type, structure);
	if (r == -EMSGSIZE)
		session_error(session, number, ERROR_unavailable,
			      "the answer is larger than a frame", NULL);
	else if (r < 0)
		session_error(session, number, ERROR_internal, strerror(-r), NULL);
	else
		session_flush_later(session);
}

void session_event(Session *session, uint64_t number, enum event event,
		   const struct message_type *type, const void *structure)
{
	if (session->closing || session->draining)
		return;
	if (frame_write_event(&session->output, event, number, type, structure) < 0)
		return;
	session_flush_later(session);
}

/* Input. */

/* Whether it has to wait before more of its frames are looked at. */
static bool session_full(const Session *session)
{
	return session->pending >= CLIENT_REQUESTS_MAX || session->lists >= CLIENT_LISTS_MAX ||
	       session->prompts >= CLIENT_PROMPTS_MAX ||
	       session_backlog(session) >= CLIENT_OUTPUT_BYTES_MAX / 2;
}

/* Once no whole frame is left: a descriptor may wait for the frame that has begun, and for no other. */
static bool session_descriptors_fit(const Session *session)
{
	size_t most = frame_reader_partial(&session->reader) ? FRAME_DESCRIPTORS_MAX : 0;

	return session->descriptors.count <= most;
}

static void session_frames(Session *session)
{
	const uint8_t *body;
	bool whole = true;
	size_t size;
	int r = 0;

	session_ref(session);
	while (!session->closing && !session->draining && !session_full(session)) {
		r = frame_reader_next(&session->reader, &body, &size);
		whole = r > 0;
		if (!whole)
			break;
		request_handle(session, body, size);
	}
	if (!session->closing && !session->draining) {
		if (r < 0)
			session_break(session, "not a frame of this protocol");
		else if (!whole && !session_descriptors_fit(session))
			session_break(session, "a descriptor came that no launch asked for");
	}
	session_unref(session);
}

static void session_note_partial(Session *session)
{
	if (!frame_reader_partial(&session->reader)) {
		session->partial_since = 0;
		return;
	}
	if (!session->partial_since) {
		session->partial_since = uv_now(session->server->loop);
		server_sweep_later(session->server);
	}
}

/* Bytes that have come. */
static void session_take(Session *session, const void *bytes, size_t size)
{
	Server *server = session->server;

	TAILQ_REMOVE(&server->sessions, session, link);
	TAILQ_INSERT_TAIL(&server->sessions, session, link);
	if (frame_reader_feed(&session->reader, bytes, size) == -ENOMEM) {
		session_close(session);
		return;
	}
	session_frames(session);
	if (session->closing || session->draining)
		return;
	session_note_partial(session);
	if (session_full(session)) {
		session->reading = false;
		session->partial_since = 0;
	}
}

static void session_read(Session *session)
{
	Server *server = session->server;

	for (int i = 0; i < READS_MAX && session->reading && !session->closing; i++) {
		ssize_t n = descriptors_receive(&session->descriptors, session->fd, server->input,
						sizeof(server->input));

		if (n == -EAGAIN)
			return;
		if (n == -EPROTO)
			session_break(session, "more descriptors came than a frame may have");
		else if (n <= 0)
			session_close(session);
		else
			session_take(session, server->input, (size_t)n);
		if (n < (ssize_t)sizeof(server->input))
			return;
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	Session *session = poll->data;

	/* An error of the socket, for which uv has stopped: reading or writing meets it. */
	if (status < 0) {
		events = session->polled;
		session->polled = 0;
	}
	session_ref(session);
	if (!session->closing && (events & UV_WRITABLE))
		session_write(session);
	if (!session->closing && (events & UV_READABLE))
		session_read(session);
	session_poll(session);
	session_unref(session);
}

void session_resume(Session *session)
{
	if (session->closing || session->draining || session->reading ||
	    session->pending > CLIENT_REQUESTS_MAX / 2 || session_full(session))
		return;
	session_ref(session);
	session_frames(session);
	if (!session->closing && !session->draining && !session_full(session)) {
		session->reading = true;
		session_note_partial(session);
		session_poll(session);
	}
	session_unref(session);
}

void session_check_deadline(Session *session, uint64_t now)
{
	if (!session->partial_since ||
	    now - session->partial_since < FRAME_DEADLINE_SECONDS * 1000u)
		return;
	if (session->draining) {
		session_close(session);
		return;
	}
	session_break(session, "the frame was not whole in time");
}

void session_describe(const Session *session, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s, pid %d", session->program[0] ? session->program : "a client",
		 (int)session->pid);
}

/* Admission. */

/*
 * The peer's user namespace, by a pidfd that the kernel gives for this very connection where it can
 * (Linux 6.5): the number alone may be another's by now. With it, the number is the peer's for as
 * long as the pidfd says that it lives.
 */
static int peer_namespace(int fd, pid_t pid, struct stat *ret_namespace)
{
	_cleanup_close_ int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	char path[64];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		pidfd = -1;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	if (stat(path, ret_namespace) < 0)
		return -EPERM;
	if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return -EPERM;
	return 0;
}

/* 0, or -EPERM: another uid, or a peer in another user namespace, or one that hides it. */
static int peer_check(Session *session)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct stat st;

	if (getsockopt(session->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -EPERM;
	if (peer.uid != getuid())
		return -EPERM;
	session->pid = peer.pid;
	if (peer_namespace(session->fd, peer.pid, &st) < 0 ||
	    st.st_ino != session->server->user_namespace)
		return -EPERM;
	return 0;
}

int session_new(Server *server, int fd)
{
	Session *session = calloc(1, sizeof(*session));
	bool room;
	int r;

	if (!session || uv_poll_init(server->loop, &session->poll, fd) < 0) {
		fd_close(fd);
		free(session);
		return -ENOMEM;
	}
	room = server_make_room(server);
	session->server = server;
	session->references = 1;
	session->fd = fd;
	session->poll.data = session;
	frame_reader_init(&session->reader);
	msgpack_sbuffer_init(&session->output);
	msgpack_sbuffer_init(&session->writing);
	LIST_INIT(&session->subscriptions);
	server->clients++;
	TAILQ_INSERT_TAIL(&server->sessions, session, link);
	r = peer_check(session);
	if (r < 0) {
		session_close(session);
		return r;
	}
	if (!room) {
		session_error(session, 0, ERROR_busy, "too many clients", "try again later");
		session_drain(session);
		return 0;
	}
	session->reading = true;
	session_poll(session);
	return 0;
}
