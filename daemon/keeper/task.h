/* SPDX-License-Identifier: MIT */
#pragma once

#include "login.h"

/*
 * `trial-keeper --task carry`: what a keeper does with a login, where there is none: before a launch
 * (prepare), after a keeper's death (finish), for a person (check, restore). A short-lived child of
 * trialsd, which parses nothing that a Trial wrote; this does, and can do nothing else (confine.h).
 *
 * It has these descriptors and no others; those that the order does not need may be /dev/null. It
 * writes one login_result to TASK_FD_RESULT, closes it and exits 0. No result, or another end: it
 * could not do its work, and nothing is known. It may be killed at any time: the host's login is the
 * old one or the new one.
 */
#define TASK_FD_RESULT 3
#define TASK_FD_LOGIN 4 /* LOGIN_FD_ABOUT, and the others after it */

/* The program's end. Its process is as keeper's main.c makes it, but for the descriptors. */
int task_carry(void);
