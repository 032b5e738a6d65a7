/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "doctor/child.h"
#include "queue/trial.h"

/*
 * The socket: who may connect, how many, and what is pushed to them.
 */
typedef struct Server Server;

struct server_options {
	uv_loop_t *loop;
	Ledger *ledger;
	Queue *queue;
	Launcher *launcher;
	const struct plan_host *host;
	const struct arm_store *arms;
	struct bar_store *bars;
	DoctorChild *doctor;	 /* closed, with all that was asked of it, before the server */
	const char *socket_path; /* for status */
	/* A client asked the daemon to stop: leaving what runs, or waiting for its end. */
	void (*shutdown)(void *context, bool leave);
	void *context;
};

/* Takes the listening descriptor. */
int server_new(Server **ret_server, const struct server_options *options, int listen_fd);

/* No new clients; those there are closed once what is queued for them is written, or soon. */
void server_close(Server *server, void (*closed)(void *context), void *context);
