/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

struct context;

/* What logins and login tell of the logins of Harnesses, for people. */

/* Asks: name NULL for all. *ret_logins is the reply's. Returns an exit code. */
int logins_ask(struct context *context, const char *verb, const char *name, json_t **ret_logins,
	       json_t **ret_reply);

/*
 * Of the ways of one Harness (those in `logins` with its name): what a launch would use, else the one
 * that can be signed in to. NULL when there is none. kind NULL: any.
 */
const json_t *logins_pick(const json_t *logins, const char *harness, const char *kind);

/* One row for each Harness, and what there is to do, below. */
void logins_print_table(const struct context *context, const json_t *logins);
/* One way, whole. */
void login_print(const json_t *login);

/* The words of the command that signs in, as one would type them; "" for none. The caller's. */
char *login_sign_in(const json_t *login);
/* "in PATH it says: good until TIME" in one line, of a login that was just changed. */
void login_print_state(const json_t *login);
/* The same behind what was put back. */
void login_print_restored(const json_t *login);
/* Into which file and key what was printed goes. */
void login_print_key(const json_t *login);
