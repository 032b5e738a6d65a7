/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * libtrials: a program's way to trialsd. Connect, ask, wait for replies, take pushed events.
 *
 * The library never prints, never exits, raises no signal (not even SIGPIPE), starts no thread
 * and keeps no global state. One connection is used by one thread at a time; two connections
 * have nothing in common.
 *
 * Every function that can fail returns 0 or -errno and, when ret_error is not NULL, fills it with
 * what a person needs: a word, a sentence and often the command that mends it. Errors that are
 * the same everywhere:
 *   -EREMOTEIO   trialsd answered with an error; error.code is its word (PROTOCOL lists them)
 *   -ETIMEDOUT   the time was over before the answer came
 *   -ECONNRESET  trialsd went away, or dropped this connection
 *   -EBADMSG     what came is not a message of the protocol
 *   -ENOMEM      memory
 * After -ECONNRESET, -EBADMSG or a request that was cut off half-way every later call fails alike;
 * only trials_disconnect() is of use then.
 *
 * Times given to functions are seconds; a negative one means: no limit.
 * Messages are JSON objects as far as a caller sees them, with the names PROTOCOL gives. A value
 * that holds bytes and is not UTF-8 is {"base64": "…"} in JSON, both ways.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIALS_API __attribute__((visibility("default")))

/* Names and meanings never change. Strings are UTF-8, terminated; empty: nothing to say. */
struct trials_error {
	char code[64]; /* trialsd's word, or: no_daemon no_answer gone protocol memory invalid */
	char message[4200]; /* what is wrong, for a person, one sentence, no line end */
	char hint[4200];    /* what mends it */
};

struct trials_connection;
/* A request's arguments, a reply or an event. Never changes once made. */
struct trials_message;

/*
 * Where trialsd is: socket when not NULL (an explicit choice), else $TRIALSD_SOCKET, else
 * $XDG_RUNTIME_DIR/trialsd/socket, else /run/user/UID/trialsd/socket where that folder is ours.
 * Only finds and checks the name; nothing is opened. *ret_path is the caller's to free().
 * -ENAMETOOLONG: over the 107 bytes a socket address holds; -ENOENT: none of these is set.
 */
TRIALS_API int trials_socket_path(const char *socket, char **ret_path,
				  struct trials_error *ret_error);

/*
 * Connects and agrees on the protocol version, both within the time. socket as above; program
 * (or NULL) names the caller in trialsd's log, at most 64 bytes.
 * As trials_socket_path(), and: -ECONNREFUSED nothing listens there; -EPERM it is another user's;
 * -EACCES; -ETIMEDOUT something listens and does not answer.
 */
TRIALS_API int trials_connect(struct trials_connection **ret_connection, const char *socket,
			      const char *program, double timeout_seconds,
			      struct trials_error *ret_error);

/* Closes. Trials go on. Takes NULL; returns NULL. Messages taken from it stay valid. */
TRIALS_API struct trials_connection *trials_disconnect(struct trials_connection *connection);

/*
 * For poll(): readable means that trials_next() may have something. Messages that were read
 * ahead do not make it readable: call trials_next() with no time until it says -ETIMEDOUT,
 * then poll. Owned by the connection.
 */
TRIALS_API int trials_fd(const struct trials_connection *connection);

/* What hello agreed on. Texts are the connection's. */
TRIALS_API unsigned int trials_protocol_version(const struct trials_connection *connection);
TRIALS_API const char *trials_daemon_program(const struct trials_connection *connection);
TRIALS_API const char *trials_daemon_socket(const struct trials_connection *connection);

/*
 * Arguments for a verb from the text of one JSON object, checked as trialsd will check them:
 * an unknown key, a wrong type or a value out of range is -EINVAL and the message names the
 * field. The result holds the same, keys in the protocol's order. The caller's to free.
 */
TRIALS_API int trials_arguments_from_json(const char *verb, const char *text, size_t size,
					  struct trials_message **ret_arguments,
					  struct trials_error *ret_error);

/* The same for a launch: the body of `trialctl launch --spec`. */
TRIALS_API int trials_launch_from_json(const char *text, size_t size,
				       struct trials_message **ret_arguments,
				       struct trials_error *ret_error);

/*
 * One request, one reply. arguments may be NULL (none) and stays the caller's. What arrives for
 * other requests meanwhile is kept for trials_receive() and trials_next(). ret_reply may be NULL;
 * else *ret_reply is the caller's to free. After -ETIMEDOUT the request may still be carried out,
 * and a late reply turns up in trials_next().
 */
TRIALS_API int trials_call(struct trials_connection *connection, const char *verb,
			   const struct trials_message *arguments, double timeout_seconds,
			   struct trials_message **ret_reply, struct trials_error *ret_error);

/*
 * Sends a request and does not wait for its reply; *ret_number names it. Up to 1024 may be in
 * flight. -EMSGSIZE: over the 1 MiB of a frame, nothing was sent. -EINVAL: no such verb.
 */
TRIALS_API int trials_send(struct trials_connection *connection, const char *verb,
			   const struct trials_message *arguments, double timeout_seconds,
			   uint64_t *ret_number, struct trials_error *ret_error);

/*
 * A launch whose prompt travels as a descriptor: its arguments have prompt_descriptor true, and
 * neither prompt nor prompt_file. prompt_fd is a regular file or a memfd, open for reading, of at
 * most 20 MiB; a pipe is not, and has to be read into a memfd first. trialsd reads it from its
 * start, wherever its offset stands, before it replies. It stays the caller's, who may close it as
 * soon as this has returned. -1: none, which is trials_send() of a launch. The reply is for
 * trials_receive(). -EBADF, -ETOOMANYREFS: the descriptor cannot be sent, and nothing was.
 */
TRIALS_API int trials_send_launch(struct trials_connection *connection,
				  const struct trials_message *arguments, int prompt_fd,
				  double timeout_seconds, uint64_t *ret_number,
				  struct trials_error *ret_error);

/* The reply to that request. Otherwise as trials_call(). */
TRIALS_API int trials_receive(struct trials_connection *connection, uint64_t number,
			      double timeout_seconds, struct trials_message **ret_reply,
			      struct trials_error *ret_error);

/*
 * A verb that is answered and then pushes events (logs, watch): sends it and takes the reply.
 * The events carry *ret_number and come from trials_next(). A logs subscription ends with the
 * event log_end, a watch with the connection.
 */
TRIALS_API int trials_subscribe(struct trials_connection *connection, const char *verb,
				const struct trials_message *arguments, double timeout_seconds,
				uint64_t *ret_number, struct trials_message **ret_reply,
				struct trials_error *ret_error);

/*
 * The next message of any kind, in the order of arrival: an event, a reply, or an error reply
 * (trials_message_error()). *ret_message is the caller's to free. -ETIMEDOUT: none within the
 * time; 0 seconds only takes what is there.
 */
TRIALS_API int trials_next(struct trials_connection *connection, double timeout_seconds,
			   struct trials_message **ret_message, struct trials_error *ret_error);

/* Takes NULL; returns NULL. */
TRIALS_API struct trials_message *trials_message_free(struct trials_message *message);

/* The request it answers or belongs to. */
TRIALS_API uint64_t trials_message_number(const struct trials_message *message);

/* The event's name, or NULL when it is not an event. The message's. */
TRIALS_API const char *trials_message_event(const struct trials_message *message);

/* -EREMOTEIO and *ret_error filled when it is an error reply, else 0. */
TRIALS_API int trials_message_error(const struct trials_message *message,
				    struct trials_error *ret_error);

/*
 * The whole message as one line of JSON without line end: *ret_text is the caller's to free().
 * Control characters and marks that reorder text are escaped, so that it is safe to print.
 */
TRIALS_API int trials_message_json(const struct trials_message *message, char **ret_text);

/*
 * One value. A name may lead inwards with dots, a number picks from a list: "id", "limits.0.name",
 * "trials.17.state". 0; -ENOENT: absent; -EINVAL: of another type; -ERANGE: does not fit.
 * String: UTF-8 without NUL, terminated, the message's (the first call for a value copies it).
 * Bytes: str or bin, any bytes, not terminated, the message's. Number: whole numbers too.
 * Count: elements of a list or map.
 */
TRIALS_API int trials_get_string(struct trials_message *message, const char *name,
				 const char **ret_text);
TRIALS_API int trials_get_bytes(const struct trials_message *message, const char *name,
				const void **ret_bytes, size_t *ret_size);
TRIALS_API int trials_get_integer(const struct trials_message *message, const char *name,
				  int64_t *ret_value);
TRIALS_API int trials_get_number(const struct trials_message *message, const char *name,
				 double *ret_value);
TRIALS_API int trials_get_boolean(const struct trials_message *message, const char *name,
				  int *ret_value);
TRIALS_API int trials_get_count(const struct trials_message *message, const char *name,
				size_t *ret_count);

#ifdef __cplusplus
}
#endif
