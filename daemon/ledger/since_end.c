/* SPDX-License-Identifier: MIT */
/*
 * Which Trials have something in their facts: all that there are, those that ran after another one, and
 * those that were launched after it and name it.
 *
 * Which Trials ran after another one had ended. Times cannot tell, since a clock can be set back; the
 * numbers of changes can. There is no index by Trial (schema.c says why), so they are walked from the
 * newest down to the end that is looked for, which is what there has been since. Rows are read only of
 * those whose facts hold the bytes that are wanted.
 */
#include "since_end.h"

#include "statement.h"

/* A ledger that was rebuilt may have lost the change; then its time is all there is. */
static const char by_number[] =
	"SELECT " ROW_COLUMNS " FROM trials t WHERE t.id IN ("
	"SELECT trial FROM events WHERE number > ?3 AND trial <> ?1 AND state IN ('running', 'ended')) "
	"AND t.started_at IS NOT NULL AND instr(t.facts, ?2) > 0 ORDER BY t.id DESC LIMIT ?4";
static const char by_time[] =
	"SELECT " ROW_COLUMNS " FROM trials t WHERE t.id <> ?1 AND t.started_at IS NOT NULL "
	"AND (t.ended_at IS NULL OR t.ended_at > ?3) AND instr(t.facts, ?2) > 0 "
	"ORDER BY t.id DESC LIMIT ?4";

static int ask(sqlite3 *database, const char *text, uint64_t id, uint64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database, text, &statement);

	*ret_number = 0;
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, id);
	r = statement_step(statement);
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

static int read_rows(sqlite3_stmt *statement, struct ledger_row **rows, size_t *ret_count)
{
	int r;

	while ((r = statement_step(statement)) > 0) {
		r = statement_row(statement, &rows[*ret_count]);
		if (r == -EBADMSG)
			continue; /* it makes no sense, and must not hide the others */
		if (r < 0)
			return r;
		(*ret_count)++;
	}
	return r;
}

/* Takes the statement. bound: ?3, where the text has one. */
static int rows_of(sqlite3_stmt *statement, uint64_t id, struct blob named, uint64_t bound,
		   struct ledger_row ***ret_rows, size_t *ret_count)
{
	struct ledger_row **rows = calloc(LIST_PAGE_MAX, sizeof(struct ledger_row *));
	size_t count = 0;
	int r = -ENOMEM;

	if (rows) {
		statement_bind_number(statement, 1, id);
		statement_bind_blob(statement, 2, named);
		statement_bind_number(statement, 3, bound);
		statement_bind_number(statement, 4, LIST_PAGE_MAX);
		r = read_rows(statement, rows, &count);
		*ret_rows = rows;
		*ret_count = count;
	}
	sqlite3_finalize(statement);
	return r;
}

int since_naming(sqlite3 *database, uint64_t id, struct blob named, struct ledger_row ***ret_rows,
		 size_t *ret_count)
{
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database,
				  "SELECT " ROW_COLUMNS " FROM trials t WHERE t.id > ?1 "
				  "AND instr(t.spec, ?2) > 0 ORDER BY t.id DESC LIMIT ?4",
				  &statement);

	return r < 0 ? r : rows_of(statement, id, named, 0, ret_rows, ret_count);
}

int since_end(sqlite3 *database, uint64_t id, struct blob named, struct ledger_row ***ret_rows,
	      size_t *ret_count)
{
	sqlite3_stmt *statement = NULL;
	uint64_t number, time = 0;
	int r;

	r = ask(database,
		"SELECT number FROM events WHERE trial = ?1 AND state = 'ended' "
		"ORDER BY number DESC LIMIT 1",
		id, &number);
	if (r == 0 && number == 0)
		r = ask(database, "SELECT ended_at FROM trials WHERE id = ?1", id, &time);
	if (r == 0)
		r = statement_prepare(database, number ? by_number : by_time, &statement);
	return r < 0 ? r
		     : rows_of(statement, id, named, number ? number : time, ret_rows, ret_count);
}

int count_named(sqlite3 *database, uint64_t before, struct blob named, uint64_t *ret_count,
		uint64_t *ret_unended, uint64_t *ret_cursor)
{
	static const char text[] =
		"SELECT sum(named), sum(named AND state <> 'ended'), min(id), count(*) FROM ("
		"SELECT id, state, instr(ifnull(facts, x''), ?2) > 0 AS named FROM trials "
		"WHERE id < ?1 ORDER BY id DESC LIMIT ?3)";
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database, text, &statement);

	if (r < 0)
		return r;
	statement_bind_number(statement, 1, before ? before : INT64_MAX);
	statement_bind_blob(statement, 2, named);
	statement_bind_number(statement, 3, LEDGER_COUNT_PAGE);
	r = statement_step(statement);
	if (r > 0) {
		*ret_count = (uint64_t)sqlite3_column_int64(statement, 0);
		*ret_unended = (uint64_t)sqlite3_column_int64(statement, 1);
		*ret_cursor = sqlite3_column_int64(statement, 3) < LEDGER_COUNT_PAGE
				      ? 0
				      : (uint64_t)sqlite3_column_int64(statement, 2);
	}
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}
