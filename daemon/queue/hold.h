/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * A pause as the ledger keeps it, in one text: the reason first, as it was given, then what kind of
 * hold, when it was asked for and by whom. A text that is not of this form is a reason alone, as
 * earlier ledgers have it.
 */

#define HOLD_SETTING "paused" /* in the ledger; absent when the queue is not paused */

/* The caller's to free; NULL: no memory. */
char *hold_to_text(const struct queue_hold *hold);
/* Points into text, which is cut into pieces. */
void hold_from_text(char *text, struct queue_hold *ret_hold);
