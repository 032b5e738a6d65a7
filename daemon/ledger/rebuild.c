/* SPDX-License-Identifier: MIT */
/*
 * A ledger made anew beside the damaged one, put into its place, and a note of what happened. What it
 * is made of is refill.c's.
 *
 * Ids and numbers of changes go on above all that may have been given: where the last one cannot be
 * read, above as many as the file has room for. Whatever state a Trial comes to be in by this is a
 * change, told to those who watch, unless it was the last one told.
 */
#include "ledger/rebuild.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault_point.h"
#include "base/now.h"
#include "files.h"
#include "refill.h"
#include "salvage.h"
#include "schema.h"
#include "statement.h"

/* The least that a Trial and a change take in a file, and room besides. */
#define TRIAL_BYTES 32
#define EVENT_BYTES 16
#define JUMP 1000

/* Numbers that go on. */

static int set_sequence(sqlite3 *database, const char *table, uint64_t last)
{
	char text[192];

	snprintf(text, sizeof(text),
		 "DELETE FROM sqlite_sequence WHERE name = '%s';"
		 "INSERT INTO sqlite_sequence (name, seq) VALUES ('%s', %llu)",
		 table, table, (unsigned long long)last);
	return refill_run(database, text);
}

/* Above what a file of so many bytes may have held besides. */
static uint64_t jump(uint64_t last, uint64_t bytes, unsigned int each)
{
	return (last + bytes / each + 2 * JUMP - 1) / JUMP * JUMP;
}

static int set_sequences(struct refill *refill, sqlite3 *from, uint64_t bytes)
{
	uint64_t trials = from ? salvage_sequence(from, "trials") : 0;
	uint64_t events = from ? salvage_sequence(from, "events") : 0;
	uint64_t number = 0;
	int r;

	r = statement_number(refill->to, "SELECT coalesce(max(number), 0) FROM events", &number);
	if (r < 0)
		return r;
	if (refill->last_id < trials)
		refill->last_id = trials;
	if (!trials || refill->outdated)
		refill->last_id = jump(refill->last_id, bytes, TRIAL_BYTES);
	if (number < events)
		number = events;
	/* Without the last number the time is above it: there is never one in each microsecond. */
	if (!events)
		number = now_microseconds();
	else if (refill->outdated)
		number = jump(number, bytes, EVENT_BYTES);
	r = set_sequence(refill->to, "trials", refill->last_id);
	return r < 0 ? r : set_sequence(refill->to, "events", number);
}

/* Each Trial whose last change is not the one that led to its state. */
static int append_events(sqlite3 *database, uint64_t after)
{
	char text[640];

	snprintf(text, sizeof(text),
		 "CREATE TEMP TABLE last (trial INTEGER PRIMARY KEY, state TEXT);"
		 "INSERT INTO last SELECT trial, state FROM "
		 "(SELECT trial, state, max(number) FROM events WHERE trial > %llu GROUP BY trial);"
		 "INSERT INTO events (at, trial, state, before) "
		 "SELECT %llu, t.id, t.state, last.state FROM trials t "
		 "LEFT JOIN last ON last.trial = t.id "
		 "WHERE t.id > %llu AND t.state IS NOT last.state ORDER BY t.id;"
		 "DROP TABLE last",
		 (unsigned long long)after, (unsigned long long)now_microseconds(),
		 (unsigned long long)after);
	return refill_run(database, text);
}

/* Putting it together. */

static int fill(struct refill *refill, const char *path, const struct damage *damage,
		uint64_t bytes)
{
	const struct ledger_witness *witness = refill->witness;
	sqlite3 *from = NULL;
	int r = 0;

	/* Of an empty file SQLite would remove the log. */
	if (!damage->empty)
		r = salvage_open(&from, path);
	if (r == -EUCLEAN)
		r = 0;
	if (r == 0)
		r = refill_init(refill);
	refill->settings_whole = damage->missing;
	if (r == 0 && from)
		r = refill_salvage(refill, from);
	if (r == 0 && witness)
		r = refill_witness(refill, true);
	if (r == 0 && witness && !refill->settings_whole && witness->in_doubt.name)
		r = refill_setting(refill, &witness->in_doubt);
	if (r == 0)
		r = set_sequences(refill, from, bytes);
	if (r == 0)
		r = append_events(refill->to, 0);
	refill_done(refill);
	salvage_close(from);
	return r;
}

static int make(struct refill *refill, const char *path, const struct damage *damage,
		uint64_t bytes)
{
	_cleanup_free_ char *building = NULL;
	int code, r;

	if (asprintf(&building, "%s%s", path, &LEDGER_FILE_BUILDING[strlen(LEDGER_FILE)]) < 0) {
		building = NULL;
		return -ENOMEM;
	}
	code = sqlite3_open_v2(building, &refill->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE,
			       NULL);
	r = code == SQLITE_OK ? 0 : schema_errno(refill->to, code);
	/* Until it is published nothing of it counts, and then it is synced as a whole. */
	if (r == 0)
		r = refill_run(refill->to, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");
	if (r == 0)
		r = schema_create(refill->to);
	if (r == 0)
		r = refill_run(refill->to, "BEGIN IMMEDIATE");
	if (r == 0)
		r = fill(refill, path, damage, bytes);
	if (r == 0)
		r = refill_run(refill->to, "COMMIT");
	sqlite3_close(refill->to);
	refill->to = NULL;
	return r;
}

static uint64_t bytes_of(int folder_fd, const char *name)
{
	struct stat st;

	return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* The stamp as people write a time. */
static const char *stamp_time(const char *stamp, char time[STAMP_BYTES])
{
	snprintf(time, STAMP_BYTES, "%s", stamp + 1);
	time[13] = time[16] = ':';
	return time;
}

static int proved_text(const struct refill *refill, char *text, size_t size)
{
	return snprintf(
		text, size,
		"%llu Trials were rebuilt from folders and keepers: %llu have ended as their "
		"records tell, %llu run, %llu are lost",
		(unsigned long long)refill->ended + refill->running + refill->lost,
		(unsigned long long)refill->ended, (unsigned long long)refill->running,
		(unsigned long long)refill->lost);
}

/* One line. */
static void note_text(const struct refill *refill, const struct damage *damage, const char *stamp,
		      char *text, size_t size)
{
	char time[STAMP_BYTES];
	size_t at = 0;

#define SAY(...) (at += at < size ? (size_t)snprintf(text + at, size - at, __VA_ARGS__) : (size_t)0)
	SAY("%s: the ledger was ", stamp_time(stamp, time));
	if (damage->missing)
		SAY("gone; ");
	else
		SAY("corrupt (%s) and set aside as %s.corrupt%s; %llu Trials were salvaged from it; ",
		    damage->what, LEDGER_FILE, stamp, (unsigned long long)refill->salvaged);
	if (at < size)
		at += (size_t)proved_text(refill, text + at, size - at);
	SAY("; what was only queued and could not be read is not known");
	if (refill->unproved)
		SAY(", and %llu folders hold no more than a prompt",
		    (unsigned long long)refill->unproved);
	if (refill->senseless)
		SAY("; %llu rows made no sense", (unsigned long long)refill->senseless);
	if (!refill->settings_whole)
		SAY("; whether the queue was paused is not known, so it is");
	SAY("; new Trials begin with number %llu", (unsigned long long)refill->last_id + 1);
#undef SAY
}

static int fault_rebuild(struct fault *fault, const char *path, const struct damage *damage,
			 int error)
{
	if (error == -ENOMEM)
		return error;
	fault_set(fault, ERROR_unavailable,
		  "%s: the ledger is damaged (%s), and it could not be rebuilt: %s", path,
		  damage->what, strerror(-error));
	return fault_hint(fault, "mend that, and start trialsd again: nothing was changed (or move "
				 "the ledger away, with its -wal and -shm)");
}

int rebuild_ledger(int folder_fd, const char *path, const struct damage *damage,
		   const struct ledger_witness *witness, struct fault *ret_fault)
{
	struct refill refill = {.witness = witness, .outdated = damage->outdated};
	uint64_t bytes = bytes_of(folder_fd, LEDGER_FILE) + bytes_of(folder_fd, LEDGER_FILE "-wal");
	char stamp[STAMP_BYTES], text[NOTE_BYTES_MAX];
	int r;

	r = files_stamp(folder_fd, stamp);
	if (r == 0)
		r = files_build(folder_fd);
	if (r == 0)
		r = make(&refill, path, damage, bytes);
	if (r == 0) {
		note_text(&refill, damage, stamp, text, sizeof(text));
		r = files_note(folder_fd, damage->missing ? "missing" : "corrupt", stamp, text);
	}
	FAULT_POINT(rebuild_noted);
	if (r == 0)
		r = files_publish(folder_fd, stamp);
	FAULT_POINT(rebuild_published);
	if (r == 0)
		r = files_switch(folder_fd, stamp);
	FAULT_POINT(rebuild_switched);
	return r < 0 ? fault_rebuild(ret_fault, path, damage, r) : r;
}

static int on_any(void *seeker, uint64_t id)
{
	const struct ledger_witness *witness = seeker;
	struct ledger_proof proof = {0};
	int r = witness->prove(witness->context, id, NULL, &proof);
	bool any = proof.row != NULL;

	ledger_row_free(proof.row);
	free((void *)proof.body.data);
	return r < 0 ? r : any; /* one is enough */
}

int rebuild_any(const struct ledger_witness *witness, bool *ret_any)
{
	int r = 0;

	if (witness)
		r = witness->each(witness->context, true, on_any, (void *)witness);
	*ret_any = r > 0;
	return r < 0 ? r : 0;
}

static int note_newer(int folder_fd, const struct refill *refill)
{
	char stamp[STAMP_BYTES], time[STAMP_BYTES], text[NOTE_BYTES_MAX];
	int r = files_stamp(folder_fd, stamp);
	size_t at;

	if (r < 0)
		return r;
	at = (size_t)snprintf(text, sizeof(text),
			      "%s: the ledger was older than the Trials' folders; ",
			      stamp_time(stamp, time));
	at += (size_t)proved_text(refill, text + at, sizeof(text) - at);
	snprintf(text + at, sizeof(text) - at, "; what was only queued is not known");
	return files_note(folder_fd, "older", stamp, text);
}

int rebuild_newer(int folder_fd, struct sqlite3 *database, uint64_t last,
		  const struct ledger_witness *witness, uint64_t *ret_added, uint64_t *ret_last)
{
	struct refill refill = {.to = database, .witness = witness, .after = last, .last_id = last};
	int r;

	/* As a rule there is nothing to write, and nobody's lock to wait for. */
	r = refill_run(database, "BEGIN");
	if (r < 0)
		return r;
	r = refill_init(&refill);
	if (r == 0)
		r = refill_witness(&refill, false);
	refill_done(&refill);
	*ret_added = refill.ended + refill.running + refill.lost;
	*ret_last = refill.last_id;
	if (r == 0 && *ret_added)
		r = append_events(database, last);
	if (r == 0 && *ret_added)
		r = note_newer(folder_fd, &refill);
	if (r == 0 && *ret_added)
		r = refill_run(database, "COMMIT");
	if (!sqlite3_get_autocommit(database))
		refill_run(database, "ROLLBACK");
	return r;
}
