/* SPDX-License-Identifier: MIT */
#pragma once

#include "keeper/carry.h"
#include "keeper/login_state.h"

/*
 * A login between the host's folder and a Trial's, with real files below /tmp, and programs that
 * save in each way that real ones do. The rules are those of a made-up login. One at a time.
 */
extern char carry_top[];
extern int carry_fds[LOGIN_FDS]; /* by enum login_descriptor; ABOUT is not used */
extern struct carry carry;
extern long long login_later; /* when the logins end, and a little more with each version */

#define LOGIN_HOST carry_fds[LOGIN_FD_PRODUCTION], "auth.json"
#define LOGIN_COPY carry_fds[LOGIN_FD_COPY], "login.json"

void carry_setup(void);
void carry_teardown(void);
/* Opens it; with home the Trial has the host's folder. */
void carry_make(bool in_place, bool home);
/* With a Trial that was given version 1. */
void carry_begin(bool in_place);
/* One look, after which there is nothing to wait for, and this state. */
void carry_looked(enum login_state state);

/* In one of four buffers, used in turn; of different lengths. */
const char *login_text(int version);

#define LOGIN_SAVES 4
extern void (*const login_saves[LOGIN_SAVES])(int folder, const char *name, const char *text);
void login_save_in_place(int folder, const char *name, const char *text);
void login_save_renamed(int folder, const char *name, const char *text);
void login_save_created(int folder, const char *name, const char *text);
/* As it does when the file itself is bound, and a rename finds it busy. */
void login_save_fallback(int folder, const char *name, const char *text);

void file_holds(int folder, const char *name, const char *text);
struct stat file_stat(int folder, const char *name);
int folder_entries(int folder);
void login_kept_is(enum login_kept what, const char *text);
bool login_is_marked(void);
