/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

/*
 * Reading what can still be read of a damaged ledger, which is not changed by it.
 */

/* -EUCLEAN when not even that can be had. *ret_database is closed with salvage_close. */
int salvage_open(struct sqlite3 **ret_database, const char *path);
void salvage_close(struct sqlite3 *database);

/* A table and its integer key. */
struct salvage_table {
	const char *name;
	const char *alias; /* in columns */
	const char *key;
	const char *columns; /* the key stands first */
};

/* Told of each row; not 0 ends it, and is returned. */
typedef int (*salvage_row)(struct sqlite3_stmt *row, void *context);

/*
 * Each row that can be read, each once, in no order. *ret_whole: there was no damage on the way, so
 * these are all.
 */
int salvage_rows(struct sqlite3 *database, const struct salvage_table *table, salvage_row each,
		 void *context, bool *ret_whole);

/* Rows in the order that the question gives them, up to the first that cannot be read. */
int salvage_query(struct sqlite3 *database, const char *question, salvage_row each, void *context,
		  bool *ret_whole);

/* The last number that the table has given; 0 when that cannot be read. */
uint64_t salvage_sequence(struct sqlite3 *database, const char *table);
