/* SPDX-License-Identifier: MIT */
/*
 * A list walks one index, from the newest id down, and looks the other conditions up in each row
 * it meets: a state other than `ended` (few rows), else the first label, else the outcome, else
 * the state, else all by id. `since` becomes a bound on ids first when few rows are that young; a
 * clock that was set back makes ids and times disagree, so the bound is the smallest id of them.
 */
#include "list.h"

#include <stdio.h>

#include "statement.h"

/* How many young rows are looked at for a bound; a list with more finds its page soon enough. */
#define YOUNG_ROWS_MAX 10000

/* The smallest id that `since` leaves, 0 for no bound. */
static int bound_since(sqlite3 *database, uint64_t since, uint64_t *ret_first)
{
	sqlite3_stmt *statement = NULL;
	int r;

	*ret_first = 0;
	if (since == 0)
		return 0;
	r = statement_prepare(database,
			      "SELECT count(*), min(id) FROM "
			      "(SELECT id FROM trials WHERE submitted_at >= ?1 LIMIT ?2)",
			      &statement);
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, since);
	statement_bind_number(statement, 2, YOUNG_ROWS_MAX + 1);
	r = statement_step(statement);
	if (r > 0 && sqlite3_column_int64(statement, 0) == 0)
		*ret_first = INT64_MAX;
	else if (r > 0 && sqlite3_column_int64(statement, 0) <= YOUNG_ROWS_MAX)
		*ret_first = (uint64_t)sqlite3_column_int64(statement, 1);
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

/*
 * The text of a list. A `+` keeps SQLite from using the index of that column, so that the one
 * chosen here (at the head of this file) is the one that is walked.
 */
static int list_text(const struct ledger_filter *filter, const char *columns, char **ret_text)
{
	bool few = filter->state >= 0 && filter->state != STATE_ended;
	bool by_label = !few && filter->labels.count > 0;
	bool by_outcome = !few && !by_label && filter->outcome >= 0;
	bool by_state = filter->state >= 0 && !by_label && !by_outcome;
	const char *id = by_label ? "l.trial" : "t.id";
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	file = open_memstream(&text, &size);
	if (!file)
		return -ENOMEM;
	fprintf(file, "SELECT %s FROM ", columns);
	if (by_label)
		fprintf(file, "labels l CROSS JOIN trials t ON t.id = l.trial "
			      "WHERE l.name = ?6 AND l.value = ?7 AND ");
	else
		fprintf(file, "trials t WHERE ");
	fprintf(file, "%s < ?1 AND %s >= ?2 AND +t.submitted_at >= ?3", id, id);
	if (filter->state >= 0)
		fprintf(file, " AND %st.state = ?4", by_state ? "" : "+");
	if (filter->outcome >= 0)
		fprintf(file, " AND %st.outcome = ?5", by_outcome ? "" : "+");
	for (size_t i = by_label ? 1 : 0; i < filter->labels.count; i++)
		fprintf(file,
			" AND EXISTS (SELECT 1 FROM labels WHERE name = ?%zu AND value = ?%zu "
			"AND trial = %s)",
			6 + 2 * i, 7 + 2 * i, id);
	fprintf(file, " ORDER BY %s DESC", id);
	if (fclose(file) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

static int list_prepare(sqlite3 *database, const struct ledger_filter *filter, const char *columns,
			sqlite3_stmt **ret_statement)
{
	_cleanup_free_ char *text = NULL;
	sqlite3_stmt *statement = NULL;
	uint64_t first;
	int r;

	r = bound_since(database, filter->since, &first);
	if (r < 0)
		return r;
	r = list_text(filter, columns, &text);
	if (r < 0)
		return r;
	r = statement_prepare(database, text, &statement);
	if (r < 0)
		return r;
	statement_bind_number(statement, 1, filter->before ? filter->before : INT64_MAX);
	statement_bind_number(statement, 2, first);
	statement_bind_number(statement, 3, filter->since);
	if (filter->state >= 0)
		statement_bind_text(statement, 4, state_name(filter->state));
	if (filter->outcome >= 0)
		statement_bind_text(statement, 5, outcome_name(filter->outcome));
	for (size_t i = 0; i < filter->labels.count; i++) {
		statement_bind_text(statement, (int)(6 + 2 * i), filter->labels.items[i].name);
		statement_bind_text(statement, (int)(7 + 2 * i), filter->labels.items[i].value);
	}
	*ret_statement = statement;
	return 0;
}

int list_page(sqlite3 *database, const struct ledger_filter *filter, struct ledger_row ***ret_rows,
	      size_t *ret_count, uint64_t *ret_cursor)
{
	size_t limit = filter->limit < LIST_PAGE_MAX ? filter->limit : LIST_PAGE_MAX;
	struct ledger_row **rows;
	sqlite3_stmt *statement = NULL;
	size_t count = 0;
	uint64_t cursor = 0;
	int r;

	rows = calloc(limit ? limit : 1, sizeof(struct ledger_row *));
	if (!rows)
		return -ENOMEM;
	r = list_prepare(database, filter, ROW_COLUMNS, &statement);
	if (r < 0) {
		free(rows);
		return r;
	}
	/* One more than wanted is met, but not read: then there is a next page. */
	while ((r = statement_step(statement)) > 0) {
		if (count == limit) {
			cursor = count ? rows[count - 1]->id : filter->before;
			r = 0;
			break;
		}
		r = statement_row(statement, &rows[count]);
		if (r == -EBADMSG)
			continue; /* it makes no sense, and must not hide the others */
		if (r < 0)
			break;
		count++;
	}
	sqlite3_finalize(statement);
	*ret_rows = rows;
	*ret_count = count;
	*ret_cursor = cursor;
	return r;
}

int list_ended(sqlite3 *database, const struct ledger_filter *filter,
	       struct ledger_ended **ret_ended, size_t *ret_count, uint64_t *ret_cursor)
{
	struct ledger_ended *ended = calloc(filter->limit + 1, sizeof(*ended));
	sqlite3_stmt *statement = NULL;
	size_t count = 0;
	int r;

	if (!ended)
		return -ENOMEM;
	*ret_cursor = 0;
	r = list_prepare(database, filter, "t.id, t.ended_at", &statement);
	while (r >= 0 && (r = statement_step(statement)) > 0) {
		if (count == filter->limit) {
			*ret_cursor = ended[count - 1].id;
			r = 0;
			break;
		}
		ended[count++] = (struct ledger_ended){
			.id = (uint64_t)sqlite3_column_int64(statement, 0),
			.ended_at = (uint64_t)sqlite3_column_int64(statement, 1),
		};
	}
	sqlite3_finalize(statement);
	if (r < 0) {
		free(ended);
		return r;
	}
	*ret_ended = ended;
	*ret_count = count;
	return 0;
}

int list_each_unended(sqlite3 *database, int (*each)(const struct ledger_row *row, void *context),
		      void *context)
{
	/* The ids come from the index (SQLite sorts them), the rows one by one after them. */
	static const char text[] = "SELECT " ROW_COLUMNS " FROM trials t WHERE t.id IN ("
				   "SELECT id FROM trials WHERE state < ?1 UNION ALL "
				   "SELECT id FROM trials WHERE state > ?1) ORDER BY t.id";
	sqlite3_stmt *statement = NULL;
	int r;

	r = statement_prepare(database, text, &statement);
	if (r < 0)
		return r;
	statement_bind_text(statement, 1, state_name(STATE_ended));
	while ((r = statement_step(statement)) > 0) {
		struct ledger_row *row = NULL;

		r = statement_row(statement, &row);
		if (r == 0)
			r = each(row, context);
		ledger_row_free(row);
		if (r != 0)
			break;
	}
	sqlite3_finalize(statement);
	return r;
}
