/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/queue.h>
#include <systemd/sd-bus.h>

#include "launch/scope.h"

/* A connection to the user manager from the inside; shared by the files scope*.c only. */

#define MANAGER_NAME "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"

struct pending;

struct ScopeManager {
	uv_loop_t *loop;
	sd_bus *bus;	 /* NULL: there is no connection, and nobody needs one */
	uv_poll_t *poll; /* of the connection's descriptor; NULL without one */
	bool ready;	 /* the manager has answered on it */
	bool turning;	 /* within bus_turn */
	int refused;	 /* -errno of its answer, when that was no */
	size_t way;	 /* which of the ways to it this is; the next is tried when it fails */
	uint64_t connect_deadline; /* uv_now milliseconds, of this way */
	uv_timer_t timer;
	uv_timer_t sweep_timer;
	size_t sweeping; /* questions of a sweep that are not answered yet */
	int handles;	 /* the timers, not yet closed */
	bool closing;	 /* once nothing is being swept */
	bool shut;
	uint64_t close_deadline;
	TAILQ_HEAD(pending_list, pending) pending;
	void (*closed)(void *context);
	void *context;
};

/* scope_bus.c */

/* Begins to connect unless that is done or under way. FAULT: there is no way at all. */
int bus_connect(ScopeManager *manager, struct fault *ret_fault);
/* The same, and waits: at the start, when there is nobody yet to be kept waiting. */
int bus_connect_now(ScopeManager *manager, struct fault *ret_fault);
/*
 * To be called after everything that may have queued work: processes what is there and arms poll
 * and timer again.
 */
void bus_turn(ScopeManager *manager);
void bus_close(ScopeManager *manager);

/* scope.c: what the connection tells. */
void scope_manager_ready(ScopeManager *manager);
/* No way is left, or the one that was ready is lost. */
void scope_manager_lost(ScopeManager *manager, const char *why);
int scope_manager_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error);
/* Ends what waited for too long; milliseconds (uv_now) of the next that will, or UINT64_MAX. */
uint64_t scope_manager_expire(ScopeManager *manager);
/* The last turn of a closing one is over when there is nothing to wait for. */
void scope_manager_try_shut(ScopeManager *manager);

/* scope_sweep.c: stops the scopes of Trials in which nothing lives. Asks, and goes on later. */
void scope_sweep(ScopeManager *manager);
