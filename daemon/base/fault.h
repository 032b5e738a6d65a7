/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/mem.h"
#include "proto/message.h"

/*
 * A refusal that a person will read: what is wrong and the one thing that mends it. Filled once,
 * where the cause is known, and carried out unchanged to the reply or the outcome.
 *
 * A function that can refuse takes a struct fault * last and returns 0, -errno when the daemon
 * itself is at fault (the fault is untouched), or FAULT with the fault filled. `code` is what a
 * client sees; `cause` is what a Trial's outcome says when the refusal comes after acceptance.
 */
#define FAULT 1

struct fault {
	enum error_code code;
	enum cause cause;
	char *message;
	char *hint; /* or NULL */
};

#define FAULT_INIT ((struct fault){.code = ERROR_internal, .cause = CAUSE_sandbox_unavailable})

void fault_done(struct fault *fault);
#define _cleanup_fault_ _cleanup_(fault_done)

/* Fill and return FAULT (or -ENOMEM): return fault_set(fault, ERROR_invalid, "cwd: …"); */
int fault_set(struct fault *fault, enum error_code code, const char *format, ...) _printf_(3, 4);
/* Adds the hint; returns FAULT too, so that it can stand in the same return. */
int fault_hint(struct fault *fault, const char *format, ...) _printf_(2, 3);
/* The same for a refusal that voids an accepted Trial; code becomes unavailable. */
int fault_void(struct fault *fault, enum cause cause, const char *format, ...) _printf_(3, 4);
/* For -errno that reaches the edge: fills the fault from it. Returns FAULT. */
int fault_errno(struct fault *fault, int error, const char *what);
/* Moves: *to (done first) takes what *from had; *from is as after FAULT_INIT. */
void fault_move(struct fault *to, struct fault *from);
