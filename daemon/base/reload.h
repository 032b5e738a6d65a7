/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/config.h"

#include <sys/types.h>

/*
 * How a person has this daemon read its configuration anew: as its user manager says when that
 * started it (as far as the caller's environment tells), else by a signal.
 */
#define RELOAD_COMMAND_BYTES 64
const char *reload_command(pid_t pid, char ret_command[RELOAD_COMMAND_BYTES]);
bool reload_is_service(pid_t pid);

/*
 * Reads trialsd.conf anew, from its defaults on, and puts what it says in the place of *config; a
 * fault leaves *config as it is. file and folder as of config_find.
 *
 * Backend and Bwrap stay as they are, since what runs depends on them: *ret_later says whether the
 * file has others now, for the next start. backend: as the command line has it, or -1.
 */
int config_reload(struct config *config, const char *file, const char *folder, int backend,
		  bool *ret_later, struct fault *ret_fault);
