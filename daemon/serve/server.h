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
	DoctorChild *doctor;	 /* closed, with all that was asked of it, before the server */
	const char *socket_path; /* for status */
	/* A client asked the daemon to stop: leaving what runs, or waiting for its end. */
	void (*shutdown)(void *context, bool leave);
	void *context;
};

/*
 * Binds PATH (its folder exists, is ours and 0700; the caller holds the runtime lock, so a socket
 * file that is there is a dead one's and is replaced). Refused: a name over 107 bytes, something
 * else than a socket in the way.
 */
int server_bind(const char *path, int *ret_fd, struct fault *ret_fault);

/* Takes the listening descriptor. */
int server_new(Server **ret_server, const struct server_options *options, int listen_fd);

/* No new clients; those there are closed once what is queued for them is written, or soon. */
void server_close(Server *server, void (*closed)(void *context), void *context);
