/* SPDX-License-Identifier: MIT */

/*
 * The listening socket and the set of clients.
 *
 * Who is let in: a peer of our own uid in our own user namespace. The second check is what keeps a
 * Trial out if the socket ever came within its reach: its uid is ours, its user namespace is not.
 *
 * How many: CLIENTS_MAX. When full, the longest idle client that has asked for nothing (no
 * finished hello, no request, no subscription) makes room; if there is none, the newcomer is told
 * that we are busy and closed.
 */
#include "base/now.h"
#include "serve/listen.h"
#include "serve/session.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SWEEP_MILLISECONDS 1000

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
		uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
	}
	if (server->handles > 0)
		return;
	if (server->closed)
		server->closed(server->context);
	free(server->socket_path);
	free(server);
}

static void on_sweep(uv_timer_t *timer)
{
	Server *server = timer->data;
	Session *session, *next;
	bool partial = false;

	for (session = TAILQ_FIRST(&server->sessions); session; session = next) {
		next = TAILQ_NEXT(session, link);
		session_check_deadline(session, uv_now(server->loop));
		partial = partial || session->partial_since;
	}
	if (!partial)
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

void server_session_gone(Server *server)
{
	server->clients--;
	server_try_closed(server);
}

bool server_make_room(Server *server)
{
	Session *session;

	if (server->clients < CLIENTS_MAX)
		return true;
	TAILQ_FOREACH(session, &server->sessions, link)
	{
		if (session->closing || session->hello || session->pending || session->standing)
			continue;
		session_close(session);
		return true;
	}
	return false;
}

static void on_connection(uv_stream_t *listener, int status)
{
	if (status == 0)
		session_new(listener->data);
}

static void server_init_handles(Server *server, uv_loop_t *loop)
{
	uv_pipe_init(loop, &server->listener, 0);
	server->listener.data = server;
	uv_prepare_init(loop, &server->flush);
	server->flush.data = server;
	uv_prepare_start(&server->flush, on_flush);
	uv_timer_init(loop, &server->sweep);
	server->sweep.data = server;
	server->handles = 3;
}

int server_new(Server **ret_server, const struct server_options *options, int listen_fd)
{
	Server *server = calloc(1, sizeof(*server));
	struct stat st;
	int r;

	if (!server)
		return -ENOMEM;
	server->loop = options->loop;
	server->options = *options;
	server->started_at = now_microseconds();
	server->socket_path = strdup(options->socket_path);
	TAILQ_INIT(&server->sessions);
	TAILQ_INIT(&server->dirty);
	if (!server->socket_path || stat("/proc/self/ns/user", &st) < 0) {
		free(server->socket_path);
		free(server);
		return -ENOMEM;
	}
	server->user_namespace = st.st_ino;
	server_init_handles(server, options->loop);
	r = uv_pipe_open(&server->listener, listen_fd);
	if (r == 0)
		r = uv_listen((uv_stream_t *)&server->listener, LISTEN_BACKLOG, on_connection);
	server->watch.changed = request_trial_changed;
	server->watch.settled = request_queue_settled;
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
	server_try_closed(server);
}
