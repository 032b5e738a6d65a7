/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger.h"

struct sqlite3;

/* As ledger_list_since_end says; as in store.h. */
int since_end(struct sqlite3 *database, uint64_t id, struct blob named,
	      struct ledger_row ***ret_rows, size_t *ret_count);
/* As ledger_list_naming says. */
int since_naming(struct sqlite3 *database, uint64_t id, struct blob named,
		 struct ledger_row ***ret_rows, size_t *ret_count);
