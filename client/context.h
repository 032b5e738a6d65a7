/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "origin.h"
#include "trials.h"

/*
 * What a run of trialctl has: its connection, how it speaks, and its one way to fail. Functions
 * that return an exit code have said on stderr what is wrong; 0 is success.
 */
struct context {
	const char *socket; /* --socket, or NULL */
	bool json;
	bool colours;	    /* on stdout */
	bool error_colours; /* on stderr */
	struct trials_connection *connection;
	json_t *warnings;
	struct origins origins; /* of the request that is being made */
};

/* How long an answer may take. Not for wait, logs and watch, which last as long as a Trial. */
#define CONNECT_SECONDS 5.0
#define REPLY_SECONDS 30.0

void context_done(struct context *context);

/* Says it (as JSON with --json) and returns the exit code that belongs to it. */
int context_fail(const struct context *context, int number, const struct trials_error *error);

/* The same for what trialctl itself found. hint may be NULL. Returns exit_code. */
int context_refuse(const struct context *context, int exit_code, const char *hint,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* For a person at once on stderr; with --json inside the next object printed. */
void context_warn(struct context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Connects unless it is connected. */
int context_connect(struct context *context);

/*
 * Connects, asks and takes the reply. arguments is consumed; NULL: none. *ret_reply (which may be
 * NULL) is a reference of the caller's.
 */
int context_call(struct context *context, const char *verb, json_t *arguments, json_t **ret_reply);

/* Sends only. arguments is consumed. */
int context_send(struct context *context, const char *verb, json_t *arguments,
		 uint64_t *ret_number);

/* Sends a launch, or what is like one, with the descriptor of its prompt unless that is -1. Consumes
 * nothing. */
int context_send_launch(struct context *context, const char *verb, json_t *launch, int prompt_fd,
			uint64_t *ret_number);

/* Takes the reply to what was sent, as context_call does. */
int context_receive(struct context *context, uint64_t number, json_t **ret_reply);

/* The same, however long it takes; gone and hint are said when trialsd went away meanwhile. */
int context_receive_late(struct context *context, uint64_t number, const char *gone,
			 const char *hint, json_t **ret_reply);

/* One object on one line of stdout, with the warnings that wait. Takes no reference. */
void context_print(struct context *context, json_t *object);

/* Text that need not be UTF-8, as JSON: what is not is neutralised. Never NULL. */
json_t *text_value(const char *text);

/* {"id": N}, for the verbs that take one. Never NULL. */
json_t *id_arguments(uint64_t id);
