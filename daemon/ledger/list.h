/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger.h"

struct sqlite3;

/* Questions that have many rows as their answer; as in store.h. */
int list_page(struct sqlite3 *database, const struct ledger_filter *filter,
	      struct ledger_row ***ret_rows, size_t *ret_count, uint64_t *ret_cursor);
/* In ledger_list_ended's order, with at most filter->limit. The array is the caller's. */
int list_ended(struct sqlite3 *database, const struct ledger_filter *filter,
	       struct ledger_ended **ret_ended, size_t *ret_count, uint64_t *ret_cursor);
int list_each_unended(struct sqlite3 *database,
		      int (*each)(const struct ledger_row *row, void *context), void *context);
