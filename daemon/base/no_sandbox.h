/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The emergency escape: whether this daemon was told to run Trials without a sandbox. By its own
 * environment alone, which no client has a say in; --no-sandbox sets the same variable, so that the
 * doctor that the daemon starts knows too. A Trial's environment is made from nothing.
 */
#define NO_SANDBOX_VARIABLE "TRIALS_NO_SANDBOX"
/* For people: by which of the two it was told nobody knows. */
#define NO_SANDBOX_TOLD "--no-sandbox or " NO_SANDBOX_VARIABLE "=1"
#define NO_SANDBOX_ENDS "start trialsd without " NO_SANDBOX_TOLD

/* In the Trial's folder; the keeper makes and removes it. */
#define NO_SANDBOX_HOME "bare-home"
#define NO_SANDBOX_TMP NO_SANDBOX_HOME "/tmp"

static inline bool no_sandbox_wanted(void)
{
	const char *value = getenv(NO_SANDBOX_VARIABLE);

	return value && strcmp(value, "1") == 0;
}
