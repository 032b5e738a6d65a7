/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/config.h"

/*
 * Reads trialsd.conf anew, from its defaults on, and puts what it says in the place of *config; a
 * fault leaves *config as it is. file and folder as of config_find.
 *
 * Backend and Bwrap stay as they are, since what runs depends on them: *ret_later says whether the
 * file has others now, for the next start. backend: as the command line has it, or -1.
 */
int config_reload(struct config *config, const char *file, const char *folder, int backend,
		  bool *ret_later, struct fault *ret_fault);
