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
 * costs one system call.
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

struct session_write {
	uv_write_t write;
	Session *session;
	msgpack_sbuffer buffer;
};

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
	uv_close((uv_handle_t *)&session->pipe, on_closed);
}

void session_settled(Session *session)
{
	if (session->closing)
		return;
	if (!session->draining)
		session_resume(session);
	else if (session->pending == 0 && session_backlog(session) == 0)
		session_close(session);
}

/* Output. */

size_t session_backlog(const Session *session)
{
	return session->output.size +
	       uv_stream_get_write_queue_size((const uv_stream_t *)&session->pipe);
}

static void on_written(uv_write_t *write, int status)
{
	struct session_write *done = container_of(write, struct session_write, write);
	Session *session = done->session;

	msgpack_sbuffer_destroy(&done->buffer);
	free(done);
	if (status < 0) {
		session_close(session);
	} else {
		if (!session->closing)
			session_count(session, session_backlog(session));
		request_session_writable(session);
		session_settled(session);
	}
	session_unref(session);
}

void session_flush(Session *session)
{
	struct session_write *write;
	uv_buf_t buffer;

	TAILQ_REMOVE(&session->server->dirty, session, dirty_link);
	session->dirty = false;
	write = malloc(sizeof(*write));
	if (!write) {
		session_close(session);
		return;
	}
	write->session = session_ref(session);
	write->buffer = session->output;
	msgpack_sbuffer_init(&session->output);
	buffer = uv_buf_init(write->buffer.data, (unsigned int)write->buffer.size);
	if (uv_write(&write->write, (uv_stream_t *)&session->pipe, &buffer, 1, on_written) < 0) {
		msgpack_sbuffer_destroy(&write->buffer);
		free(write);
		session_close(session);
		session_unref(session);
	}
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
	uv_read_stop((uv_stream_t *)&session->pipe);
	session_settled(session);
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
	       session_backlog(session) >= CLIENT_OUTPUT_BYTES_MAX / 2;
}

static void session_frames(Session *session)
{
	const uint8_t *body;
	size_t size;
	int r = 0;

	session_ref(session);
	while (!session->closing && !session->draining && !session_full(session)) {
		r = frame_reader_next(&session->reader, &body, &size);
		if (r <= 0)
			break;
		request_handle(session, body, size);
	}
	if (r < 0 && !session->closing) {
		session_error(session, 0, ERROR_bad_request, "not a frame of this protocol", NULL);
		session_drain(session);
	}
	session_unref(session);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
	Session *session = handle->data;

	(void)suggested;
	*ret_buffer = uv_buf_init(session->server->input, sizeof(session->server->input));
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

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	Session *session = stream->data;
	Server *server = session->server;
	int r;

	if (n == 0)
		return;
	if (n < 0) {
		session_close(session);
		return;
	}
	TAILQ_REMOVE(&server->sessions, session, link);
	TAILQ_INSERT_TAIL(&server->sessions, session, link);
	r = frame_reader_feed(&session->reader, buffer->base, (size_t)n);
	if (r == -ENOMEM) {
		session_close(session);
		return;
	}
	session_ref(session);
	session_frames(session);
	if (!session->closing && !session->draining) {
		session_note_partial(session);
		if (session_full(session)) {
			uv_read_stop(stream);
			session->reading = false;
			session->partial_since = 0;
		}
	}
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
		uv_read_start((uv_stream_t *)&session->pipe, on_alloc, on_read);
		session_note_partial(session);
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
	session_error(session, 0, ERROR_bad_request, "the frame was not whole in time", NULL);
	session_drain(session);
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
static int peer_namespace(uv_os_fd_t fd, pid_t pid, struct stat *ret_namespace)
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
	uv_os_fd_t fd;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct stat st;

	if (uv_fileno((uv_handle_t *)&session->pipe, &fd) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -EPERM;
	if (peer.uid != getuid())
		return -EPERM;
	session->pid = peer.pid;
	if (peer_namespace(fd, peer.pid, &st) < 0 || st.st_ino != session->server->user_namespace)
		return -EPERM;
	return 0;
}

int session_new(Server *server)
{
	Session *session = calloc(1, sizeof(*session));
	bool room;
	int r;

	if (!session)
		return -ENOMEM;
	room = server_make_room(server);
	session->server = server;
	session->references = 1;
	frame_reader_init(&session->reader);
	msgpack_sbuffer_init(&session->output);
	LIST_INIT(&session->subscriptions);
	uv_pipe_init(server->loop, &session->pipe, 0);
	session->pipe.data = session;
	server->clients++;
	TAILQ_INSERT_TAIL(&server->sessions, session, link);
	r = uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&session->pipe);
	if (r == 0)
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
	return uv_read_start((uv_stream_t *)&session->pipe, on_alloc, on_read);
}
