/* SPDX-License-Identifier: MIT */

/*
 * The listening socket and the set of clients.
 *
 * Who is let in: a peer of our own uid in our own user namespace. The second check is what keeps a
 * Trial out if the socket ever came within its reach: its uid is ours, its user namespace is not.
 *
 * How many: CLIENTS_MAX. When full, the longest idle client that has asked for nothing (no
 * finished hello, no request, no subscription) makes room; if there is none, the newcomer is told
 * that we are busy and closed. The same one makes room when it is descriptors that are used up; if
 * there is none, newcomers wait in the kernel's queue until there is something to serve them with.
 */
#include "base/log.h"
#include "base/now.h"
#include "serve/listen.h"
#include "serve/session.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SWEEP_MILLISECONDS 1000
#define ACCEPTS_MAX 64 /* before clients that are there have their turn */

static void server_try_closed(Server *server);

static void on_handle_closed(uv_handle_t *handle)
{
	Server *server = handle->data;

	server->handles--;
	server_try_closed(server);
}

/* The last client goes before the handles that write to clients and time them out. */
static void server_try_closed(Server *server)
{
	if (!server->closing || server->clients > 0)
		return;
	if (!uv_is_closing((uv_handle_t *)&server->flush)) {
		uv_close((uv_handle_t *)&server->flush, on_handle_closed);
		uv_close((uv_handle_t *)&server->settle, on_handle_closed);
		uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
	}
	if (server->handles > 0)
		return;
	if (server->closed)
		server->closed(server->context);
	free(server->socket_path);
	free(server);
}

static void on_connections(uv_poll_t *listener, int status, int events);

static void server_listen(Server *server, bool listen)
{
	if (server->closing || server->listening == listen)
		return;
	server->listening = listen;
	if (listen)
		uv_poll_start(&server->listener, UV_READABLE, on_connections);
	else
		uv_poll_stop(&server->listener);
}

static void on_sweep(uv_timer_t *timer)
{
	Server *server = timer->data;
	Session *session, *next;
	bool partial = false;

	server_listen(server, true);
	for (session = TAILQ_FIRST(&server->sessions); session; session = next) {
		next = TAILQ_NEXT(session, link);
		session_check_deadline(session, uv_now(server->loop));
		partial = partial || session->partial_since;
	}
	if (!partial && server->listening)
		uv_timer_stop(timer);
}

void server_sweep_later(Server *server)
{
	if (!uv_is_active((uv_handle_t *)&server->sweep))
		uv_timer_start(&server->sweep, on_sweep, SWEEP_MILLISECONDS, SWEEP_MILLISECONDS);
}

static void on_flush(uv_prepare_t *prepare)
{
	Server *server = prepare->data;
	Session *session;

	while ((session = TAILQ_FIRST(&server->dirty)))
		session_flush(session);
}

static void on_settle(uv_idle_t *idle)
{
	struct session_list now = TAILQ_HEAD_INITIALIZER(now);
	Server *server = idle->data;
	Session *session;

	uv_idle_stop(idle);
	TAILQ_CONCAT(&now, &server->written, written_link);
	while ((session = TAILQ_FIRST(&now))) {
		TAILQ_REMOVE(&now, session, written_link);
		session->settling = false;
		if (!session->closing)
			session_go_on(session);
		session_unref(session);
	}
}

void server_go_on_later(Session *session)
{
	Server *server = session->server;

	if (session->settling)
		return;
	session->settling = true;
	session_ref(session);
	TAILQ_INSERT_TAIL(&server->written, session, written_link);
	uv_idle_start(&server->settle, on_settle);
}

void server_session_gone(Server *server)
{
	server->clients--;
	server_listen(server, true);
	server_try_closed(server);
}

static bool server_end_idle(Server *server)
{
	Session *session;

	TAILQ_FOREACH(session, &server->sessions, link)
	{
		if (session->closing || session->hello || session->pending || session->standing)
			continue;
		session_close(session);
		return true;
	}
	return false;
}

bool server_make_room(Server *server)
{
	return server->clients < CLIENTS_MAX || server_end_idle(server);
}

/* The kernel looks for a free descriptor first, and for somebody who needs it then. */
static bool somebody_waits(const Server *server)
{
	struct pollfd listener = {.fd = server->listener_fd, .events = POLLIN};

	return poll(&listener, 1, 0) > 0;
}

/* 0, -EAGAIN when nobody waits, or what keeps us from serving one more. */
static int server_accept(Server *server)
{
	int r;
	int fd = accept4(server->listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		session_new(server, fd);
		return 0;
	}
	r = -errno;
	switch (-r) {
	case EINTR:
	case ECONNABORTED:
		return 0;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		if (!somebody_waits(server))
			return -EAGAIN;
		return server_end_idle(server) ? 0 : r;
	default:
		return -EAGAIN;
	}
}

static void on_connections(uv_poll_t *listener, int status, int events)
{
	Server *server = listener->data;
	int r = 0;

	(void)status;
	(void)events;
	for (int i = 0; r == 0 && i < ACCEPTS_MAX; i++)
		r = server_accept(server);
	if (r == 0 || r == -EAGAIN)
		return;
	log_warning("new clients have to wait: %s", strerror(-r));
	server_listen(server, false);
	server_sweep_later(server);
}

static void server_init_handles(Server *server, uv_loop_t *loop)
{
	uv_prepare_init(loop, &server->flush);
	server->flush.data = server;
	uv_prepare_start(&server->flush, on_flush);
	uv_idle_init(loop, &server->settle);
	server->settle.data = server;
	uv_timer_init(loop, &server->sweep);
	server->sweep.data = server;
	server->handles = 4;
}

int server_new(Server **ret_server, const struct server_options *options, int listen_fd)
{
	Server *server = calloc(1, sizeof(*server));
	struct stat st;
	int r = 0;

	if (!server)
		return -ENOMEM;
	server->loop = options->loop;
	server->options = *options;
	server->started_at = now_microseconds();
	server->socket_path = strdup(options->socket_path);
	TAILQ_INIT(&server->sessions);
	TAILQ_INIT(&server->dirty);
	TAILQ_INIT(&server->written);
	if (!server->socket_path || stat("/proc/self/ns/user", &st) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = uv_poll_init(options->loop, &server->listener, listen_fd);
	if (r < 0) {
		fd_close(listen_fd);
		free(server->socket_path);
		free(server);
		return r;
	}
	server->user_namespace = st.st_ino;
	server->listener.data = server;
	server->listener_fd = listen_fd;
	server_init_handles(server, options->loop);
	if (listen(listen_fd, LISTEN_BACKLOG) < 0)
		r = -errno;
	server_listen(server, true);
	server->watch.changed = request_trial_changed;
	server->watch.settled = request_queue_settled;
	server->watch.held = request_queue_held;
	queue_watch_add(options->queue, &server->watch);
	if (r < 0) {
		server_close(server, NULL, NULL);
		return r;
	}
	*ret_server = server;
	return 0;
}

void server_close(Server *server, void (*closed)(void *context), void *context)
{
	Session *session, *next;

	server->closing = true;
	server->closed = closed;
	server->context = context;
	queue_watch_remove(server->options.queue, &server->watch);
	for (session = TAILQ_FIRST(&server->sessions); session; session = next) {
		next = TAILQ_NEXT(session, link);
		session_drain(session);
	}
	uv_close((uv_handle_t *)&server->listener, on_handle_closed);
	server->listener_fd = fd_close(server->listener_fd);
	server_try_closed(server);
}
