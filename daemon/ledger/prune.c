/* SPDX-License-Identifier: MIT */
/*
 * Rows of Trials that are pruned, and what is left to do for each. A folder cannot be removed in
 * the same transaction as its row: so the row goes first, leaving the id in `prunes`, which is
 * durable before anything is removed and stays until all is. Whatever crashes in between, the next
 * start finds the id there and removes the rest. Ids are never given again, so that the folder
 * cannot have become another Trial's.
 */
#include "prune.h"

#include "statement.h"

/* Changes looked at in one call: some ten milliseconds. */
#define EVENTS_LOOKED_AT 20000

/* Runs a statement of one number for each id; ret_changed (optional) says which changed a row. */
static int run_each(sqlite3 *database, const char *text, const uint64_t *ids, size_t count,
		    bool *ret_changed)
{
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database, text, &statement);

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!ids[i])
			continue;
		statement_bind_number(statement, 1, ids[i]);
		r = statement_run(statement);
		if (ret_changed)
			ret_changed[i] = sqlite3_changes(database) > 0;
	}
	sqlite3_finalize(statement);
	return r;
}

int prune_trials(struct sqlite3 *database, const uint64_t *ids, size_t count,
		 struct ledger_ended **ret_gone, size_t *ret_count)
{
	_cleanup_free_ bool *changed = calloc(count + 1, sizeof(*changed));
	_cleanup_free_ uint64_t *noted = calloc(count + 1, sizeof(*noted));
	struct ledger_ended *gone = calloc(count + 1, sizeof(*gone));
	size_t gone_count = 0;
	int r = -ENOMEM;

	if (changed && noted && gone)
		r = run_each(database, "DELETE FROM trials WHERE id = ?1 AND state = 'ended'", ids,
			     count, changed);
	for (size_t i = 0; i < count && r == 0; i++)
		if (changed[i])
			gone[gone_count++].id = noted[i] = ids[i];
	if (r == 0)
		r = run_each(database, "INSERT OR IGNORE INTO prunes (trial) VALUES (?1)", noted,
			     count, NULL);
	if (r < 0) {
		free(gone);
		return r;
	}
	*ret_gone = gone;
	*ret_count = gone_count;
	return 0;
}

int prune_pending(struct sqlite3 *database, size_t most, struct ledger_ended **ret_gone,
		  size_t *ret_count)
{
	struct ledger_ended *gone = calloc(most + 1, sizeof(*gone));
	sqlite3_stmt *statement = NULL;
	size_t count = 0;
	int r = -ENOMEM;

	if (gone)
		r = statement_prepare(database, "SELECT trial FROM prunes ORDER BY trial LIMIT ?1",
				      &statement);
	if (r == 0) {
		statement_bind_number(statement, 1, most);
		while ((r = statement_step(statement)) > 0)
			gone[count++].id = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	if (r < 0) {
		free(gone);
		return r;
	}
	*ret_gone = gone;
	*ret_count = count;
	return 0;
}

int prune_done(struct sqlite3 *database, const uint64_t *ids, size_t count)
{
	return run_each(database, "DELETE FROM prunes WHERE trial = ?1", ids, count, NULL);
}

/* Where a look at EVENTS_LOOKED_AT changes ends; 0 when there is none. */
static int last_looked_at(sqlite3 *database, uint64_t after, uint64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int r;

	*ret_number = 0;
	r = statement_prepare(database,
			      "SELECT max(number) FROM (SELECT number FROM events "
			      "WHERE number > ?1 ORDER BY number LIMIT ?2)",
			      &statement);
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, after);
	statement_bind_number(statement, 2, EVENTS_LOOKED_AT);
	r = statement_step(statement);
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

int prune_events(struct sqlite3 *database, uint64_t after, uint64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int r;

	r = last_looked_at(database, after, ret_number);
	if (r < 0 || *ret_number == 0)
		return r;
	r = statement_prepare(database,
			      "DELETE FROM events WHERE number > ?1 AND number <= ?2 "
			      "AND NOT EXISTS (SELECT 1 FROM trials WHERE id = events.trial)",
			      &statement);
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, after);
	statement_bind_number(statement, 2, *ret_number);
	r = statement_run(statement);
	sqlite3_finalize(statement);
	return r;
}
