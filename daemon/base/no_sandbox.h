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
/* In that home: what a sandbox has below /run/trials, and what it has in the folder of a runner. */
#define NO_SANDBOX_OWN ".trials"
#define NO_SANDBOX_RUNNER NO_SANDBOX_OWN "/runner"

/*
 * What the keeper puts into that home (keeper_plan.sandbox): words, one order behind the other. FOLDER
 * is "" for the home, or a Harness's name for the folder with the copy of its login; PATH is below it, and
 * its folders are made. N is the number of a bind descriptor, from 0.
 *   login HARNESS FOLDER PATH   a link to the folder with the copy of its login, or to the Trials home
 *   lock N FOLDER PATH          a link to that very file
 *   link TEXT FOLDER PATH       a link
 *   copy N FOLDER PATH          a copy of a file, or of a folder with all that is in it
 *   file N MODE FOLDER PATH     a file with the contents of N, and this mode (octal)
 */
#define NO_SANDBOX_ORDERS(X) X(login, 3) X(lock, 3) X(link, 3) X(copy, 3) X(file, 4)

static inline bool no_sandbox_wanted(void)
{
	const char *value = getenv(NO_SANDBOX_VARIABLE);

	return value && strcmp(value, "1") == 0;
}
