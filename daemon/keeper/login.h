/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "gate.h"

/*
 * One login that a Trial has a copy of, as trialsd tells a keeper or a task of it: a sealed memory
 * file with a keeper_login, and folders by descriptor. A path says nothing here: the host's own
 * folder may be another one by the time a path is looked up again.
 *
 * A copy lies in a folder of the Trial's own, which the Trial can fill with anything. With
 * `in_place` the file itself is bound and is written in place, since a new one under its name would
 * not be seen inside; else it is replaced by rename. With `home` there is no copy: the Trial has
 * the login's own folder, and COPY is that folder too.
 */
#define LOGIN_VERSION 1
#define LOGIN_BYTES_MAX (64u * 1024u)
#define LOGIN_NAME_BYTES_MAX 200
#define LOGINS_MAX 8 /* of one Trial: as many as a Custom runner has Harnesses */

enum login_descriptor {
	LOGIN_FD_ABOUT,	     /* sealed memfd: keeper_login */
	LOGIN_FD_PRODUCTION, /* the folder that the host's own file is in */
	LOGIN_FD_COPY,	     /* the folder with the Trial's copy */
	LOGIN_FD_TRIAL,	     /* the Trial's folder: what must be remembered after a crash */
	LOGIN_FD_STATE,	     /* the state folder's `logins`: backups, what was damaged */
	LOGIN_FD_LOCKS,	     /* ~/.thirdshift/trials/locks */
	LOGIN_FDS,
};

#define KEEPER_LOGIN_FIELDS(X)                                                                     \
	X(version, UINT, REQUIRED, 1000, "LOGIN_VERSION")                                          \
	X(order, STRING, OPTIONAL, 16, "of a task: prepare, finish, check or restore")             \
	X(harness, STRING, REQUIRED, 64, "whose login it is")                                      \
	X(trial, UINT, OPTIONAL, 0, "the Trial's id")                                              \
	X(file, BYTES, REQUIRED, LOGIN_NAME_BYTES_MAX, "its name in the host's folder")            \
	X(copy, BYTES, REQUIRED, LOGIN_NAME_BYTES_MAX, "its name in the Trial's")                  \
	X(in_place, BOOL, OPTIONAL, 0, "the copy is bound itself")                                 \
	X(home, BOOL, OPTIONAL, 0, "there is no copy: the Trial has the folder")                   \
	X(require, STRINGS, OPTIONAL, 128, "as in the .harness file, like the next six")           \
	X(identity, STRINGS, OPTIONAL, 128, "")                                                    \
	X(refreshes, STRINGS, OPTIONAL, 128, "")                                                   \
	X(optional, STRINGS, OPTIONAL, 128, "")                                                    \
	X(expiry, STRING, OPTIONAL, GATE_PATH_BYTES_MAX, "")                                       \
	X(unit, STRING, OPTIONAL, 16, "s, ms or rfc3339")                                          \
	X(refresh_ahead, SECONDS, OPTIONAL, 0, "")                                                 \
	X(seconds, SECONDS, OPTIONAL, 0, "may it be refreshed within this time?")                  \
	X(lease, UINT, OPTIONAL, 9,                                                                \
	  "which of the keeper's leases, from 1, others may share once it was refreshed")

/*
 * What became of it: a task's result, the mark of a suspect login, a part of a Trial's record.
 *   good     both sides have the same, or what they have is right
 *   suspect  what the Trial made of it did not pass the gate, and was kept aside
 *   failed   it could not be carried, for no fault of the Trial's
 *   absent   the host has none (prepare, check)
 *   damaged  what the host has is no login (prepare, check)
 */
#define LOGIN_STATES(X) X(good) X(suspect) X(failed) X(absent) X(damaged)

#define LOGIN_RESULT_FIELDS(X)                                                                     \
	X(state, STRING, REQUIRED, 16, "a word of LOGIN_STATES")                                   \
	X(reason, STRING, OPTIONAL, 512, "why, for a person: a part of a sentence")                \
	X(harness, STRING, OPTIONAL, 64, "whose login it is")                                      \
	X(trial, UINT, OPTIONAL, 0, "the Trial's id")                                              \
	X(at, TIME, OPTIONAL, 0, "when this was found")                                            \
	X(carried_out, UINT, OPTIONAL, 0, "how often the Trial's reached the host")                \
	X(carried_in, UINT, OPTIONAL, 0, "how often the host's reached the Trial")                 \
	X(refreshed_at, TIME, OPTIONAL, 0,                                                         \
	  "when the Trial's reached the host last; of restore, since when it was kept")            \
	X(ends_at, TIME, OPTIONAL, 0, "when what the host has ends, where that can be told")       \
	X(may_refresh, BOOL, OPTIONAL, 0, "whether it may be refreshed within `seconds`")          \
	X(refreshable, BOOL, OPTIONAL, 0, "whether a refresh would change anything in it")         \
	X(key, STRING, OPTIONAL, 255, "its name among locks and backups")

#define LOGIN_MESSAGES(M)                                                                          \
	M(keeper_login, KEEPER_LOGIN_FIELDS)                                                       \
	M(login_result, LOGIN_RESULT_FIELDS)

LOGIN_MESSAGES(MESSAGE_STRUCT_)
LOGIN_MESSAGES(MESSAGE_TYPE_)

#define LOGIN_STATE_(name) LOGIN_##name,
enum login_state { LOGIN_STATES(LOGIN_STATE_) LOGIN_STATE_COUNT };
const char *login_state_name(enum login_state state);

/* A sealed memory file of a description; the caller's. */
int login_about_memfd(const struct keeper_login *login, int *ret_fd);
/* The reverse: bounded, and every word and path in it looked at. Points into *ret_message. */
int login_about_read(int fd, struct message **ret_message, struct keeper_login *ret_login);
/* The rules in it; they point into it. */
struct gate_rules login_rules(const struct keeper_login *login);

/* A result as bytes, LOGIN_BYTES_MAX at most, and back. */
int login_result_pack(msgpack_sbuffer *buffer, const struct login_result *result);
int login_result_parse(const void *bytes, size_t size, struct message **ret_message,
		       struct login_result *ret_result);

/*
 * What all daemons call a login by: device and inode of its folder, and its file's name. The file's
 * own inode changes with each refresh; the folder's stays, whichever path leads to it.
 */
#define LOGIN_KEY_BYTES 256
int login_key(int folder_fd, const char *name, char ret_key[LOGIN_KEY_BYTES]);

/*
 * Its locks, each an own open file, to be taken with flock(2); made when missing, never removed.
 *   carry  while it is carried: for moments
 *   use    shared by Trials that only use it, exclusive for one that may refresh it
 */
enum login_lock { LOGIN_LOCK_carry, LOGIN_LOCK_use };
int login_lock_open(int locks_fd, const char *key, enum login_lock lock, int *ret_fd);

/*
 * Where a login really is, for trialsd: path's folder is opened, and a link under its last name
 * followed once, here, so that from now on the folder's descriptor and the name say it. A login that
 * is not there is no fault; where its folder is missing too, folder_fd is -1. Refused: what is no
 * regular file of ours with one name, a folder that is not ours. Nothing of the content is read.
 */
struct login_place {
	int folder_fd;
	char name[LOGIN_NAME_BYTES_MAX + 1];
	bool there;
};
int login_place_find(const char *path, struct login_place *ret, struct fault *ret_fault);
