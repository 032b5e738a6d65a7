/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

#include "ledger.h"

/* Binding, stepping and reading, shared by the files of the ledger that have statements. */

#define ROW_COLUMNS                                                                                \
	"t.id, t.uuid, t.state, t.outcome, t.priority, t.submitted_at, t.started_at, t.ended_at, " \
	"t.backend, t.key, t.unit, t.boot_id, t.canceled_by, t.plan_digest, t.spec, t.facts, t.record"

int statement_prepare(sqlite3 *database, const char *text, sqlite3_stmt **ret_statement);
/* Steps to a row (1), the end (0) or -errno. A statement that is at its end has been reset. */
int statement_step(sqlite3_stmt *statement);
/* Steps a statement that gives no row: 0 or -errno. */
int statement_run(sqlite3_stmt *statement);
/* The number in the only row of a question. */
int statement_number(sqlite3 *database, const char *text, uint64_t *ret_number);

/*
 * Nothing is copied: what is bound stays until the last step. Thus binding needs no memory and
 * cannot fail. Numbers above INT64_MAX are bound as that; NULL and 0 for a time as NULL.
 */
void statement_bind_text(sqlite3_stmt *statement, int at, const char *text);
void statement_bind_blob(sqlite3_stmt *statement, int at, struct blob blob);
void statement_bind_number(sqlite3_stmt *statement, int at, uint64_t number);
void statement_bind_time(sqlite3_stmt *statement, int at, uint64_t time);

/* The value of a word, -1 for NULL. A word that is unknown here makes no sense: -EBADMSG. */
int statement_word(sqlite3_stmt *statement, int at, int (*from_name)(const char *name),
		   int *ret_value);
/* Of a statement on `trials t` that begins with ROW_COLUMNS. */
int statement_row(sqlite3_stmt *statement, struct ledger_row **ret_row);
