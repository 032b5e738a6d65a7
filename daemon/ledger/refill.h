/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

struct sqlite3;
struct sqlite3_stmt;

/*
 * Rows for a ledger that is made anew, or that lacks some: of a damaged file, and of the witness. In
 * a transaction of the caller's; what it counts is for the note.
 */
struct refill {
	struct sqlite3 *to;
	const struct ledger_witness *witness; /* or NULL */
	bool outdated;			      /* as in struct damage */
	uint64_t after; /* of the witness's Trials only those beyond this id */
	struct sqlite3_stmt *insert;
	struct sqlite3_stmt *insert_label;
	struct sqlite3_stmt *insert_event;
	struct sqlite3_stmt *insert_setting;
	struct sqlite3_stmt *known;
	uint64_t last_id; /* that was met */
	bool settings_whole;
	uint64_t salvaged;
	uint64_t senseless; /* rows that could be read, and make no sense */
	uint64_t ended;	    /* proved by the witness, as are the next two */
	uint64_t running;
	uint64_t lost;
	uint64_t unproved; /* of which it has something that proves nothing */
};

/* `to` and what it is to do are set; refill_done also after an error. */
int refill_init(struct refill *refill);
void refill_done(struct refill *refill);

/* All that can be read of the damaged file. */
int refill_salvage(struct refill *refill, struct sqlite3 *from);
/* All that the witness can prove and that there is no row of; all: as for its `each`. */
int refill_witness(struct refill *refill, bool all);
int refill_setting(struct refill *refill, const struct pair *setting);

int refill_run(struct sqlite3 *database, const char *text);
