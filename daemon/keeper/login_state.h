/* SPDX-License-Identifier: MIT */
#pragma once

#include "login.h"
#include "login_file.h"

/*
 * What is kept of a login in the state folder's `logins`, by its key (login.h); all 0600.
 *   KEY.good      the last good login: what the host was last seen to have
 *   KEY.previous  what it had of its own before a Trial's took its place: for when the good one was
 *                 forged by a Trial, well enough for the gate
 *   KEY.carried   SHA-256 of what a Trial's copy put in the host's place
 *   KEY.damaged   what the gate refused last, GATE_BYTES_MAX at most
 *   KEY.suspect   a login_result: it is suspect. Mending the login removes it
 *   KEY.refreshed a login_result: of the Trial whose login took the host's place last
 * Called under the login's lock.
 */
enum login_kept {
	LOGIN_KEPT_good,
	LOGIN_KEPT_previous,
	LOGIN_KEPT_carried,
	LOGIN_KEPT_damaged,
	LOGIN_KEPT_suspect,
	LOGIN_KEPT_refreshed,
};

/* What is there already is left as it is. */
int login_kept_write(int state_fd, const char *key, enum login_kept kept, const void *data,
		     size_t size);
/* -ENOENT, or -EBADMSG when it is no such file. */
int login_kept_read(int state_fd, const char *key, enum login_kept kept, struct login_content *ret);
/* Whether there is one; nothing of it is read. */
bool login_kept_there(int state_fd, const char *key, enum login_kept kept);
int login_kept_remove(int state_fd, const char *key, enum login_kept kept);

/* KEY.carried, and whether these bytes are what it says. */
int login_carried_write(int state_fd, const char *key, const void *data, size_t size);
bool login_carried_is(int state_fd, const char *key, const void *data, size_t size);

/* The mark. -ENOENT when the login is not suspect; an unreadable mark is one all the same. */
int login_suspect_write(int state_fd, const char *key, const struct login_result *result);
int login_suspect_read(int state_fd, const char *key, struct message **ret_message,
		       struct login_result *ret_result);

/* KEY.refreshed: which Trial it was, and when. -ENOENT when none did. */
int login_refreshed_write(int state_fd, const char *key, const struct login_result *result);
int login_refreshed_read(int state_fd, const char *key, struct message **ret_message,
			 struct login_result *ret_result);
