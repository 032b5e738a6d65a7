/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger.h"

struct sqlite3;

/* State changes as the ledger keeps them; as in store.h. */

/*
 * A page of them: those after `after`, oldest first, of one Trial when trial is not 0. A page is
 * bounded in changes looked at and in bytes; *ret_cursor is the last one looked at, and `after`
 * itself when there is none. A change of a Trial that was pruned is left out, as is one that makes no sense.
 */
int events_page(struct sqlite3 *database, uint64_t after, uint64_t trial,
		struct ledger_event **ret_events, size_t *ret_count, uint64_t *ret_cursor);

/* The number given last, also if that change is gone; 0 when there was none. */
int events_newest(struct sqlite3 *database, uint64_t *ret_number);

/* Number and time of this Trial's last change; -ENOENT when none of it is there any more. */
int events_last_of(struct sqlite3 *database, uint64_t trial, uint64_t *ret_number,
		   uint64_t *ret_at);

void events_free(struct ledger_event *events, size_t count);
