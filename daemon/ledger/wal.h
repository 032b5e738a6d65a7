/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * Whether something that was committed to a write-ahead log is missing from it: 0 no, 1 yes, with
 * *ret_what a constant that says how that shows; -errno. To be asked before SQLite opens the file: it
 * ends its own reading at the first frame that is not whole, without a word, and drops what follows.
 * log and index are the names of -wal and -shm, ledger_bytes the size of the database itself.
 */
int wal_check(int folder_fd, const char *log, const char *index, int64_t ledger_bytes,
	      const char **ret_what);
