/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

/*
 * Finding trialsd and agreeing with it.
 *
 * The socket is non-blocking from birth: a connect to a daemon that is stopped would otherwise
 * sleep in the kernel until somebody wakes it. A unix socket whose backlog is full answers EAGAIN
 * and offers nothing to poll for, so that one case is tried again in small steps.
 */

#define SOCKET_PATH_BYTES_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define START_HINT "start one: systemctl --user start trialsd, or `trialsd &`"
/* What it would refuse, and what it needs here (--backend none in a container), is known before. */
#define DOCTOR_HINT "trialctl doctor tells what it needs here"
/* A service that does not start, for a fault in trialsd.conf for one, has said why there. */
#define SERVICE_HINT "systemctl --user status trialsd, and journalctl --user -u trialsd"

static int check_length(const char *path, struct trials_error *ret_error)
{
	if (strlen(path) <= SOCKET_PATH_BYTES_MAX)
		return 0;
	return error_set(ret_error, -ENAMETOOLONG,
			 "name a shorter one with --socket PATH or TRIALSD_SOCKET, and start "
			 "trialsd with the same --runtime",
			 "the socket path is %zu bytes, more than the %zu that a socket address "
			 "holds: %s",
			 strlen(path), SOCKET_PATH_BYTES_MAX, path);
}

static bool is_set(const char *value)
{
	return value && *value;
}

/* Where it is unless somebody says otherwise; to be freed. -ENOENT: there is no such place. */
static int usual_path(char **ret_path)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char fallback[64];
	struct stat status;

	if (!is_set(runtime)) {
		snprintf(fallback, sizeof(fallback), "/run/user/%u", (unsigned int)geteuid());
		if (stat(fallback, &status) < 0 || status.st_uid != geteuid())
			return -ENOENT;
		runtime = fallback;
	}
	return asprintf(ret_path, "%s/trialsd/socket", runtime) < 0 ? -ENOMEM : 0;
}

int trials_socket_path(const char *socket, char **ret_path, struct trials_error *ret_error)
{
	const char *environment = getenv("TRIALSD_SOCKET");
	char *path = NULL;
	int r;

	if (!socket && is_set(environment))
		socket = environment;
	if (socket)
		r = asprintf(&path, "%s", socket);
	else
		r = usual_path(&path);
	if (r == -ENOENT)
		return error_set(ret_error, -ENOENT,
				 DOCTOR_HINT "; one that runs is named by --socket PATH or "
					     "TRIALSD_SOCKET",
				 "XDG_RUNTIME_DIR is not set, so the place of trialsd's socket is "
				 "not known");
	if (r < 0)
		return error_set(ret_error, -ENOMEM, NULL, "out of memory");
	if (!*path)
		r = error_set(ret_error, -EINVAL, NULL, "the socket path is empty");
	else
		r = check_length(path, ret_error);
	if (r < 0) {
		free(path);
		return r;
	}
	*ret_path = path;
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_socket(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || S_ISSOCK(status.st_mode);
}

/* Never waits. */
static bool listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool there = false;
	int fd;

	if (strlen(path) > SOCKET_PATH_BYTES_MAX)
		return false;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		there = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
			errno == EAGAIN;
		close(fd);
	}
	return there;
}

/* Another place was named than the usual one, where one does listen: that was hardly meant. */
static bool told_usual(const char *path, char *hint, size_t size)
{
	char *usual = NULL;
	bool there = usual_path(&usual) == 0 && strcmp(usual, path) != 0 && listens(usual);

	if (there)
		snprintf(hint, size,
			 "one listens on %s: leave out --socket and unset "
			 "TRIALSD_SOCKET",
			 usual);
	free(usual);
	return there;
}

static int connect_refused(const char *path, int number, struct trials_error *ret_error)
{
	char hint[512];

	switch (number) {
	case EAGAIN:
		return error_set(ret_error, -ETIMEDOUT, "try again; is it stopped or overloaded?",
				 "trialsd at %s does not accept connections", path);
	case EACCES:
	case EPERM:
		return error_set(ret_error, -EACCES, START_HINT, "%s may not be used by this user",
				 path);
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		break;
	default:
		return error_set(ret_error, -ECONNREFUSED, START_HINT, "cannot connect to %s: %s",
				 path, strerror(number));
	}
	if (told_usual(path, hint, sizeof(hint)))
		return error_set(ret_error, -ECONNREFUSED, hint,
				 is_socket(path) ? "no trialsd listens on %s" : "%s is no socket",
				 path);
	if (!is_socket(path))
		return error_set(ret_error, -ECONNREFUSED,
				 "name trialsd's socket with --socket PATH or TRIALSD_SOCKET",
				 "%s is no socket", path);
	snprintf(hint, sizeof(hint), "%s; %s", START_HINT, DOCTOR_HINT);
	if (ends_with(path, "/trialsd/socket"))
		snprintf(hint, sizeof(hint), "%s; %s; if it does not start: %s", START_HINT,
			 DOCTOR_HINT, SERVICE_HINT);
	/* Not the usual place: one started without saying so would listen elsewhere. */
	if (ends_with(path, "/socket") && !ends_with(path, "/trialsd/socket"))
		snprintf(hint, sizeof(hint),
			 "start one: systemctl --user start trialsd, or `trialsd --runtime %.*s "
			 "&`; %s",
			 (int)(strlen(path) - strlen("/socket")), path, DOCTOR_HINT);
	return error_set(ret_error, -ECONNREFUSED, hint, "no trialsd listens on %s", path);
}

static int open_socket(const char *path, uint64_t deadline, int *ret_fd,
		       struct trials_error *ret_error)
{
	const struct timespec step = {.tv_nsec = 20 * 1000 * 1000};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(ret_error, -errno, NULL, "cannot make a socket: %s",
				 strerror(errno));
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int number = errno;

		if (number == EINTR)
			continue;
		if (number == EAGAIN && monotonic_now() < deadline) {
			nanosleep(&step, NULL);
			continue;
		}
		close(fd);
		return connect_refused(path, number, ret_error);
	}
	*ret_fd = fd;
	return 0;
}

/* A socket in a folder of somebody else could be anybody's: commands and prompts go to it. */
static int check_peer(int fd, const char *path, struct trials_error *ret_error)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return error_set(ret_error, -errno, NULL, "cannot tell whose %s is: %s", path,
				 strerror(errno));
	if (peer.uid != geteuid())
		return error_set(ret_error, -EPERM,
				 "trialsd serves the user who runs it: use your own",
				 "%s is user %u's, and this is user %u", path,
				 (unsigned int)peer.uid, (unsigned int)geteuid());
	return 0;
}

static int hello(struct trials_connection *connection, const char *program, uint64_t deadline,
		 struct trials_error *ret_error)
{
	struct hello_request request = {.has = {.version = true}, .version = PROTOCOL_VERSION};
	struct hello_reply reply;
	struct decode_error decode_error;
	struct trials_message *arguments = NULL, *answer = NULL;
	double left;
	bool service;
	int r;

	request.has.program = program != NULL;
	request.program = program;
	r = message_from_structure(&arguments, &hello_request_type, &request);
	if (r < 0)
		return error_set(ret_error, r, NULL,
				 "the program's name is not text of at most 64 bytes");
	left = deadline == UINT64_MAX ? -1 : deadline_milliseconds(deadline) / 1000.0;
	r = trials_call(connection, "hello", arguments, left, &answer, ret_error);
	trials_message_free(arguments);
	service = ends_with(connection->path, "/trialsd/socket");
	if (r == -ETIMEDOUT)
		return error_set(ret_error, r,
				 service ? "is it stopped or overloaded? " SERVICE_HINT
					 : "is it stopped or overloaded? try again",
				 "trialsd at %s does not answer", connection->path);
	if (r == -ECONNRESET)
		return error_set(ret_error, r,
				 service ? "did it not start? " SERVICE_HINT
					 : "did it end? its log has more",
				 "trialsd at %s went away before it answered", connection->path);
	if (r < 0)
		return r;
	if (!answer->body || message_decode(answer->message, answer->body, &hello_reply_type,
					    UNKNOWN_KEYS_IGNORED, &reply, &decode_error) < 0) {
		r = error_set(ret_error, -EBADMSG, NULL,
			      "what listens on %s does not speak trialsd's protocol",
			      connection->path);
	} else if (reply.version < PROTOCOL_VERSION_OLDEST || reply.version > PROTOCOL_VERSION) {
		r = error_set(ret_error, -EPROTONOSUPPORT, "update the older of the two",
			      "%s speaks version %llu of the protocol, and this side %d",
			      reply.program, (unsigned long long)reply.version, PROTOCOL_VERSION);
	} else {
		connection->version = (unsigned int)reply.version;
		snprintf(connection->program, sizeof(connection->program), "%s", reply.program);
	}
	trials_message_free(answer);
	return r;
}

static int meet(struct trials_connection *connection, const char *program, uint64_t deadline,
		struct trials_error *ret_error)
{
	int r = open_socket(connection->path, deadline, &connection->fd, ret_error);

	if (r >= 0)
		r = check_peer(connection->fd, connection->path, ret_error);
	if (r >= 0)
		r = hello(connection, program, deadline, ret_error);
	return r;
}

int trials_connect(struct trials_connection **ret_connection, const char *socket,
		   const char *program, double timeout_seconds, struct trials_error *ret_error)
{
	uint64_t deadline = deadline_after(timeout_seconds);
	struct trials_connection *connection;
	char *path = NULL;
	int r;

	r = trials_socket_path(socket, &path, ret_error);
	if (r < 0)
		return r;
	connection = calloc(1, sizeof(*connection));
	if (!connection) {
		free(path);
		return error_set(ret_error, -ENOMEM, NULL, "out of memory");
	}
	connection->fd = -1;
	connection->path = path;
	connection->queue_end = &connection->queue;
	frame_reader_init(&connection->reader);
	r = meet(connection, program, deadline, ret_error);
	if (r == -ECONNRESET) {
		/* Met at the moment of its end: the next one, if there is one, is to be had at once. */
		nanosleep(&(const struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
		close(connection->fd);
		connection->fd = -1;
		connection->broken = 0;
		frame_reader_done(&connection->reader);
		frame_reader_init(&connection->reader);
		r = meet(connection, program, deadline, ret_error);
	}
	if (r < 0) {
		trials_disconnect(connection);
		return r;
	}
	*ret_connection = connection;
	return 0;
}

struct trials_connection *trials_disconnect(struct trials_connection *connection)
{
	struct trials_message *message;

	if (!connection)
		return NULL;
	while ((message = connection->queue)) {
		connection->queue = message->next;
		trials_message_free(message);
	}
	if (connection->fd >= 0)
		close(connection->fd);
	frame_reader_done(&connection->reader);
	free(connection->path);
	free(connection);
	return NULL;
}

int trials_fd(const struct trials_connection *connection)
{
	return connection->fd;
}

unsigned int trials_protocol_version(const struct trials_connection *connection)
{
	return connection->version;
}

const char *trials_daemon_program(const struct trials_connection *connection)
{
	return connection->program;
}

const char *trials_daemon_socket(const struct trials_connection *connection)
{
	return connection->path;
}
