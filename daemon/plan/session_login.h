/* SPDX-License-Identifier: MIT */
#pragma once

#include "harness.h"
#include "keeper/login.h"
#include "plan/plan.h"

/*
 * How a session is signed in: of the ways that its Harness's file has, the first one that is there.
 *
 * A key of the credentials file goes into the session's environment and nowhere else: it is kept
 * apart from what is recorded of a plan, and wiped with it. Of a login in a file it is found where
 * that is, by folder and name; what is in it is for the keeper alone to read.
 */

struct session_login {
	const struct harness_login *login; /* the Harness's; NULL: none was found */
	struct pair secret;	  /* env: a variable and its value, wiped; else name NULL */
	char *warning;		  /* of the credentials file, or NULL */
	char *path;		  /* file, folder, home: of its file, on the host */
	struct login_place place; /* file, folder: where that is; else folder_fd -1 */
	int lock_fd;		  /* the host's SharedLock, where there is one; else -1 */
};

/* What signs in: the Harness's own command with whatever it needs, on a terminal. */
#define SESSION_LOGIN_HINT "trialctl login %s"

#define SESSION_LOGIN_INIT ((struct session_login){.place = {.folder_fd = -1}, .lock_fd = -1})

/* 0; FAULT (a void's cause): there is none, with the command that makes one, or it is unusable. */
int session_login_find(struct session_login *ret, const struct plan_host *host,
		       const struct harness *harness, struct fault *ret_fault);
/*
 * One of its ways, there or not; of a file's the place, as far as there is one. FAULT: what is there
 * is unusable.
 */
int session_login_look(struct session_login *ret, const struct plan_host *host,
		       const struct harness *harness, const struct harness_login *login,
		       bool *ret_there, struct fault *ret_fault);
/*
 * By the key of a provider, whatever logins of its own there are: credential is TABLE.KEY. FAULT: there
 * is no such key, or no way to give it one.
 */
int session_login_by_provider(struct session_login *ret, const struct plan_host *host,
			      const struct harness *harness, const char *provider,
			      const char *credential, struct fault *ret_fault);
void session_login_done(struct session_login *found);

/* A path of a .harness file on this host; to be freed. NULL when out of memory. */
char *session_login_path(const struct plan_host *host, const char *path);

/* The command that signs in, as the file has it, in words joined by blanks; "" when it has none. */
int session_login_command(const struct harness_login *login, char **ret_command);

/* Fills the fault for a login that cannot be used, for this reason. Returns FAULT, or -ENOMEM. */
int session_login_refuse(const struct harness *harness, const struct harness_login *login,
			 const char *reason, struct fault *ret_fault);
