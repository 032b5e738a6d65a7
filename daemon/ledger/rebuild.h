/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/damage.h"
#include "ledger/ledger.h"

struct sqlite3;

/*
 * Makes a ledger of what can still be read and what the witness (or NULL) can prove, puts it in the
 * damaged one's place, and notes what happened. 0; FAULT; -errno. Nothing is changed unless all went
 * well.
 */
int rebuild_ledger(int folder_fd, const char *path, const struct damage *damage,
		   const struct ledger_witness *witness, struct fault *ret_fault);

/* Whether the witness can prove anything at all. */
int rebuild_any(const struct ledger_witness *witness, bool *ret_any);

/*
 * Adds to an open ledger, in a transaction, Trials beyond `last` that the witness can prove: it was
 * put back to an older state. *ret_added is how many; when there are any, that is noted. *ret_last is
 * the last id that the witness has anything of, and at least `last`.
 */
int rebuild_newer(int folder_fd, struct sqlite3 *database, uint64_t last,
		  const struct ledger_witness *witness, uint64_t *ret_added, uint64_t *ret_last);
