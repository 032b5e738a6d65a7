/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "ledger/damage.h"

struct sqlite3;

/* Marks the file as a ledger: "tria". */
#define SCHEMA_APPLICATION_ID "1953655137"

/*
 * Makes an open database a ledger of this version: refuses one that is of a newer schema or of
 * another program (untouched in each case), sets the journal mode and durability, then brings an
 * older schema up to date, each step in a transaction of its own. path is for messages.
 * 0; FAULT; -EUCLEAN: it is damaged, and what says how that shows; -errno. *ret_large: it was not
 * read as a whole.
 */
int schema_prepare(struct sqlite3 *database, const char *path, bool *ret_large,
		   char what[DAMAGE_BYTES], struct fault *ret_fault);
/* Makes an empty database a ledger of this version, of no journal mode in particular. */
int schema_create(struct sqlite3 *database);
/* Reads all of it: 0; -EUCLEAN, and what says how the damage shows; -errno. */
int schema_integrity(struct sqlite3 *database, char what[DAMAGE_BYTES]);

/* -errno for an SQLite result code of a failed operation on database. */
int schema_errno(struct sqlite3 *database, int code);
/* The version that this trialsd makes, and the newest that it takes. */
int schema_version(void);
