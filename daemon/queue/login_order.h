/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/session_login.h"

/*
 * What a keeper or a task is told of one login, in the form that both take (keeper/login.h), and a
 * task that is run on it. Of what was ordered before a Trial's start a note is kept in the state
 * folder's `logins`, so that a later trialsd can finish what a killed keeper did not.
 */

/* Folders that every login needs; opened when the first one is. */
struct login_folders {
	int state; /* STATE/logins */
	int locks; /* ~/.thirdshift/trials/locks, shared by every daemon of this user */
};
#define LOGIN_FOLDERS_INIT ((struct login_folders){.state = -1, .locks = -1})
int login_folders_open(struct login_folders *folders, const struct plan_host *host,
		       struct fault *ret_fault);
void login_folders_done(struct login_folders *folders);

struct login_order {
	int descriptors[LOGIN_FDS]; /* owned; -1: none, a task is given /dev/null */
	msgpack_sbuffer about;	    /* a keeper_login */
	char key[LOGIN_KEY_BYTES];
	bool home;
};
#define LOGIN_ORDER_INIT ((struct login_order){.descriptors = {-1, -1, -1, -1, -1, -1}})

/* Beside what the .harness file says. */
struct login_trial {
	uint64_t id;
	double seconds; /* that it may run; negative: without a limit */
	int folder_fd;	/* of the Trial; -1: of no Trial. Borrowed */
	int copy_fd;	/* of the folder for its copy; likewise */
	unsigned int
		lease; /* which of its leases is the login's own, from 1; 0: none may be shared */
};

/* file and folder: of found; home: of the Trials home that is open as home_fd, else -1. */
int login_order_make(struct login_order *ret, const struct login_folders *folders,
		     const struct harness *harness, const struct session_login *found, int home_fd,
		     const struct login_trial *trial);
void login_order_done(struct login_order *order);

/*
 * STATE/logins/ID.carry, or ID.HARNESS.carry of a Trial with several: written before the first copy is
 * made. part, here and below: the Harness's name, or NULL where the Trial has the one login.
 */
int login_note_write(const struct login_order *order, const char *host_folder, uint64_t id,
		     const char *part);
void login_note_remove(int state_fd, uint64_t id, const char *part);
/* Durably, that it was dealt with and how: for the record of its Trial's end, which is not there yet. */
int login_note_done(int state_fd, uint64_t id, const char *part, const struct login_result *result);
/*
 * The order that a note is of: 1; how it was dealt with: 2, and the result is the caller's with its
 * message; 0 when there is none, or what it tells of is another folder by now (then it is removed,
 * since nothing can come of it); -errno.
 */
int login_note_read(struct login_order *ret, const struct login_folders *folders, uint64_t id,
		    const char *part, int trial_fd, struct message **ret_done,
		    struct login_result *ret_result);
struct login_note_name {
	uint64_t id;
	char *part;
};
struct login_note_names {
	size_t count;
	struct login_note_name *items;
};
/* Of each note; the caller's, also of an error. */
int login_notes(int state_fd, struct login_note_names *ret);
void login_note_names_done(struct login_note_names *names);

/* Runs a task on it and waits: for a thread. what: prepare, finish, check or restore. */
int login_order_run(const struct login_order *order, const char *keeper, const char *what,
		    struct message **ret_message, struct login_result *ret_result);

/* The name of the folder with its copy, in the Trial's: login, or login.HARNESS of one with several. */
#define LOGIN_COPY_FOLDER "login"
#define LOGIN_FOLDER_BYTES (sizeof(LOGIN_COPY_FOLDER) + 1 + HARNESS_NAME_BYTES_MAX)
void login_copy_folder(const char *part, char name[LOGIN_FOLDER_BYTES]);
/* What the copy is called there: as at the login's usual place. */
const char *login_copy_name(const struct harness_login *login);
/*
 * Removes what a Trial has of a login from its folder: the copy's folder, with whatever a Trial made
 * of it, and what both sides last had. For a thread.
 */
int login_remove_copy(int trial_fd, const char *part);
