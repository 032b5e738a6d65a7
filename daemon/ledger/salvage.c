/* SPDX-License-Identifier: MIT */
/*
 * SQLite stops at a page that makes no sense, and says nothing of the rows behind it. But it finds a
 * row by its key along its own path through the tree, so a row is lost only if a page of that path
 * is. Hence a table is read from both ends to the first damage, and between the two each key is asked
 * for by itself: ids and numbers are given one after the other, so there are few that lead nowhere.
 *
 * A damaged tree may show a row twice, or out of order. Reading from an end stops at what does not go
 * on in order, so that each row is told once.
 */
#include "salvage.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Keys asked for one by one; some ten seconds. What is further from both ends is given up. */
#define KEYS_MAX 4000000ll
#define BUSY_MILLISECONDS 5000

int salvage_open(struct sqlite3 **ret_database, const char *path)
{
	sqlite3 *database = NULL;
	int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE,
				   NULL);

	if (code != SQLITE_OK) {
		sqlite3_close(database);
		return (code & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EUCLEAN;
	}
	sqlite3_busy_timeout(database, BUSY_MILLISECONDS);
	/* The log stays as it is: what is set aside is what was found. */
	sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	*ret_database = database;
	return 0;
}

void salvage_close(struct sqlite3 *database)
{
	sqlite3_close(database);
}

/* 0 with the statement; -ENOMEM; else damage, -EUCLEAN. */
static int prepare(sqlite3 *database, const char *text, sqlite3_stmt **ret_statement)
{
	int code = sqlite3_prepare_v2(database, text, -1, ret_statement, NULL);

	if (code == SQLITE_OK)
		return 0;
	return (code & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EUCLEAN;
}

/* 1 a row, 0 the end, -EUCLEAN damage. */
static int step(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	sqlite3_reset(statement);
	return (code & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EUCLEAN;
}

/* Beyond first and before last nothing has been told yet. */
struct gap {
	sqlite3_int64 first;
	sqlite3_int64 last;
};

/* From one end: told rows narrow the gap. 0: all was read; -EUCLEAN: damage; else as each says. */
static int read_end(sqlite3 *database, const struct salvage_table *table, bool down,
		    struct gap *gap, salvage_row each, void *context)
{
	sqlite3_stmt *statement = NULL;
	char text[512];
	int r, told = 0;

	snprintf(text, sizeof(text),
		 "SELECT %s FROM %s %s WHERE %s > ?1 AND %s < ?2 ORDER BY %s %s", table->columns,
		 table->name, table->alias, table->key, table->key, table->key,
		 down ? "DESC" : "ASC");
	r = prepare(database, text, &statement);
	if (r < 0)
		return r;
	sqlite3_bind_int64(statement, 1, gap->first);
	sqlite3_bind_int64(statement, 2, gap->last);
	while ((r = step(statement)) > 0) {
		sqlite3_int64 key = sqlite3_column_int64(statement, 0);

		if (key <= gap->first || key >= gap->last) {
			r = -EUCLEAN;
			break;
		}
		told = each(statement, context);
		if (told != 0)
			break;
		*(down ? &gap->last : &gap->first) = key;
	}
	sqlite3_finalize(statement);
	return told != 0 ? told : r;
}

/* Each key in the gap by itself. */
static int read_keys(sqlite3 *database, const struct salvage_table *table, const struct gap *gap,
		     salvage_row each, void *context)
{
	sqlite3_stmt *statement = NULL;
	char text[512];
	int r;

	snprintf(text, sizeof(text), "SELECT %s FROM %s %s WHERE %s = ?1", table->columns,
		 table->name, table->alias, table->key);
	r = prepare(database, text, &statement);
	if (r < 0)
		return r;
	for (sqlite3_int64 key = gap->first + 1; key < gap->last; key++) {
		if (key - gap->first > KEYS_MAX / 2 && gap->last - key > KEYS_MAX / 2)
			key = gap->last - KEYS_MAX / 2;
		sqlite3_bind_int64(statement, 1, key);
		r = step(statement);
		if (r > 0)
			r = sqlite3_column_int64(statement, 0) == key ? each(statement, context)
								      : 0;
		sqlite3_reset(statement);
		if (r != 0 && r != -EUCLEAN)
			break;
		r = 0;
	}
	sqlite3_finalize(statement);
	return r;
}

int salvage_rows(struct sqlite3 *database, const struct salvage_table *table, salvage_row each,
		 void *context, bool *ret_whole)
{
	struct gap gap = {.first = 0, .last = LLONG_MAX};
	uint64_t sequence;
	int r;

	*ret_whole = false;
	r = read_end(database, table, false, &gap, each, context);
	if (r == 0)
		*ret_whole = true;
	if (r != -EUCLEAN)
		return r;
	r = read_end(database, table, true, &gap, each, context);
	if (r == 0)
		return 0;
	if (r != -EUCLEAN)
		return r;
	if (gap.last == LLONG_MAX) {
		/* Damaged at both ends. */
		sequence = salvage_sequence(database, table->name);
		gap.last = sequence && sequence < LLONG_MAX ? (sqlite3_int64)sequence + 1
							    : gap.first + KEYS_MAX / 2;
	}
	r = read_keys(database, table, &gap, each, context);
	return r == -EUCLEAN ? 0 : r;
}

int salvage_query(struct sqlite3 *database, const char *question, salvage_row each, void *context,
		  bool *ret_whole)
{
	sqlite3_stmt *statement = NULL;
	int r;

	*ret_whole = false;
	r = prepare(database, question, &statement);
	while (r == 0 && (r = step(statement)) > 0)
		r = each(statement, context);
	*ret_whole = r == 0;
	sqlite3_finalize(statement);
	return r == -EUCLEAN ? 0 : r;
}

static int take_number(struct sqlite3_stmt *row, void *context)
{
	*(uint64_t *)context = (uint64_t)sqlite3_column_int64(row, 0);
	return 0;
}

uint64_t salvage_sequence(struct sqlite3 *database, const char *table)
{
	uint64_t number = 0;
	char text[128];
	bool whole;

	snprintf(text, sizeof(text), "SELECT seq FROM sqlite_sequence WHERE name = '%s'", table);
	if (salvage_query(database, text, take_number, &number, &whole) < 0 || !whole ||
	    number > INT64_MAX)
		return 0;
	return number;
}
