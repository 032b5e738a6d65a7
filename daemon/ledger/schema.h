/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

struct sqlite3;

/* Marks the file as a ledger: "tria". */
#define SCHEMA_APPLICATION_ID "1953655137"

/*
 * Makes an open database a ledger of this version: refuses one that is damaged, of a newer schema
 * or of another program (untouched in each case), sets the journal mode and durability, then
 * brings an older schema up to date, each step in a transaction of its own. path is for messages.
 */
int schema_prepare(struct sqlite3 *database, const char *path, struct fault *ret_fault);

/* -errno for an SQLite result code of a failed operation on database. */
int schema_errno(struct sqlite3 *database, int code);
/* FAULT, filled for such an -errno met while opening the file; -ENOMEM as it is. */
int schema_fault(struct fault *fault, int error, const char *path);
