/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger.h"

struct sqlite3;

/* Trials that go, as statements; as in store.h. The arrays returned are the caller's to free. */

/* Deletes those of ids that have ended, and notes that their folders are to go: ret_gone. */
int prune_trials(struct sqlite3 *database, const uint64_t *ids, size_t count,
		 struct ledger_ended **ret_gone, size_t *ret_count);
/* Those whose folders are still to go, at most most. */
int prune_pending(struct sqlite3 *database, size_t most, struct ledger_ended **ret_gone,
		  size_t *ret_count);
/* Their folders are gone. */
int prune_done(struct sqlite3 *database, const uint64_t *ids, size_t count);
/*
 * Deletes the changes of Trials that are no more, looking at some after number `after`; ret_number
 * is the last one looked at, 0 when that was all.
 */
int prune_events(struct sqlite3 *database, uint64_t after, uint64_t *ret_number);
