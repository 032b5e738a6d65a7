/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "keeper/login.h"

/* What the last check found, of the file as it then was. */
struct login_known {
	bool valid;
	unsigned int serial; /* of the .harness file that it was judged by */
	bool marked;	     /* suspect, on disk */
	char key[LOGIN_KEY_BYTES];
	struct stat st;
	enum login_state state;
	char *reason;
	bool refreshable;
	bool ends; /* its end can be told */
	uint64_t ends_at;
};

void login_known_done(struct login_known *known);

/*
 * What is known of the logins of Harnesses that have no Trial now, so that the next one need not wait
 * for a check: it is used only for the very file that was looked at. Of the last few Harnesses.
 */
struct login_memory;
#define LOGINS_REMEMBERED_MAX 16

/* Takes it over. Without memory it is forgotten. */
void login_remember(struct login_memory **memory, const char *harness, struct login_known *known);
/* Gives it back, if it is there. memory may be NULL, here and below. */
void login_recall(struct login_memory *memory, const char *harness, struct login_known *ret_known);
void login_forget(struct login_memory *memory, const char *harness);
struct login_memory *login_memory_free(struct login_memory *memory);
