/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/command.h"
#include "client/context.h"
#include "client/lib.h"
#include "fuzz.h"
#include "stage.h"

/*
 * What comes from a trialsd, whoever plays it, as trialctl shows it. The input is the stream that
 * arrives after the request; its first message decides which number the request has. Whatever comes,
 * the command ends with the connection, no terminal acts on what it printed, and with --json every
 * line is an object.
 */

static const char *const requests[][4] = {
	{"show", "3", "--plan"},  {"list", "--size"}, {"status"},     {"wait", "3"},
	{"cancel", "3"},	  {"watch"},	      {"watch", "3"}, {"pause"},
	{"prune", "--keep", "1"}, {"logs", "3"},
};

static uint64_t first_number(const uint8_t *data, size_t size)
{
	struct trials_message *message;
	struct frame_reader reader;
	const uint8_t *body;
	uint64_t number = 0;
	size_t body_size;

	frame_reader_init(&reader);
	if (frame_reader_feed(&reader, data, size) == 0 &&
	    frame_reader_next(&reader, &body, &body_size) == 1 &&
	    message_from_frame(&message, body, body_size) == 0) {
		number = trials_message_number(message);
		trials_message_free(message);
	}
	frame_reader_done(&reader);
	return number ? number : 1;
}

/* A connection on which the input has arrived, and its end. *ret_peer stays open for requests. */
static struct trials_connection *connect_to(const uint8_t *data, size_t size, int *ret_peer)
{
	struct trials_connection *connection = calloc(1, sizeof(*connection));
	int pair[2];

	must(connection);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	must(send(pair[1], data, size, MSG_DONTWAIT) == (ssize_t)size);
	must(shutdown(pair[1], SHUT_WR) == 0);
	connection->fd = pair[0];
	frame_reader_init(&connection->reader);
	connection->queue_end = &connection->queue;
	connection->version = 1;
	connection->last_number = first_number(data, size) - 1;
	*ret_peer = pair[1];
	return connection;
}

static void run(struct context *context, const char *const *words)
{
	const struct command *command = command_find(words[0]);
	struct arguments arguments = {0};
	struct trials_error error;

	must(command && options_parse(command, words + 1, &arguments, &error) == 0);
	must(command->run(context, &arguments) >= 0);
	arguments_done(&arguments);
}

static void must_be_objects(char *text)
{
	json_error_t error;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		json_t *object;

		if (!*line)
			continue;
		object = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
		must(json_is_object(object));
		json_decref(object);
	}
}

static void check(const uint8_t *data, size_t size, const char *const *words, bool json)
{
	struct context context = {.socket = "/nonexistent", .json = json};
	char *text, *errors;
	int peer;

	context.connection = connect_to(data, size, &peer);
	stage_listen();
	run(&context, words);
	context_done(&context);
	stage_heard(&text, &errors);
	close(peer);
	must(stage_is_shown(errors, true));
	/* Into a file or a pipe, logs go as they are. */
	must(stage_is_shown(text, true) || (!json && strcmp(words[0], "logs") == 0));
	if (json) {
		must_be_objects(text);
		must_be_objects(errors);
	}
	free(text);
	free(errors);
}

int fuzz_terminal(const uint8_t *data, size_t size)
{
	/* What a socket takes without a reader. */
	if (size > 65536)
		return 0;
	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		check(data, size, requests[i], false);
		check(data, size, requests[i], true);
	}
	return 0;
}
