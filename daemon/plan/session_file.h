/* SPDX-License-Identifier: MIT */
#pragma once

#include "harness_words.h"
#include "session.h"

#define SESSION_COPY_BYTES_MAX (4u * 1024u * 1024u)

/*
 * A table of TOML ("[tools]") that the person's own file begins, and the lines behind it as well: to who
 * reads that it is an error. *ret_table is NULL, or to be freed. 0 or -ENOMEM.
 */
int session_file_table_twice(const char *own, const char *text, char **ret_table);
/* %s: the file; the table. */
#define SESSION_TABLE_TWICE                                                                        \
	"%s has %s, and so have the lines that are put behind it for a Trial: twice it cannot be " \
	"read"
#define SESSION_TABLE_HINT "take %s out of %s"

/* Adds the copies of [Home] and the generated files of [Home] and, with web off, of [Web]. */
int session_files_add(struct session *session, const struct session_request *request,
		      const struct specifier *specifiers, struct fault *ret_fault);
