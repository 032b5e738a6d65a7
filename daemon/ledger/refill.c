/* SPDX-License-Identifier: MIT */
/*
 * Two sources:
 *
 *   the damaged file   each row that can be read. One that has ended stays as it is. So does any
 *                      other if the file lacks nothing but the rows that cannot be read. If its
 *                      write-ahead log lost something, an unended row may be of an earlier time:
 *                      what is queued in it may have been canceled or started since. Such a row is
 *                      what the witness says of it.
 *   the witness        for each Trial without a row whose folder or keeper is there: its end as its
 *                      record tells it; running, if its keeper lives; else lost.
 *
 * Nothing is made up: a Trial of which neither tells gets no row.
 */
#include "ledger/refill.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "salvage.h"
#include "schema.h"
#include "statement.h"

int refill_init(struct refill *refill)
{
	int r;

	r = statement_prepare(refill->to,
			      "INSERT INTO trials (id, uuid, state, outcome, priority, "
			      "submitted_at, started_at, ended_at, backend, key, unit, boot_id, "
			      "canceled_by, plan_digest, spec, facts, record, key_body) "
			      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
			      "?14, ?15, ?16, ?17, ?18)",
			      &refill->insert);
	if (r == 0)
		r = statement_prepare(refill->to,
				      "INSERT OR IGNORE INTO labels (name, value, trial) "
				      "VALUES (?1, ?2, ?3)",
				      &refill->insert_label);
	if (r == 0)
		r = statement_prepare(refill->to,
				      "INSERT OR IGNORE INTO events (number, at, trial, state, "
				      "before) VALUES (?1, ?2, ?3, ?4, ?5)",
				      &refill->insert_event);
	if (r == 0)
		r = statement_prepare(refill->to,
				      "INSERT OR IGNORE INTO settings (name, value) "
				      "VALUES (?1, ?2)",
				      &refill->insert_setting);
	if (r == 0)
		r = statement_prepare(refill->to,
				      "SELECT 1 FROM trials WHERE id = ?1 UNION ALL "
				      "SELECT 1 FROM prunes WHERE trial = ?1",
				      &refill->known);
	return r;
}

void refill_done(struct refill *refill)
{
	sqlite3_finalize(refill->insert);
	sqlite3_finalize(refill->insert_label);
	sqlite3_finalize(refill->insert_event);
	sqlite3_finalize(refill->insert_setting);
	sqlite3_finalize(refill->known);
}

/* 1: there is a row of this Trial, or a note that its folder is to go. */
static int is_known(struct refill *refill, uint64_t id)
{
	int r;

	statement_bind_number(refill->known, 1, id);
	r = statement_step(refill->known);
	sqlite3_reset(refill->known);
	return r;
}

/* Rows. */

static bool spec_decode(struct blob spec, struct message **ret_message,
			struct launch_request *ret_request)
{
	struct decode_error error;
	struct message *message;

	if (spec.size == 0 || message_parse(&message, spec.data, spec.size) < 0)
		return false;
	if (message_decode(message, message_root(message), &launch_request_type,
			   UNKNOWN_KEYS_IGNORED, ret_request, &error) < 0) {
		message_free(message);
		return false;
	}
	*ret_message = message;
	return true;
}

static bool is_uuid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'x' ? !strchr("0123456789abcdef", text[i]) || !text[i]
				   : text[i] != form[i])
			return false;
	return true;
}

/* What was read of a damaged file may be anything. What is to be run must be readable. */
static bool row_makes_sense(const struct ledger_row *row)
{
	struct launch_request request;
	struct message *message;

	if (row->id == 0 || row->id > INT64_MAX || !is_uuid(row->uuid) || !state_name(row->state) ||
	    (row->state == STATE_ended) != (row->outcome >= 0) || row->submitted_at > INT64_MAX ||
	    row->started_at > INT64_MAX || row->ended_at > INT64_MAX)
		return false;
	if (row->state == STATE_ended)
		return true;
	if (!spec_decode(row->spec, &message, &request))
		return false;
	message_free(message);
	return true;
}

static int insert_labels(struct refill *refill, const struct ledger_row *row)
{
	sqlite3_stmt *statement = refill->insert_label;
	struct launch_request request;
	struct message *message;
	int r = 0;

	if (!spec_decode(row->spec, &message, &request))
		return 0;
	for (size_t i = 0; i < request.labels.count && r == 0; i++) {
		statement_bind_text(statement, 1, request.labels.items[i].name);
		statement_bind_text(statement, 2, request.labels.items[i].value);
		statement_bind_number(statement, 3, row->id);
		r = statement_run(statement);
	}
	message_free(message);
	return r;
}

static void bind_word(sqlite3_stmt *statement, int at, int value, const char *(*name)(int value))
{
	statement_bind_text(statement, at, value < 0 ? NULL : name(value));
}

static void bind_row(sqlite3_stmt *statement, const struct ledger_row *row, struct blob key_body)
{
	statement_bind_number(statement, 1, row->id);
	statement_bind_text(statement, 2, row->uuid);
	statement_bind_text(statement, 3, state_name(row->state));
	bind_word(statement, 4, row->outcome, outcome_name);
	sqlite3_bind_int64(statement, 5, row->priority);
	statement_bind_number(statement, 6, row->submitted_at);
	statement_bind_time(statement, 7, row->started_at);
	statement_bind_time(statement, 8, row->ended_at);
	bind_word(statement, 9, row->backend, backend_name);
	statement_bind_text(statement, 10, row->key);
	statement_bind_text(statement, 11, row->unit);
	statement_bind_text(statement, 12, row->boot_id);
	statement_bind_text(statement, 13, row->canceled_by);
	statement_bind_text(statement, 14, row->plan_digest);
	if (row->spec.size > 0)
		statement_bind_blob(statement, 15, row->spec);
	else
		sqlite3_bind_zeroblob(statement, 15, 0);
	statement_bind_blob(statement, 16, row->facts);
	statement_bind_blob(statement, 17, row->record);
	statement_bind_blob(statement, 18, row->key ? key_body : (struct blob){0});
}

static int insert_row(struct refill *refill, const struct ledger_row *row, struct blob key_body)
{
	int r;

	bind_row(refill->insert, row, key_body);
	r = statement_run(refill->insert);
	if (r == -EINVAL && row->key) {
		/* A key that another Trial has too; neither can be told to be wrong. */
		statement_bind_text(refill->insert, 10, NULL);
		statement_bind_blob(refill->insert, 18, (struct blob){0});
		r = statement_run(refill->insert);
	}
	if (r == -EINVAL) {
		refill->senseless++; /* a second row of this id */
		return 0;
	}
	if (r == 0)
		r = insert_labels(refill, row);
	if (refill->last_id < row->id)
		refill->last_id = row->id;
	return r;
}

/* The witness. */

static void proof_done(struct ledger_proof *proof)
{
	ledger_row_free(proof->row);
	free((void *)proof->body.data);
}

static int insert_proof(struct refill *refill, const struct ledger_proof *proof)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, proof->body.size, proof->body.data);
	sha256_digest(&context, sizeof(digest), digest);
	if (proof->row->state != STATE_ended)
		refill->running++;
	else if (proof->row->outcome == OUTCOME_lost)
		refill->lost++;
	else
		refill->ended++;
	return insert_row(refill, proof->row,
			  (struct blob){.data = digest, .size = sizeof(digest)});
}

static int insert_proved(struct refill *refill, uint64_t id, const struct ledger_row *salvaged)
{
	struct ledger_proof proof = {0};
	int r;

	r = refill->witness->prove(refill->witness->context, id, salvaged, &proof);
	if (r == 0 && proof.row)
		r = insert_proof(refill, &proof);
	else if (r == 0)
		refill->unproved++;
	proof_done(&proof);
	return r;
}

static int on_found(void *seeker, uint64_t id)
{
	struct refill *refill = seeker;
	int r;

	if (id <= refill->after)
		return 0;
	if (refill->last_id < id)
		refill->last_id = id;
	r = is_known(refill, id);
	return r != 0 ? (r < 0 ? r : 0) : insert_proved(refill, id, NULL);
}

/* The damaged file. */

static bool has_its_record(const struct ledger_row *row)
{
	struct outcome_record record;
	struct decode_error error;
	struct message *message;
	bool whole;

	if (row->record.size == 0 ||
	    message_parse(&message, row->record.data, row->record.size) < 0)
		return false;
	whole = message_decode(message, message_root(message), &outcome_record_type,
			       UNKNOWN_KEYS_IGNORED, &record, &error) == 0;
	message_free(message);
	return whole;
}

/* One that has ended, and whose record was hit, is better taken from its folder, if that has it. */
static int insert_salvaged(struct refill *refill, const struct ledger_row *row,
			   struct blob key_body)
{
	struct ledger_proof proof = {0};
	bool better = false;
	int r = 0;

	if (row->state == STATE_ended && refill->witness && !has_its_record(row))
		r = refill->witness->prove(refill->witness->context, row->id, NULL, &proof);
	better = proof.row && proof.row->state == STATE_ended && proof.row->outcome == row->outcome;
	if (r == 0 && better) {
		r = insert_proof(refill, &proof);
	} else if (r == 0) {
		r = insert_row(refill, row, key_body);
		refill->salvaged++;
	}
	proof_done(&proof);
	return r;
}

static int take_trial(struct sqlite3_stmt *statement, void *context)
{
	struct refill *refill = context;
	struct ledger_row *row = NULL;
	struct blob key_body;
	int r = statement_row(statement, &row);

	if (r == 0 && !row_makes_sense(row))
		r = -EBADMSG;
	if (r == -EBADMSG) {
		refill->senseless++;
		r = 0;
	} else if (r == 0 && refill->outdated && row->state != STATE_ended && refill->witness) {
		r = insert_proved(refill, row->id, row);
	} else if (r == 0) {
		key_body.data = sqlite3_column_blob(statement, 17);
		key_body.size = (size_t)sqlite3_column_bytes(statement, 17);
		r = insert_salvaged(refill, row, key_body);
	}
	ledger_row_free(row);
	return r;
}

int refill_witness(struct refill *refill, bool all)
{
	return refill->witness->each(refill->witness->context, all, on_found, refill);
}

int refill_run(sqlite3 *database, const char *text)
{
	int code = sqlite3_exec(database, text, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : schema_errno(database, code);
}

/* A row as it is, into a table of the same columns; what the schema refuses is left out. */
static int copy_row(sqlite3_stmt *insert, sqlite3_stmt *row, int columns)
{
	int r;

	for (int i = 0; i < columns; i++)
		sqlite3_bind_value(insert, i + 1, sqlite3_column_value(row, i));
	r = statement_run(insert);
	return r == -EINVAL ? 0 : r;
}

static int take_event(struct sqlite3_stmt *row, void *context)
{
	struct refill *refill = context;
	int state, before;

	if (statement_word(row, 3, state_from_name, &state) < 0 || state < 0 ||
	    statement_word(row, 4, state_from_name, &before) < 0)
		return 0;
	return copy_row(refill->insert_event, row, 5);
}

static int take_setting(struct sqlite3_stmt *row, void *context)
{
	struct refill *refill = context;

	return copy_row(refill->insert_setting, row, 2);
}

static int take_prune(struct sqlite3_stmt *statement, void *context)
{
	struct refill *refill = context;
	uint64_t id = (uint64_t)sqlite3_column_int64(statement, 0);
	char text[96];

	if (id == 0 || id > INT64_MAX)
		return 0;
	if (refill->last_id < id)
		refill->last_id = id;
	snprintf(text, sizeof(text), "INSERT OR IGNORE INTO prunes (trial) VALUES (%llu)",
		 (unsigned long long)id);
	return refill_run(refill->to, text);
}

static int take_table_name(struct sqlite3_stmt *statement, void *context)
{
	(void)statement;
	*(bool *)context = true;
	return 0;
}

/* What versions of the schema before the second do not have. */
static int salvage_settings(struct refill *refill, sqlite3 *from)
{
	bool there = false, whole;
	int r;

	r = salvage_query(from, "SELECT 1 FROM sqlite_schema WHERE name = 'settings'",
			  take_table_name, &there, &whole);
	refill->settings_whole = whole && !refill->outdated;
	if (r < 0 || (whole && !there))
		return r;
	r = salvage_query(from, "SELECT name, value FROM settings", take_setting, refill, &whole);
	refill->settings_whole &= whole;
	if (r == 0)
		r = salvage_query(from, "SELECT trial FROM prunes", take_prune, refill, &whole);
	return r;
}

int refill_salvage(struct refill *refill, sqlite3 *from)
{
	static const struct salvage_table trials = {
		.name = "trials",
		.alias = "t",
		.key = "id",
		.columns = ROW_COLUMNS ", key_body",
	};
	static const struct salvage_table events = {
		.name = "events",
		.alias = "e",
		.key = "number",
		.columns = "number, at, trial, state, before",
	};
	bool whole;
	int r;

	/* What was pruned, before what a folder could bring back. */
	r = salvage_settings(refill, from);
	if (r == 0)
		r = salvage_rows(from, &trials, take_trial, refill, &whole);
	if (r == 0)
		r = salvage_rows(from, &events, take_event, refill, &whole);
	return r;
}

int refill_setting(struct refill *refill, const struct pair *setting)
{
	statement_bind_text(refill->insert_setting, 1, setting->name);
	statement_bind_text(refill->insert_setting, 2, setting->value);
	return statement_run(refill->insert_setting);
}
