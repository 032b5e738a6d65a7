/* SPDX-License-Identifier: MIT */
#pragma once

#include "damage.h"
#include "ledger.h"

struct files_place;
struct sqlite3;

/*
 * The ledger as statements, without threads or queues. One thread at a time.
 *
 * Each of the calls between begin and commit returns 0 with its answer in *ret_answer (what
 * ledger.h says the call's result is), or -errno when the storage failed: the transaction must
 * then be rolled back.
 */
typedef struct Store Store;

/*
 * Opens, or makes, the ledger in this folder as it is. 0; FAULT; -EUCLEAN: it is damaged, and what
 * says how that shows; -ENOMEM.
 */
int store_open(Store **ret_store, const char *state_folder, char what[DAMAGE_BYTES],
	       struct fault *ret_fault);
Store *store_free(Store *store);

int store_begin(Store *store, bool writes);
int store_commit(Store *store);
void store_rollback(Store *store);

int store_insert(Store *store, const struct ledger_new *trial, int *ret_answer,
		 struct ledger_row **ret_row, uint64_t *ret_number, uint64_t *ret_at);
int store_change(Store *store, uint64_t id, unsigned int from, const struct ledger_change *change,
		 int *ret_answer, struct ledger_row **ret_row, uint64_t *ret_number,
		 uint64_t *ret_at);
int store_get(Store *store, uint64_t id, int *ret_answer, struct ledger_row **ret_row);
/* ret_rows is an array to be freed with its rows; ret_cursor is 0 when this was the last page. */
int store_list(Store *store, const struct ledger_filter *filter, struct ledger_row ***ret_rows,
	       size_t *ret_count, uint64_t *ret_cursor);

/* As in since_end.h. */
int store_since_end(Store *store, uint64_t id, ledger_wanted wanted, const void *context,
		    struct ledger_row ***ret_rows, size_t *ret_count);
int store_naming(Store *store, uint64_t id, struct blob named, struct ledger_row ***ret_rows,
		 size_t *ret_count);

/* As in since_end.h. */
int store_count_named(Store *store, uint64_t before, struct blob named, uint64_t *ret_count,
		      uint64_t *ret_unended, uint64_t *ret_cursor);

/* As in events.h. */
int store_events(Store *store, uint64_t after, uint64_t trial, struct ledger_event **ret_events,
		 size_t *ret_count, uint64_t *ret_cursor, uint64_t *ret_newest);
int store_newest_event(Store *store, uint64_t *ret_newest);

int store_set(Store *store, const char *name, const char *value);
int store_setting(Store *store, const char *name, char **ret_value);

/* As in list.h and prune.h. */
int store_list_ended(Store *store, const struct ledger_filter *filter,
		     struct ledger_ended **ret_ended, size_t *ret_count, uint64_t *ret_cursor);
int store_prune(Store *store, const uint64_t *ids, size_t count, struct ledger_ended **ret_gone,
		size_t *ret_count);
int store_list_pruned(Store *store, size_t most, struct ledger_ended **ret_gone, size_t *ret_count);
int store_pruned(Store *store, const uint64_t *ids, size_t count);
int store_prune_events(Store *store, uint64_t after, uint64_t *ret_number);

/* In memory, true of what is committed and, within a transaction, of that too. */
uint64_t store_ended(const Store *store);
/* The largest id that had ever been committed when the store was opened. */
uint64_t store_last_id(const Store *store);

/* Where its files are; it and what it says do not change. */
const struct files_place *store_place(const Store *store);
/* It was too large to be read as a whole when it was opened. */
bool store_is_large(const Store *store);
struct sqlite3 *store_database(Store *store);

int store_each_unended(Store *store, int (*each)(const struct ledger_row *row, void *context),
		       void *context);
