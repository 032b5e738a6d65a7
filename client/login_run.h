/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/*
 * Signing in: a Harness's own command on the person's terminal, with the person's environment. It is
 * in trialctl's process group, so that it gets what the terminal sends; what ends it does not end
 * trialctl, which looks afterwards at what came of it.
 */

/*
 * words: VAR=VALUE first, then the program and its arguments; "~/" at the beginning of a word or of a
 * value is the person's home. program: instead of the first word when that is nowhere in PATH, or
 * NULL. 0 with a wait status, or -errno (-ENOENT: there is no such program).
 */
int login_run(const json_t *words, const json_t *program, int *ret_status);

/* The program among the words, or NULL. */
const char *login_program(const json_t *words);

/* Makes what is missing of the folder, 0700. -errno. */
int login_make_home(const char *path);
/*
 * Takes the home as a Trial does, so that none is started in it meanwhile: a descriptor to be closed,
 * -EWOULDBLOCK when somebody has it, -errno.
 */
int login_lock_home(const char *path, int *ret_fd);
