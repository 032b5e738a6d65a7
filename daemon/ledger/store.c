/* SPDX-License-Identifier: MIT */
/*
 * Every SQL statement on Trials, prepared once (but for lists, whose text depends on the filter),
 * each method one question or one change. What a method promises holds because one connection is
 * the only writer and every change runs under BEGIN IMMEDIATE: it may ask first and write after.
 *
 * Only ids, the number of ended Trials and the statements are in memory, nothing for each row. The
 * ended ones are counted once at start, from the index by state, and from then on by the changes
 * themselves; a counter on disk would be one more write in each transaction and could be wrong
 * after someone mended the database by hand.
 *
 * POSIX locks are dropped when any descriptor of a file is closed: nothing in this process may
 * open ledger.db by itself while it is in use.
 */
#include "base/now.h"
#include "store.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "events.h"
#include "files.h"
#include "list.h"
#include "prune.h"
#include "schema.h"
#include "since_end.h"
#include "statement.h"

enum statement_name {
	STATEMENT_BEGIN,
	STATEMENT_BEGIN_IMMEDIATE,
	STATEMENT_COMMIT,
	STATEMENT_ROLLBACK,
	STATEMENT_INSERT,
	STATEMENT_INSERT_LABEL,
	STATEMENT_INSERT_EVENT,
	STATEMENT_KEY,
	STATEMENT_STATE,
	STATEMENT_ROW,
	STATEMENT_CHANGE,
	STATEMENT_COUNT
};

static const char *const statement_texts[STATEMENT_COUNT] = {
	[STATEMENT_BEGIN] = "BEGIN",
	[STATEMENT_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_INSERT] = "INSERT INTO trials (id, uuid, state, priority, submitted_at, key, "
			     "key_body, spec, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[STATEMENT_INSERT_LABEL] = "INSERT OR IGNORE INTO labels (name, value, trial) "
				   "VALUES (?1, ?2, ?3)",
	[STATEMENT_INSERT_EVENT] = "INSERT INTO events (at, trial, state, before) "
				   "VALUES (?1, ?2, ?3, ?4)",
	[STATEMENT_KEY] = "SELECT id, key_body FROM trials WHERE key = ?1",
	[STATEMENT_STATE] = "SELECT state FROM trials WHERE id = ?1",
	[STATEMENT_ROW] = "SELECT " ROW_COLUMNS " FROM trials t WHERE t.id = ?1",
	[STATEMENT_CHANGE] = "UPDATE trials SET state = ?2, outcome = coalesce(?3, outcome), "
			     "backend = coalesce(?4, backend), "
			     "started_at = coalesce(?5, started_at), "
			     "ended_at = coalesce(?6, ended_at), unit = coalesce(?7, unit), "
			     "boot_id = coalesce(?8, boot_id), "
			     "canceled_by = coalesce(?9, canceled_by), "
			     "plan_digest = coalesce(?10, plan_digest), "
			     "facts = coalesce(?11, facts), record = coalesce(?12, record), "
			     "uuid = coalesce(?13, uuid) "
			     "WHERE id = ?1",
};

struct Store {
	sqlite3 *database;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	struct files_place place;
	bool large;	      /* not yet checked as a whole */
	bool writing;	      /* in the transaction that runs */
	uint64_t last_id;     /* at start */
	uint64_t ended;	      /* as committed */
	int64_t ended_change; /* by the transaction that runs */
};

int store_begin(Store *store, bool writes)
{
	store->writing = writes;
	return statement_run(
		store->statements[writes ? STATEMENT_BEGIN_IMMEDIATE : STATEMENT_BEGIN]);
}

/*
 * When the sync of a commit fails, its last frame may have reached the file all the same: a crash
 * now would bring back what is about to be refused. A commit of nothing new, to the same place of
 * the log, takes that away. If the storage refuses this too, the next transaction does it.
 */
static void overwrite_commit(Store *store)
{
	sqlite3_exec(store->database,
		     "BEGIN IMMEDIATE;"
		     "PRAGMA application_id=" SCHEMA_APPLICATION_ID ";"
		     "COMMIT",
		     NULL, NULL, NULL);
	if (!sqlite3_get_autocommit(store->database))
		statement_run(store->statements[STATEMENT_ROLLBACK]);
}

/*
 * What is written to a file that is no longer at its path is lost with the process. So it is looked
 * for before a commit, that nothing be written in vain, and once more after it, that nothing be
 * called durable that went to a file which was taken away meanwhile.
 */
int store_commit(Store *store)
{
	int r = store->writing ? files_place_check(&store->place) : 0;

	if (r < 0)
		return r;
	r = statement_run(store->statements[STATEMENT_COMMIT]);
	if (r < 0) {
		store_rollback(store);
		overwrite_commit(store);
		return r;
	}
	store->ended += (uint64_t)store->ended_change;
	store->ended_change = 0;
	return store->writing ? files_place_check(&store->place) : 0;
}

/* SQLite itself rolls back after some errors; then there is nothing left to do. */
void store_rollback(Store *store)
{
	if (!sqlite3_get_autocommit(store->database))
		statement_run(store->statements[STATEMENT_ROLLBACK]);
	store->ended_change = 0;
}

static int append_event(Store *store, uint64_t id, uint64_t at, const char *state,
			const char *before, uint64_t *ret_number)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_INSERT_EVENT];
	int r;

	statement_bind_number(statement, 1, at);
	statement_bind_number(statement, 2, id);
	statement_bind_text(statement, 3, state);
	statement_bind_text(statement, 4, before);
	r = statement_run(statement);
	if (r == 0)
		*ret_number = (uint64_t)sqlite3_last_insert_rowid(store->database);
	return r;
}

int store_get(Store *store, uint64_t id, int *ret_answer, struct ledger_row **ret_row)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_ROW];
	int r;

	statement_bind_number(statement, 1, id);
	r = statement_step(statement);
	if (r <= 0) {
		*ret_answer = -ENOENT;
		return r;
	}
	r = statement_row(statement, ret_row);
	sqlite3_reset(statement);
	*ret_answer = 0;
	return r;
}

static void digest_body(struct blob body, uint8_t ret_digest[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, body.size, body.data);
	sha256_digest(&context, SHA256_DIGEST_SIZE, ret_digest);
}

/* Whether the key was used: then the answer is about that Trial. */
static int find_key(Store *store, const char *key, const uint8_t digest[SHA256_DIGEST_SIZE],
		    bool *ret_used, int *ret_answer, struct ledger_row **ret_row)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_KEY];
	const void *data;
	bool same;
	uint64_t id;
	int r;

	statement_bind_text(statement, 1, key);
	r = statement_step(statement);
	*ret_used = r > 0;
	if (r <= 0)
		return r;
	id = (uint64_t)sqlite3_column_int64(statement, 0);
	data = sqlite3_column_blob(statement, 1);
	same = data && sqlite3_column_bytes(statement, 1) == SHA256_DIGEST_SIZE &&
	       memcmp(data, digest, SHA256_DIGEST_SIZE) == 0;
	sqlite3_reset(statement);
	r = store_get(store, id, ret_answer, ret_row);
	*ret_answer = same ? -EEXIST : -ENOTUNIQ;
	return r;
}

static int insert_labels(Store *store, uint64_t id, const struct pair_list *labels)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_INSERT_LABEL];
	int r = 0;

	for (size_t i = 0; i < labels->count && r == 0; i++) {
		statement_bind_text(statement, 1, labels->items[i].name);
		statement_bind_text(statement, 2, labels->items[i].value);
		statement_bind_number(statement, 3, id);
		r = statement_run(store->statements[STATEMENT_INSERT_LABEL]);
	}
	return r;
}

int store_insert(Store *store, const struct ledger_new *trial, int *ret_answer,
		 struct ledger_row **ret_row, uint64_t *ret_number, uint64_t *ret_at)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_INSERT];
	uint8_t digest[SHA256_DIGEST_SIZE];
	bool used = false;
	int r;

	/* The only two things that the schema could refuse later on, when half is written. */
	for (size_t i = 0; i < trial->labels.count; i++)
		if (!trial->labels.items[i].name || !trial->labels.items[i].value)
			goto invalid;
	if (trial->id == 0 || trial->id > INT64_MAX || !trial->uuid)
		goto invalid;
	if (trial->key) {
		digest_body(trial->body, digest);
		r = find_key(store, trial->key, digest, &used, ret_answer, ret_row);
		if (r < 0 || used)
			return r;
	}
	if (trial->only_existing) {
		*ret_answer = -ENOENT;
		return 0;
	}
	statement_bind_number(statement, 1, trial->id);
	statement_bind_text(statement, 2, trial->uuid);
	statement_bind_text(statement, 3, state_name(STATE_queued));
	sqlite3_bind_int64(statement, 4, trial->priority);
	statement_bind_number(statement, 5, trial->submitted_at);
	statement_bind_text(statement, 6, trial->key);
	if (trial->key)
		sqlite3_bind_blob(statement, 7, digest, sizeof(digest), SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, 7);
	/* Bound as NULL an empty one would be refused. */
	if (trial->spec.size > 0)
		statement_bind_blob(statement, 8, trial->spec);
	else
		sqlite3_bind_zeroblob(statement, 8, 0);
	if (trial->facts.size > 0)
		statement_bind_blob(statement, 9, trial->facts);
	else
		sqlite3_bind_null(statement, 9);
	r = statement_run(store->statements[STATEMENT_INSERT]);
	if (r == -EINVAL)
		goto invalid;
	if (r == 0)
		r = insert_labels(store, trial->id, &trial->labels);
	*ret_at = trial->submitted_at;
	if (r == 0)
		r = append_event(store, trial->id, *ret_at, state_name(STATE_queued), NULL,
				 ret_number);
	return r < 0 ? r : store_get(store, trial->id, ret_answer, ret_row);

invalid:
	*ret_answer = -EINVAL;
	return 0;
}

static int write_change(Store *store, uint64_t id, const struct ledger_change *change)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_CHANGE];

	statement_bind_number(statement, 1, id);
	statement_bind_text(statement, 2, state_name(change->state));
	statement_bind_text(statement, 3,
			    change->outcome < 0 ? NULL : outcome_name(change->outcome));
	statement_bind_text(statement, 4,
			    change->backend < 0 ? NULL : backend_name(change->backend));
	statement_bind_time(statement, 5, change->started_at);
	statement_bind_time(statement, 6, change->ended_at);
	statement_bind_text(statement, 7, change->unit);
	statement_bind_text(statement, 8, change->boot_id);
	statement_bind_text(statement, 9, change->canceled_by);
	statement_bind_text(statement, 10, change->plan_digest);
	statement_bind_blob(statement, 11, change->facts);
	statement_bind_blob(statement, 12, change->record);
	statement_bind_text(statement, 13, change->uuid);
	return statement_run(store->statements[STATEMENT_CHANGE]);
}

static int read_state(Store *store, uint64_t id, int *ret_state)
{
	sqlite3_stmt *statement = store->statements[STATEMENT_STATE];
	int r;

	statement_bind_number(statement, 1, id);
	r = statement_step(statement);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = statement_word(statement, 0, state_from_name, ret_state);
	sqlite3_reset(statement);
	return r;
}

int store_change(Store *store, uint64_t id, unsigned int from, const struct ledger_change *change,
		 int *ret_answer, struct ledger_row **ret_row, uint64_t *ret_number,
		 uint64_t *ret_at)
{
	int before = -1;
	int r;

	*ret_answer = -EINVAL;
	if (!state_name(change->state) ||
	    (change->outcome >= 0 && !outcome_name(change->outcome)) ||
	    (change->backend >= 0 && !backend_name(change->backend)))
		return 0;
	r = read_state(store, id, &before);
	if (r == -ENOENT) {
		*ret_answer = -ENOENT;
		return 0;
	}
	if (r < 0)
		return r;
	if (!(from & (1u << before))) {
		r = store_get(store, id, ret_answer, ret_row);
		*ret_answer = -ESTALE;
		if (r == 0 && before == (int)change->state)
			r = events_last_of(store->database, id, ret_number, ret_at);
		return r == -ENOENT ? 0 : r;
	}
	r = write_change(store, id, change);
	*ret_at = now_microseconds();
	if (r == 0)
		r = append_event(store, id, *ret_at, state_name(change->state), state_name(before),
				 ret_number);
	if (r < 0)
		return r;
	store->ended_change += (change->state == STATE_ended) - (before == STATE_ended);
	return store_get(store, id, ret_answer, ret_row);
}

int store_list(Store *store, const struct ledger_filter *filter, struct ledger_row ***ret_rows,
	       size_t *ret_count, uint64_t *ret_cursor)
{
	return list_page(store->database, filter, ret_rows, ret_count, ret_cursor);
}

int store_events(Store *store, uint64_t after, uint64_t trial, struct ledger_event **ret_events,
		 size_t *ret_count, uint64_t *ret_cursor, uint64_t *ret_newest)
{
	int r = events_newest(store->database, ret_newest);

	return r < 0 ? r
		     : events_page(store->database, after, trial, ret_events, ret_count,
				   ret_cursor);
}

int store_newest_event(Store *store, uint64_t *ret_newest)
{
	return events_newest(store->database, ret_newest);
}

int store_set(Store *store, const char *name, const char *value)
{
	const char *text = value ? "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)"
				 : "DELETE FROM settings WHERE name = ?1";
	sqlite3_stmt *statement = NULL;
	int r;

	r = statement_prepare(store->database, text, &statement);
	if (r < 0)
		return r;
	statement_bind_text(statement, 1, name);
	if (value)
		statement_bind_text(statement, 2, value);
	r = statement_run(statement);
	sqlite3_finalize(statement);
	return r;
}

int store_setting(Store *store, const char *name, char **ret_value)
{
	sqlite3_stmt *statement = NULL;
	int r;

	*ret_value = NULL;
	r = statement_prepare(store->database, "SELECT value FROM settings WHERE name = ?1",
			      &statement);
	if (r < 0)
		return r;
	statement_bind_text(statement, 1, name);
	r = statement_step(statement);
	if (r > 0)
		*ret_value = strdup((const char *)sqlite3_column_text(statement, 0) ?: "");
	sqlite3_finalize(statement);
	if (r > 0 && !*ret_value)
		return -ENOMEM;
	return r < 0 ? r : 0;
}

int store_since_end(Store *store, uint64_t id, ledger_wanted wanted, const void *context,
		    struct ledger_row ***ret_rows, size_t *ret_count)
{
	return since_end(store->database, id, wanted, context, ret_rows, ret_count);
}

int store_count_named(Store *store, uint64_t before, struct blob named, uint64_t *ret_count,
		      uint64_t *ret_unended, uint64_t *ret_cursor)
{
	return count_named(store->database, before, named, ret_count, ret_unended, ret_cursor);
}

int store_naming(Store *store, uint64_t id, struct blob named, struct ledger_row ***ret_rows,
		 size_t *ret_count)
{
	return since_naming(store->database, id, named, ret_rows, ret_count);
}

int store_list_ended(Store *store, const struct ledger_filter *filter,
		     struct ledger_ended **ret_ended, size_t *ret_count, uint64_t *ret_cursor)
{
	return list_ended(store->database, filter, ret_ended, ret_count, ret_cursor);
}

int store_prune(Store *store, const uint64_t *ids, size_t count, struct ledger_ended **ret_gone,
		size_t *ret_count)
{
	int r = prune_trials(store->database, ids, count, ret_gone, ret_count);

	if (r == 0)
		store->ended_change -= (int64_t)*ret_count;
	return r;
}

int store_list_pruned(Store *store, size_t most, struct ledger_ended **ret_gone, size_t *ret_count)
{
	return prune_pending(store->database, most, ret_gone, ret_count);
}

int store_pruned(Store *store, const uint64_t *ids, size_t count)
{
	return prune_done(store->database, ids, count);
}

int store_prune_events(Store *store, uint64_t after, uint64_t *ret_number)
{
	return prune_events(store->database, after, ret_number);
}

int store_each_unended(Store *store, int (*each)(const struct ledger_row *row, void *context),
		       void *context)
{
	return list_each_unended(store->database, each, context);
}

uint64_t store_ended(const Store *store)
{
	return store->ended + (uint64_t)store->ended_change;
}

uint64_t store_last_id(const Store *store)
{
	return store->last_id;
}

const struct files_place *store_place(const Store *store)
{
	return &store->place;
}

bool store_is_large(const Store *store)
{
	return store->large;
}

struct sqlite3 *store_database(Store *store)
{
	return store->database;
}

/* The file itself, private from its first moment; SQLite gives its companions the same mode. */
static int create_file(const char *state_folder, const char *path, struct fault *ret_fault)
{
	_cleanup_close_ int folder = -1;
	_cleanup_close_ int file = -1;
	struct stat st;

	folder = open(state_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return fault_errno(ret_fault, errno, state_folder);
	file = openat(folder, "ledger.db", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		      0600);
	if (file < 0 || fstat(file, &st) < 0)
		return fault_errno(ret_fault, errno, path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return fault_set(ret_fault, ERROR_unavailable, "%s: not a file of ours", path);
	if ((st.st_mode & 07777) != 0600 && fchmod(file, 0600) < 0)
		return fault_errno(ret_fault, errno, path);
	if (st.st_size == 0 && fsync(folder) < 0)
		return fault_errno(ret_fault, errno, state_folder);
	return 0;
}

static int prepare_all(Store *store)
{
	int r;

	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		int code = sqlite3_prepare_v3(store->database, statement_texts[i], -1,
					      SQLITE_PREPARE_PERSISTENT, &store->statements[i],
					      NULL);

		if (code != SQLITE_OK)
			return schema_errno(store->database, code);
	}
	r = statement_number(store->database, "SELECT count(*) FROM trials WHERE state = 'ended'",
			     &store->ended);
	if (r < 0)
		return r;
	/* The sequence says it all, unless someone deleted it by hand. */
	return statement_number(store->database,
				"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = "
				"'trials'), 0), coalesce((SELECT max(id) FROM trials), 0))",
				&store->last_id);
}

/* Its log is made by the first transaction, at the latest. */
static int store_prepare(Store *store, const char *path, char what[DAMAGE_BYTES])
{
	int r = prepare_all(store);

	if (r == -EUCLEAN)
		snprintf(what, DAMAGE_BYTES, "%s", sqlite3_errmsg(store->database));
	return r < 0 ? r : files_place_init(&store->place, path);
}

/* One that SQLite made when it looked, and removes again. */
static bool log_is_empty(const char *path)
{
	char name[PATH_BYTES_MAX + 8];
	struct stat st;

	return snprintf(name, sizeof(name), "%s-wal", path) < (int)sizeof(name) &&
	       stat(name, &st) == 0 && st.st_size == 0;
}

int store_open(Store **ret_store, const char *state_folder, char what[DAMAGE_BYTES],
	       struct fault *ret_fault)
{
	_cleanup_free_ char *path = NULL;
	Store *store;
	int r;

	if (asprintf(&path, "%s/ledger.db", state_folder) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = create_file(state_folder, path, ret_fault);
	if (r != 0)
		return r;
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	r = sqlite3_open_v2(path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE,
			    NULL);
	if (r == SQLITE_OK) {
		/* What is refused is left as it was found, its log included. */
		sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		r = schema_prepare(store->database, path, &store->large, what, ret_fault);
		if (r == 0)
			r = store_prepare(store, path, what);
		if (r < 0 && r != -EUCLEAN && r != -ENOMEM)
			r = fault_set(ret_fault, ERROR_unavailable, "%s: %s", path, strerror(-r));
	} else {
		r = fault_set(ret_fault, ERROR_unavailable, "%s: %s", path,
			      store->database ? sqlite3_errmsg(store->database) : "out of memory");
	}
	if (store->database && (r == 0 || log_is_empty(path)))
		sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	if (r != 0) {
		store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

Store *store_free(Store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(store->statements[i]);
	/* SQLite would remove a log by its name, whosever it is now. */
	if (store->place.path && files_place_check(&store->place) < 0)
		sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(store->database);
	files_place_done(&store->place);
	free(store);
	return NULL;
}
