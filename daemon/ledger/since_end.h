/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger.h"

struct sqlite3;

/* As ledger_list_since_end says; as in store.h. */
int since_end(struct sqlite3 *database, uint64_t id, ledger_wanted wanted, const void *context,
	      struct ledger_row ***ret_rows, size_t *ret_count);

/* As ledger_count_named says; as in store.h. */
int count_named(struct sqlite3 *database, uint64_t before, struct blob named, uint64_t *ret_count,
		uint64_t *ret_unended, uint64_t *ret_cursor);
/* As ledger_list_naming says. */
int since_naming(struct sqlite3 *database, uint64_t id, struct blob named,
		 struct ledger_row ***ret_rows, size_t *ret_count);
