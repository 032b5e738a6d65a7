/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

#include <check.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/*
 * A ledger in a folder of its own, on a real loop, and each call as a function that returns when
 * it has been answered. For the test programs of the ledger.
 */

static uv_loop_t loop;
static Ledger *ledger;
static char folder[64] = "/tmp/test_ledger.XXXXXX";

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void open_ledger(void)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = ledger_open(&ledger, &loop, folder, &fault);

	ck_assert_msg(r == 0, "%d: %s", r, fault.message ? fault.message : "");
}

static inline void on_closed(void *context)
{
	*(bool *)context = true;
}

static inline void close_ledger(void)
{
	bool closed = false;

	ledger_close(ledger, on_closed, &closed);
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	ck_assert(closed);
	ledger = NULL;
}

static inline void reopen(void)
{
	close_ledger();
	open_ledger();
}

static inline void setup_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(uv_loop_init(&loop), 0);
}

static inline void setup(void)
{
	setup_folder();
	open_ledger();
}

static inline void teardown(void)
{
	if (ledger)
		close_ledger();
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A call and what came of it; the results are kept until forget(). */
struct asked {
	struct ledger_call call;
	bool done;
	struct ledger_row *row;
	struct ledger_row *rows[LIST_PAGE_MAX];
};

static unsigned int pending;

static inline void on_done(struct ledger_call *call)
{
	struct asked *asked = container_of(call, struct asked, call);

	asked->row = ledger_steal_row(call);
	for (size_t i = 0; i < call->count; i++)
		asked->rows[i] = steal(&call->rows[i]);
	asked->done = true;
	pending--;
}

static inline struct asked *ask(struct asked *asked)
{
	*asked = (struct asked){.call.done = on_done};
	pending++;
	return asked;
}

static inline void finish(void)
{
	while (pending > 0)
		uv_run(&loop, UV_RUN_ONCE);
}

static inline void forget(struct asked *asked)
{
	asked->row = ledger_row_free(asked->row);
	for (size_t i = 0; i < LIST_PAGE_MAX; i++)
		asked->rows[i] = ledger_row_free(asked->rows[i]);
}

#define BLOB(text) ((struct blob){.data = (const uint8_t *)(text), .size = sizeof(text) - 1})
#define UUID "00000000-0000-4000-8000-000000000000"
#define ANY (~0u)

static inline struct ledger_new new_trial(void)
{
	return (struct ledger_new){
		.id = ledger_next_id(ledger),
		.uuid = UUID,
		.submitted_at = 1700000000000000u,
		.spec = BLOB("spec"),
	};
}

static inline int insert(const struct ledger_new *trial)
{
	struct asked asked;

	ledger_insert(ledger, &ask(&asked)->call, trial);
	finish();
	forget(&asked);
	return asked.call.result;
}

static inline int change(uint64_t id, unsigned int from, const struct ledger_change *to)
{
	struct asked asked;

	ledger_change(ledger, &ask(&asked)->call, id, from, to);
	finish();
	forget(&asked);
	return asked.call.result;
}

static inline struct ledger_row *get(uint64_t id, int *ret_result)
{
	struct asked asked;

	ledger_get(ledger, &ask(&asked)->call, id);
	finish();
	*ret_result = asked.call.result;
	return asked.row;
}

static inline bool present(uint64_t id)
{
	int result;
	struct ledger_row *row = get(id, &result);

	ck_assert_int_eq(result, row ? 0 : -ENOENT);
	ledger_row_free(row);
	return result == 0;
}

static inline uint64_t count_ended(void)
{
	struct asked asked;

	ledger_count_ended(ledger, &ask(&asked)->call);
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	return asked.call.number;
}

/* What a list is asked for: words, NULL for any; a limit of 0 is 50. */
struct wanted {
	const char *state;
	const char *outcome;
	uint64_t since;
	uint64_t before;
	struct pair_list labels;
	size_t limit;
};

/* The ids of a list as text, and the cursor after them when there is one: "5 4 (4)". */
static inline const char *list(const struct wanted *wanted)
{
	struct ledger_filter filter = {
		.state = wanted->state ? state_from_name(wanted->state) : -1,
		.outcome = wanted->outcome ? outcome_from_name(wanted->outcome) : -1,
		.since = wanted->since,
		.before = wanted->before,
		.labels = wanted->labels,
		.limit = wanted->limit ? wanted->limit : 50,
	};
	static char text[4096];
	struct asked asked;
	size_t at = 0;

	ledger_list(ledger, &ask(&asked)->call, &filter);
	finish();
	ck_assert_int_eq(asked.call.result, 0);
	text[0] = '\0';
	for (size_t i = 0; i < asked.call.count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%llu", i ? " " : "",
				       (unsigned long long)asked.rows[i]->id);
	if (asked.call.number)
		snprintf(text + at, sizeof(text) - at, " (%llu)",
			 (unsigned long long)asked.call.number);
	forget(&asked);
	return text;
}

#define WANTED(...) (&(struct wanted){__VA_ARGS__})
#define LABELS(...)                                                                                \
	{                                                                                          \
		.count = ARRAY_SIZE(((struct pair[]){__VA_ARGS__})), .items = (struct pair[])      \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* Ten Trials; even ones odd=no, others odd=yes; 3, 6, 9 ended failed, 5 ended delivered. */
static inline void ten_trials(void)
{
	for (uint64_t i = 1; i <= 10; i++) {
		struct ledger_change end = LEDGER_CHANGE(STATE_ended);
		struct ledger_new trial = new_trial();

		trial.submitted_at = i * 1000;
		trial.labels = (struct pair_list)LABELS({"odd", i % 2 ? "yes" : "no"},
							{"third", i % 3 ? "no" : "yes"});
		ck_assert_int_eq(insert(&trial), 0);
		end.outcome = i == 5 ? OUTCOME_delivered : OUTCOME_failed;
		if (i % 3 == 0 || i == 5)
			ck_assert_int_eq(change(i, ANY, &end), 0);
	}
}

static inline void edit(const char *sql)
{
	char path[160];
	sqlite3 *database;

	snprintf(path, sizeof(path), "%s/ledger.db", folder);
	ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(database), SQLITE_OK);
}

/* The question's rows as text, columns apart by spaces, rows by ", ". */
static inline const char *query(const char *sql)
{
	static char text[1024];
	sqlite3_stmt *statement;
	sqlite3 *database;
	char path[160];
	size_t at = 0;

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/ledger.db", folder);
	ck_assert_int_eq(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *value = (const char *)sqlite3_column_text(statement, i);

			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
					       at == 0 ? ""
					       : i     ? " "
						       : ", ",
					       value ? value : "-");
		}
	sqlite3_finalize(statement);
	sqlite3_close(database);
	return text;
}
