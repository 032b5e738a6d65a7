/* SPDX-License-Identifier: MIT */
/*
 * Reading the log of state changes. It has no index but its number (schema.c says why), so that a
 * page for one Trial walks the changes of all: a page ends after so many looked at, found or not,
 * and the writer thread is soon free for others.
 */
#include "events.h"

#include "statement.h"

#define LOOKED_AT_MAX 4096
#define FOUND_MAX 64
#define PAGE_BYTES_MAX (128u * 1024u) /* of the rows; one larger row is a page of its own */

void events_free(struct ledger_event *events, size_t count)
{
	for (size_t i = 0; events && i < count; i++)
		ledger_row_free(events[i].row);
	free(events);
}

/* -ENOENT: pruned. */
static int read_trial(sqlite3_stmt *statement, uint64_t id, struct ledger_row **ret_row)
{
	int r;

	statement_bind_number(statement, 1, id);
	r = statement_step(statement);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = statement_row(statement, ret_row);
	sqlite3_reset(statement);
	return r;
}

static int read_event(sqlite3_stmt *changes, sqlite3_stmt *trials, struct ledger_event *ret_event)
{
	int state = -1, before = -1;
	int r;

	r = statement_word(changes, 3, state_from_name, &state);
	if (r == 0)
		r = statement_word(changes, 4, state_from_name, &before);
	if (r < 0 || state < 0)
		return -EBADMSG;
	*ret_event = (struct ledger_event){
		.number = (uint64_t)sqlite3_column_int64(changes, 0),
		.at = (uint64_t)sqlite3_column_int64(changes, 1),
		.state = (enum state)state,
		.before = before,
	};
	return read_trial(trials, (uint64_t)sqlite3_column_int64(changes, 2), &ret_event->row);
}

static size_t row_bytes(const struct ledger_row *row)
{
	return row->spec.size + row->facts.size + row->record.size;
}

/* Fills events from the two statements; what is read stays the caller's whatever is returned. */
static int read_page(sqlite3_stmt *changes, sqlite3_stmt *trials, uint64_t trial,
		     struct ledger_event *events, size_t *ret_count, uint64_t *ret_cursor)
{
	size_t bytes = 0;
	int r = 0;

	while (*ret_count < FOUND_MAX && bytes < PAGE_BYTES_MAX &&
	       (r = statement_step(changes)) > 0) {
		*ret_cursor = (uint64_t)sqlite3_column_int64(changes, 0);
		if (trial && (uint64_t)sqlite3_column_int64(changes, 2) != trial)
			continue;
		r = read_event(changes, trials, &events[*ret_count]);
		if (r == -ENOENT || r == -EBADMSG)
			continue;
		if (r < 0)
			return r;
		bytes += row_bytes(events[(*ret_count)++].row);
	}
	return r < 0 ? r : 0;
}

int events_page(struct sqlite3 *database, uint64_t after, uint64_t trial,
		struct ledger_event **ret_events, size_t *ret_count, uint64_t *ret_cursor)
{
	struct ledger_event *events = calloc(FOUND_MAX, sizeof(*events));
	sqlite3_stmt *changes = NULL, *trials = NULL;
	size_t count = 0;
	int r;

	if (!events)
		return -ENOMEM;
	*ret_cursor = after;
	r = statement_prepare(database,
			      "SELECT number, at, trial, state, before FROM events "
			      "WHERE number > ?1 ORDER BY number LIMIT ?2",
			      &changes);
	if (r == 0)
		r = statement_prepare(database,
				      "SELECT " ROW_COLUMNS " FROM trials t WHERE t.id = ?1",
				      &trials);
	if (r == 0) {
		statement_bind_number(changes, 1, after);
		statement_bind_number(changes, 2, LOOKED_AT_MAX);
		r = read_page(changes, trials, trial, events, &count, ret_cursor);
	}
	sqlite3_finalize(changes);
	sqlite3_finalize(trials);
	if (r < 0) {
		events_free(events, count);
		return r;
	}
	*ret_events = events;
	*ret_count = count;
	return 0;
}

int events_newest(struct sqlite3 *database, uint64_t *ret_number)
{
	return statement_number(database,
				"SELECT coalesce((SELECT seq FROM sqlite_sequence "
				"WHERE name = 'events'), 0)",
				ret_number);
}

int events_last_of(struct sqlite3 *database, uint64_t trial, uint64_t *ret_number, uint64_t *ret_at)
{
	sqlite3_stmt *statement = NULL;
	int r;

	r = statement_prepare(database,
			      "SELECT number, at FROM events WHERE trial = ?1 "
			      "ORDER BY number DESC LIMIT 1",
			      &statement);
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, trial);
	r = statement_step(statement);
	if (r > 0) {
		*ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
		*ret_at = (uint64_t)sqlite3_column_int64(statement, 1);
	}
	sqlite3_finalize(statement);
	return r < 0 ? r : r > 0 ? 0 : -ENOENT;
}
