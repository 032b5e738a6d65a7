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
#include "serve/session.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define LISTEN_BACKLOG SOMAXCONN /* a burst of clients waits in the kernel, not in EAGAIN */
#define SWEEP_MILLISECONDS 1000

int server_bind(const char *path, int *ret_fd, struct fault *ret_fault)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	struct stat st;
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return fault_set(ret_fault, ERROR_refused,
				 "%s: a socket's name has at most %zu bytes, this has %zu", path,
				 sizeof(address.sun_path) - 1, strlen(path)),
		       fault_hint(ret_fault, "name a shorter folder with --runtime DIR");
	strcpy(address.sun_path, path);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return fault_set(ret_fault, ERROR_refused,
					 "%s is in the way and is not a socket", path);
		/* The runtime lock is ours, so nobody listens there any more. */
		if (unlink(path) < 0)
			return -errno;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (r < 0)
		return fault_set(ret_fault, ERROR_refused, "%s: %s", path, strerror(errno));
	if (listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

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

static uint64_t now_microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
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
