/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "exit_code.h"
#include "json.h"
#include "neutralise.h"
#include "print.h"

void context_done(struct context *context)
{
	context->connection = trials_disconnect(context->connection);
	json_decref(context->warnings);
	context->warnings = NULL;
	origins_done(&context->origins);
}

json_t *text_value(const char *text)
{
	json_t *value = json_string(text);
	char *line;

	if (value)
		return value;
	line = need_memory(neutralise_line(text, strlen(text)));
	value = need_memory(json_string(line));
	free(line);
	return value;
}

static void say(const struct context *context, const struct trials_error *error)
{
	char *told = origins_rewrite(&context->origins, error->message);
	char *message, *hint;

	if (context->json) {
		json_t *object = json_pack("{s:{s:o, s:o}}", "error", "code",
					   text_value(error->code), "message", text_value(told));
		char *line;

		need_memory(object);
		if (error->hint[0])
			json_object_set_new(json_object_get(object, "error"), "hint",
					    text_value(error->hint));
		line = need_memory(json_line(object));
		fprintf(stderr, "%s\n", line);
		free(line);
		json_decref(object);
		free(told);
		return;
	}
	message = need_memory(neutralise_line(told, strlen(told)));
	hint = need_memory(neutralise_line(error->hint, strlen(error->hint)));
	fputs("trialctl: ", stderr);
	print_toned(stderr, context->error_colours, TONE_BAD, message);
	fputc('\n', stderr);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(told);
	free(message);
	free(hint);
}

int context_fail(const struct context *context, int number, const struct trials_error *error)
{
	say(context, error);
	return exit_code_of_error(number, error);
}

static const char *word_of_exit_code(int exit_code)
{
	switch (exit_code) {
	case EXIT_USED_WRONG:
		return "usage";
	case EXIT_NO_INPUT:
		return "no_input";
	case EXIT_OUTPUT:
		return "output";
	case EXIT_NO_DAEMON:
		return "gone";
	case EXIT_BUSY:
		return "no_answer";
	default:
		return "failed";
	}
}

int context_refuse(const struct context *context, int exit_code, const char *hint,
		   const char *format, ...)
{
	struct trials_error error = {0};
	va_list list;

	snprintf(error.code, sizeof(error.code), "%s", word_of_exit_code(exit_code));
	va_start(list, format);
	vsnprintf(error.message, sizeof(error.message), format, list);
	va_end(list);
	if (hint)
		snprintf(error.hint, sizeof(error.hint), "%s", hint);
	say(context, &error);
	return exit_code;
}

void context_warn(struct context *context, const char *format, ...)
{
	char message[1024];
	va_list list;
	char *line;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	if (context->json) {
		if (!context->warnings)
			context->warnings = need_memory(json_array());
		json_array_append_new(context->warnings, text_value(message));
		return;
	}
	line = need_memory(neutralise_line(message, strlen(message)));
	fprintf(stderr, "trialctl: warning: %s\n", line);
	free(line);
}

int context_connect(struct context *context)
{
	struct trials_error error;
	int r;

	if (context->connection)
		return 0;
	r = trials_connect(&context->connection, context->socket, "trialctl " TRIALSD_VERSION,
			   CONNECT_SECONDS, &error);
	return r < 0 ? context_fail(context, r, &error) : 0;
}

static int make_arguments(const struct context *context, const char *verb, json_t *arguments,
			  struct trials_message **ret_arguments)
{
	struct trials_error error;
	int r;

	*ret_arguments = NULL;
	if (!arguments)
		return 0;
	r = arguments_from_json(verb, arguments, ret_arguments, &error);
	json_decref(arguments);
	return r < 0 ? context_fail(context, r, &error) : 0;
}

static int send_with(struct context *context, const char *verb, json_t *arguments, int prompt_fd,
		     uint64_t *ret_number)
{
	struct trials_message *encoded;
	struct trials_error error;
	int r;

	r = make_arguments(context, verb, arguments, &encoded);
	if (r)
		return r;
	r = context_connect(context);
	if (!r) {
		if (prompt_fd >= 0)
			r = trials_send_launch(context->connection, encoded, prompt_fd,
					       REPLY_SECONDS, ret_number, &error);
		else
			r = trials_send(context->connection, verb, encoded, REPLY_SECONDS,
					ret_number, &error);
		if (r < 0)
			r = context_fail(context, r, &error);
	}
	trials_message_free(encoded);
	return r;
}

int context_send(struct context *context, const char *verb, json_t *arguments, uint64_t *ret_number)
{
	return send_with(context, verb, arguments, -1, ret_number);
}

int context_send_launch(struct context *context, const char *verb, json_t *launch, int prompt_fd,
			uint64_t *ret_number)
{
	return send_with(context, verb, json_incref(launch), prompt_fd, ret_number);
}

/* gone: said instead of the error when trialsd went away, unless it is NULL. */
static int receive(struct context *context, uint64_t number, double seconds, const char *gone,
		   const char *hint, json_t **ret_reply)
{
	struct trials_message *reply;
	struct trials_error error;
	int r;

	r = trials_receive(context->connection, number, seconds, &reply, &error);
	if (r == -ECONNRESET && gone)
		return context_refuse(context, EXIT_NO_DAEMON, hint, "%s", gone);
	if (r < 0)
		return context_fail(context, r, &error);
	if (ret_reply)
		*ret_reply = need_memory(json_from_message(reply));
	trials_message_free(reply);
	return 0;
}

int context_receive(struct context *context, uint64_t number, json_t **ret_reply)
{
	return receive(context, number, REPLY_SECONDS, NULL, NULL, ret_reply);
}

int context_receive_late(struct context *context, uint64_t number, const char *gone,
			 const char *hint, json_t **ret_reply)
{
	return receive(context, number, -1, gone, hint, ret_reply);
}

int context_call(struct context *context, const char *verb, json_t *arguments, json_t **ret_reply)
{
	uint64_t number;
	int r;

	r = context_send(context, verb, arguments, &number);
	return r ? r : context_receive(context, number, ret_reply);
}

void context_print(struct context *context, json_t *object)
{
	char *line;

	if (context->warnings) {
		json_object_set_new(object, "warnings", context->warnings);
		context->warnings = NULL;
	}
	line = need_memory(json_line(object));
	puts(line);
	free(line);
	fflush(stdout);
}

json_t *id_arguments(uint64_t id)
{
	return need_memory(json_pack("{s:I}", "id", (json_int_t)id));
}
