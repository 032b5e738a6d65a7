/* SPDX-License-Identifier: MIT */
/*
 * Which Trials have something in their facts: all that there are, those that ran after another one, and
 * those that were launched after it and name it.
 *
 * Which Trials ran after another one had ended. Times cannot tell, since a clock can be set back; the
 * numbers of changes can. There is no index by Trial (schema.c says why), so they are walked from the
 * newest down to the end that is looked for, which is what there has been since. One that ran before
 * that end and runs still has no change since, and is unended. Whoever asks looks at the facts of each,
 * before anything else of it is read: so what is not wanted never hides what is.
 */
#include "since_end.h"

#include "statement.h"

/* A ledger that was rebuilt may have lost the change; then its time is all there is. */
static const char by_number[] =
	"SELECT " ROW_COLUMNS " FROM trials t WHERE (t.id IN ("
	"SELECT trial FROM events WHERE number > ?3 AND state IN ('running', 'ended')) "
	"OR t.state IN ('running', 'ending')) "
	"AND t.id <> ?1 AND t.started_at IS NOT NULL AND wanted(t.facts) ORDER BY t.id DESC LIMIT ?2";
static const char by_time[] = "SELECT " ROW_COLUMNS
			      " FROM trials t WHERE t.id <> ?1 AND t.started_at IS NOT NULL "
			      "AND (t.ended_at IS NULL OR t.ended_at > ?3) AND wanted(t.facts) "
			      "ORDER BY t.id DESC LIMIT ?2";

struct asks {
	ledger_wanted wanted;
	const void *context;
};

static void on_wanted(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct asks *asks = sqlite3_user_data(context);
	struct blob facts = {.data = sqlite3_value_blob(values[0])};

	(void)count;
	facts.size = (size_t)sqlite3_value_bytes(values[0]);
	sqlite3_result_int(context, asks->wanted(&facts, asks->context));
}

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

/* Takes the statement. */
static int rows_of(sqlite3_stmt *statement, struct ledger_row ***ret_rows, size_t *ret_count)
{
	struct ledger_row **rows = calloc(LIST_PAGE_MAX, sizeof(struct ledger_row *));
	int r = -ENOMEM;

	if (rows) {
		*ret_rows = rows;
		*ret_count = 0;
		r = read_rows(statement, rows, ret_count);
	}
	sqlite3_finalize(statement);
	return r;
}

static int list(sqlite3 *database, const char *text, uint64_t id, uint64_t since,
		struct ledger_row ***ret_rows, size_t *ret_count)
{
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database, text, &statement);

	if (r < 0)
		return r;
	statement_bind_number(statement, 1, id);
	statement_bind_number(statement, 2, LIST_PAGE_MAX);
	statement_bind_number(statement, 3, since);
	return rows_of(statement, ret_rows, ret_count);
}

int since_end(sqlite3 *database, uint64_t id, ledger_wanted wanted, const void *context,
	      struct ledger_row ***ret_rows, size_t *ret_count)
{
	struct asks asks = {.wanted = wanted, .context = context};
	uint64_t number, time = 0;
	int r;

	*ret_rows = NULL;
	*ret_count = 0;
	r = ask(database,
		"SELECT number FROM events WHERE trial = ?1 AND state = 'ended' "
		"ORDER BY number DESC LIMIT 1",
		id, &number);
	if (r == 0 && number == 0)
		r = ask(database, "SELECT ended_at FROM trials WHERE id = ?1", id, &time);
	if (r < 0)
		return r;
	if (sqlite3_create_function(database, "wanted", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, &asks,
				    on_wanted, NULL, NULL) != SQLITE_OK)
		return -ENOMEM;
	r = list(database, number ? by_number : by_time, id, number ? number : time, ret_rows,
		 ret_count);
	sqlite3_create_function(database, "wanted", 1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	return r;
}

int since_naming(sqlite3 *database, uint64_t id, struct blob named, struct ledger_row ***ret_rows,
		 size_t *ret_count)
{
	sqlite3_stmt *statement = NULL;
	int r = statement_prepare(database,
				  "SELECT " ROW_COLUMNS " FROM trials t WHERE t.id > ?1 "
				  "AND instr(t.spec, ?3) > 0 ORDER BY t.id DESC LIMIT ?2",
				  &statement);

	if (r < 0)
		return r;
	statement_bind_number(statement, 1, id);
	statement_bind_number(statement, 2, LIST_PAGE_MAX);
	statement_bind_blob(statement, 3, named);
	return rows_of(statement, ret_rows, ret_count);
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
