/* SPDX-License-Identifier: MIT */
/*
 * The schema of ledger.db and how it came to be: a list of SQL texts, of which `user_version` says
 * how many have been applied. A text, once released, is never edited; a change is a new text at
 * the end.
 *
 * States, outcomes and backends are stored as their words. A word costs a few bytes in a row of
 * several hundred, is readable with the sqlite3 shell, and cannot change its meaning; a number
 * would when a row is added to the middle of a table of proto/protocol.h. For the same reason no
 * CHECK repeats those tables: a new word must not need a rebuilt table.
 *
 *   trials   one row for ever, until pruned. AUTOINCREMENT: an id is never given again, not even
 *            the largest after its row was pruned.
 *   labels   by (name, value), so that a list by label reads only what it gives; by trial for the
 *            cascade of a prune.
 *   events   what happened, by number, never given again. It has no foreign key: it is a log with
 *            an age of its own, pruned from its old end, and so needs no index.
 *   settings what a client has set and a restart must not forget.
 *   prunes   Trials that are no more, and whose folder is still to be removed.
 *
 * Indexes are few since each is paid for in every accept: by state (few rows have not ended, and
 * they must be found among a million that have), by outcome, by time of submission, by key. There
 * is no index by uuid: its random places would dirty a page for each accept.
 */
#include "schema.h"

#include <sqlite3.h>
#include <string.h>

#include "base/fault_point.h"

static const char *const migrations[] = {
	"PRAGMA application_id=" SCHEMA_APPLICATION_ID ";"
	"CREATE TABLE trials ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  uuid TEXT NOT NULL,"
	"  state TEXT NOT NULL,"
	"  outcome TEXT,"
	"  priority INTEGER NOT NULL,"
	"  submitted_at INTEGER NOT NULL,"
	"  started_at INTEGER,"
	"  ended_at INTEGER,"
	"  backend TEXT,"
	"  key TEXT,"
	"  key_body BLOB," /* SHA-256 of the body that came with the key */
	"  unit TEXT,"
	"  boot_id TEXT,"
	"  canceled_by TEXT,"
	"  plan_digest TEXT,"
	"  spec BLOB NOT NULL,"
	"  facts BLOB,"
	"  record BLOB"
	") STRICT;"
	"CREATE INDEX trials_by_state ON trials (state);"
	"CREATE INDEX trials_by_outcome ON trials (outcome) WHERE outcome IS NOT NULL;"
	"CREATE INDEX trials_by_submission ON trials (submitted_at);"
	"CREATE UNIQUE INDEX trials_by_key ON trials (key) WHERE key IS NOT NULL;"

	"CREATE TABLE labels ("
	"  name TEXT NOT NULL,"
	"  value TEXT NOT NULL,"
	"  trial INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,"
	"  PRIMARY KEY (name, value, trial)"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX labels_by_trial ON labels (trial);"

	"CREATE TABLE events ("
	"  number INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  at INTEGER NOT NULL," /* microseconds UTC */
	"  trial INTEGER NOT NULL,"
	"  state TEXT NOT NULL,"
	"  before TEXT" /* NULL: accepted */
	") STRICT;",

	"CREATE TABLE settings ("
	"  name TEXT PRIMARY KEY,"
	"  value TEXT NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE prunes (trial INTEGER PRIMARY KEY) STRICT;",
};

#define SCHEMA_VERSION ((int)ARRAY_SIZE(migrations))

/*
 * The check reads the whole file: some 2 milliseconds for each megabyte that is cached. Up to this
 * size it is made before anything else. A larger ledger is served at once and checked meanwhile by a
 * thread of its own (check.c): a ledger of two gigabytes took from two seconds to forty, in which no
 * Trial would be looked after.
 */
#define CHECKED_BYTES_MAX (64ll << 20)

/* How long SQLite waits when another program, someone's sqlite3 shell, holds the database. */
#define BUSY_MILLISECONDS 5000

int schema_errno(struct sqlite3 *database, int code)
{
	int system = sqlite3_system_errno(database);

	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		if (system == ENOSPC || system == EDQUOT)
			return -ENOSPC;
		if (code == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		return system == EROFS || system == EACCES || system == EMFILE ? -system : -EIO;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* -EUCLEAN for damage, with what fills the caller's text; else as of schema.h. */
static int refuse(sqlite3 *database, int code, const char *path, char what[DAMAGE_BYTES],
		  struct fault *ret_fault)
{
	int error = schema_errno(database, code);

	if (error == -EUCLEAN)
		snprintf(what, DAMAGE_BYTES, "%s", sqlite3_errmsg(database));
	if (error == -EUCLEAN || error == -ENOMEM)
		return error;
	return fault_set(ret_fault, ERROR_unavailable, "%s: %s", path, sqlite3_errmsg(database));
}

/* The first column of the first row: its number, and its text when ret_text (to be freed). */
static int query_one(sqlite3 *database, const char *sql, sqlite3_int64 *ret_number, char **ret_text)
{
	sqlite3_stmt *statement = NULL;
	int code;

	code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
	if (code != SQLITE_OK)
		return code;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		*ret_number = sqlite3_column_int64(statement, 0);
		if (ret_text) {
			*ret_text = strdup(text ? text : "");
			if (!*ret_text) {
				sqlite3_finalize(statement);
				return SQLITE_NOMEM;
			}
		}
	}
	/* The result of the last step, or OK after a row. */
	code = sqlite3_finalize(statement);
	return code;
}

static int check_version(sqlite3 *database, const char *path, int *ret_version,
			 char what[DAMAGE_BYTES], struct fault *ret_fault)
{
	sqlite3_int64 version = 0, tables = 0, application = 0;
	bool marked, foreign;
	int code;

	code = query_one(database, "PRAGMA user_version", &version, NULL);
	if (code == SQLITE_OK)
		code = query_one(database, "PRAGMA application_id", &application, NULL);
	if (code == SQLITE_OK)
		code = query_one(database, "SELECT count(*) FROM sqlite_schema", &tables, NULL);
	marked = application == atoll(SCHEMA_APPLICATION_ID);
	/* A format that SQLite does not know: with our mark that is damage, else somebody else's. */
	if (code == SQLITE_ERROR && marked)
		code = SQLITE_NOTADB;
	foreign = code == SQLITE_ERROR || (tables > 0 && (version <= 0 || !marked));
	if (code != SQLITE_OK && !foreign)
		return refuse(database, code, path, what, ret_fault);
	if (foreign) {
		fault_set(ret_fault, ERROR_unavailable,
			  "%s: a database, but not a ledger of trialsd", path);
		return fault_hint(ret_fault,
				  "Nothing was changed. Move it away, or give another state "
				  "folder: --state DIR");
	}
	if (version > SCHEMA_VERSION) {
		fault_set(
			ret_fault, ERROR_unavailable,
			"%s: the ledger has schema version %lld, this trialsd knows versions up to %d",
			path, (long long)version, SCHEMA_VERSION);
		return fault_hint(ret_fault,
				  "Nothing was changed. Start the newer trialsd again, or "
				  "give this one another state folder: --state DIR");
	}
	*ret_version = (int)version;
	return 0;
}

/* The first thing that is wrong, in what; "" when there is nothing. */
static int integrity_code(sqlite3 *database, char what[DAMAGE_BYTES])
{
	_cleanup_free_ char *text = NULL;
	sqlite3_int64 number = 0;
	int code;

	what[0] = '\0';
	code = query_one(database, "PRAGMA integrity_check(1)", &number, &text);
	if (code == SQLITE_OK && (!text || strcmp(text, "ok") != 0))
		snprintf(what, DAMAGE_BYTES, "%s", text ? text : "no answer to integrity_check");
	/* It says so over several lines. */
	for (char *at = what; *at; at++)
		if (*at == '\n')
			*at = ' ';
	return code;
}

int schema_integrity(struct sqlite3 *database, char what[DAMAGE_BYTES])
{
	int code = integrity_code(database, what);

	if (code == SQLITE_OK)
		return what[0] ? -EUCLEAN : 0;
	if (schema_errno(database, code) == -EUCLEAN)
		snprintf(what, DAMAGE_BYTES, "%s", sqlite3_errmsg(database));
	return schema_errno(database, code);
}

static int check_whole(sqlite3 *database, const char *path, bool *ret_large,
		       char what[DAMAGE_BYTES], struct fault *ret_fault)
{
	sqlite3_int64 number = 0;
	int code;

	code = query_one(database,
			 "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
			 &number, NULL);
	if (code != SQLITE_OK)
		return refuse(database, code, path, what, ret_fault);
	*ret_large = number > CHECKED_BYTES_MAX;
	if (*ret_large)
		return 0;
	code = integrity_code(database, what);
	if (code != SQLITE_OK)
		return refuse(database, code, path, what, ret_fault);
	return what[0] ? -EUCLEAN : 0;
}

static int set_modes(sqlite3 *database, const char *path, char what[DAMAGE_BYTES],
		     struct fault *ret_fault)
{
	_cleanup_free_ char *mode = NULL;
	sqlite3_int64 number;
	int code;

	code = query_one(database, "PRAGMA journal_mode=WAL", &number, &mode);
	if (code != SQLITE_OK)
		return refuse(database, code, path, what, ret_fault);
	if (!mode || strcmp(mode, "wal") != 0)
		return fault_set(
			ret_fault, ERROR_unavailable,
			"%s: this filesystem cannot hold a write-ahead log (journal mode %s)", path,
			mode ? mode : "unknown");
	/* The log is cut back after a burst, so that it does not hold its largest size for ever. */
	code = sqlite3_exec(database,
			    "PRAGMA synchronous=FULL;"
			    "PRAGMA foreign_keys=ON;"
			    "PRAGMA trusted_schema=OFF;"
			    "PRAGMA journal_size_limit=16777216;",
			    NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return refuse(database, code, path, what, ret_fault);
	return 0;
}

/* Each step in a transaction of its own: a crash leaves the version before it, whole. */
static int migrate(sqlite3 *database, int version)
{
	char sql[64];
	int code = SQLITE_OK;

	for (; code == SQLITE_OK && version < SCHEMA_VERSION; version++) {
		snprintf(sql, sizeof(sql), "PRAGMA user_version=%d; COMMIT", version + 1);
		code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (code == SQLITE_OK)
			code = sqlite3_exec(database, migrations[version], NULL, NULL, NULL);
		FAULT_POINT(migrate_step);
		if (code == SQLITE_OK)
			code = sqlite3_exec(database, sql, NULL, NULL, NULL);
	}
	return code;
}

int schema_version(void)
{
	return SCHEMA_VERSION;
}

int schema_create(struct sqlite3 *database)
{
	int code = migrate(database, 0);

	return code == SQLITE_OK ? 0 : schema_errno(database, code);
}

int schema_prepare(struct sqlite3 *database, const char *path, bool *ret_large,
		   char what[DAMAGE_BYTES], struct fault *ret_fault)
{
	int version = 0;
	int code, r;

	sqlite3_busy_timeout(database, BUSY_MILLISECONDS);
	r = check_version(database, path, &version, what, ret_fault);
	if (r == 0)
		r = check_whole(database, path, ret_large, what, ret_fault);
	if (r == 0)
		r = set_modes(database, path, what, ret_fault);
	if (r != 0)
		return r;
	code = migrate(database, version);
	if (code == SQLITE_OK)
		return 0;
	r = refuse(database, code, path, what, ret_fault);
	if (!sqlite3_get_autocommit(database))
		sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
