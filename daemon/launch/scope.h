/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "base/fault.h"

/*
 * Transient scopes on the user manager: the only user of sd-bus.
 *
 * StartTransientUnit is asynchronous twice over: the call returns a job, and only JobRemoved says
 * how the job ended. A start is answered when both are in, or after a bounded time.
 */
typedef struct ScopeManager ScopeManager;

/*
 * Connects, and waits for that, bounded by a few seconds: at the start. Refused: no user manager to
 * be had, and why. Later nothing waits here: a connection that was lost is made again for the next
 * start, beside whatever else the loop has to do.
 */
int scope_manager_new(ScopeManager **ret_manager, uv_loop_t *loop, struct fault *ret_fault);
/* Asynchronous like every uv close: `closed` is called on the loop when nothing is left. */
void scope_manager_close(ScopeManager *manager, void (*closed)(void *context), void *context);

struct scope_start;
typedef void (*scope_done)(struct scope_start *start);

/* Embedded by the caller; alive until done is called, which may free it. */
struct scope_start {
	scope_done done;
	int result;	    /* 0, or FAULT with fault filled */
	struct fault fault; /* the caller's to fault_done */
	void *owner;	    /* the manager's */
};

/* What a scope is asked to be. The limits here are the backstop around keeper and payload. */
struct scope_request {
	const char *unit; /* trial-<uuid>.scope, never used before */
	const char *description;
	pid_t pid;	 /* a child of ours that is not reaped: the number cannot be another's */
	uint64_t memory; /* bytes, 0 for none */
	uint64_t tasks;	 /* 0 for none */
};

void scope_start(ScopeManager *manager, struct scope_start *start,
		 const struct scope_request *request);
/* Forgets a start that is under way: done is not called. The unit goes when its pid does. */
void scope_start_abandon(struct scope_start *start);
