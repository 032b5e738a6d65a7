/* SPDX-License-Identifier: MIT */
#include "statement.h"

#include <stdio.h>
#include <string.h>

#include "schema.h"

int statement_prepare(sqlite3 *database, const char *text, sqlite3_stmt **ret_statement)
{
	int code = sqlite3_prepare_v2(database, text, -1, ret_statement, NULL);

	return code == SQLITE_OK ? 0 : schema_errno(database, code);
}

int statement_step(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);
	int r;

	if (code == SQLITE_ROW)
		return 1;
	r = code == SQLITE_DONE ? 0 : schema_errno(sqlite3_db_handle(statement), code);
	sqlite3_reset(statement);
	return r;
}

int statement_run(sqlite3_stmt *statement)
{
	int r = statement_step(statement);

	return r > 0 ? -EBADMSG : r;
}

int statement_number(sqlite3 *database, const char *text, uint64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int r;

	r = statement_prepare(database, text, &statement);
	if (r < 0)
		return r;
	r = statement_step(statement);
	if (r > 0)
		*ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

void statement_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

void statement_bind_blob(sqlite3_stmt *statement, int at, struct blob blob)
{
	sqlite3_bind_blob64(statement, at, blob.data, blob.size, SQLITE_STATIC);
}

void statement_bind_number(sqlite3_stmt *statement, int at, uint64_t number)
{
	sqlite3_bind_int64(statement, at, number > INT64_MAX ? INT64_MAX : (sqlite3_int64)number);
}

void statement_bind_time(sqlite3_stmt *statement, int at, uint64_t time)
{
	if (time)
		statement_bind_number(statement, at, time);
	else
		sqlite3_bind_null(statement, at);
}

static int column_text(sqlite3_stmt *statement, int at, char **ret_text)
{
	const char *text = (const char *)sqlite3_column_text(statement, at);

	*ret_text = NULL;
	if (sqlite3_column_type(statement, at) == SQLITE_NULL)
		return 0;
	*ret_text = text ? strdup(text) : NULL;
	return *ret_text ? 0 : -ENOMEM;
}

static int column_blob(sqlite3_stmt *statement, int at, struct blob *ret_blob)
{
	const void *data = sqlite3_column_blob(statement, at);
	size_t size = (size_t)sqlite3_column_bytes(statement, at);
	uint8_t *copy;

	*ret_blob = (struct blob){0};
	if (size == 0)
		return 0;
	if (!data)
		return -ENOMEM;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	*ret_blob = (struct blob){.data = memcpy(copy, data, size), .size = size};
	return 0;
}

int statement_word(sqlite3_stmt *statement, int at, int (*from_name)(const char *name),
		   int *ret_value)
{
	const char *word = (const char *)sqlite3_column_text(statement, at);

	*ret_value = -1;
	if (!word)
		return 0;
	*ret_value = from_name(word);
	return *ret_value < 0 ? -EBADMSG : 0;
}

int statement_row(sqlite3_stmt *statement, struct ledger_row **ret_row)
{
	struct ledger_row *row = calloc(1, sizeof(*row));
	const char *uuid = (const char *)sqlite3_column_text(statement, 1);
	int state = -1;
	int r;

	if (!row)
		return -ENOMEM;
	row->id = (uint64_t)sqlite3_column_int64(statement, 0);
	snprintf(row->uuid, sizeof(row->uuid), "%s", uuid ? uuid : "");
	row->priority = sqlite3_column_int64(statement, 4);
	row->submitted_at = (uint64_t)sqlite3_column_int64(statement, 5);
	row->started_at = (uint64_t)sqlite3_column_int64(statement, 6);
	row->ended_at = (uint64_t)sqlite3_column_int64(statement, 7);
	(void)((r = statement_word(statement, 2, state_from_name, &state)) < 0 ||
	       (r = statement_word(statement, 3, outcome_from_name, &row->outcome)) < 0 ||
	       (r = statement_word(statement, 8, backend_from_name, &row->backend)) < 0 ||
	       (r = column_text(statement, 9, &row->key)) < 0 ||
	       (r = column_text(statement, 10, &row->unit)) < 0 ||
	       (r = column_text(statement, 11, &row->boot_id)) < 0 ||
	       (r = column_text(statement, 12, &row->canceled_by)) < 0 ||
	       (r = column_text(statement, 13, &row->plan_digest)) < 0 ||
	       (r = column_blob(statement, 14, &row->spec)) < 0 ||
	       (r = column_blob(statement, 15, &row->facts)) < 0 ||
	       (r = column_blob(statement, 16, &row->record)) < 0);
	if (r < 0) {
		ledger_row_free(row);
		return r;
	}
	row->state = (enum state)state;
	*ret_row = row;
	return 0;
}
