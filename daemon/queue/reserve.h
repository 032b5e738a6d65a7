/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * STATE/reserve: room that is kept for the one thing that makes room. A prune writes to the ledger
 * before it removes anything, and on a full disk it could not. fd is that of STATE/trials.
 */

/* Sees to it that it is there and whole, if there is room for it. */
void reserve_keep(int trials_fd);
/* Gives its room back; false: there was none. */
bool reserve_release(int trials_fd);
