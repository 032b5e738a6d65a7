/* SPDX-License-Identifier: MIT */
#pragma once

#include "carry.h"

/* Shared by carry.c and carry_host.c only. */

#define CARRY_SEEN_BYTES 128
#define CARRY_BUSY_SECONDS 0.01 /* a lock is held, a file is being written */
#define CARRY_HELD_SECONDS 1.0 /* a Trial's program has the login open; then it is written anyway */
#define CARRY_FAILED_SECONDS 1.0 /* a full disk */

enum carry_look carry_again(struct carry *carry, double seconds);
/* Sets the state: CARRY_LOOK_DONE. reason may be NULL. */
enum carry_look carry_say(struct carry *carry, enum login_state state, const char *reason);
enum carry_look carry_fail(struct carry *carry, const char *what, int error);

/*
 * Another keeper that is stopped may hold it for ever, so nobody ever waits in it. What one that was
 * killed left beside the host's file goes.
 */
bool carry_lock(struct carry *carry);
void carry_unlock(struct carry *carry);

/* What both sides last had, from now on: in memory, and in the Trial's folder. -ENOMEM. */
int carry_remember(struct carry *carry, const struct login_content *content);
void carry_keep_good(struct carry *carry, const struct login_content *content);
const char *carry_seen_name(const struct carry *carry, char name[CARRY_SEEN_BYTES]);
