/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * A Trial as a row of an export.
 *
 * The schema is the table of export_row.c: names are those of the wire and stand in that order. A
 * column more is added at the end and leaves the number as it is; one that goes, moves or means
 * something else makes it the next number, which is why each row carries it.
 *
 * In CSV (RFC 4180, lines end with CR LF) each text is in quotes, numbers and true and false are
 * not, and what is absent is empty. A list or a map is its JSON. The one map that every session has,
 * harness, has a column for each of its keys, named harness.KEY. What a spreadsheet would take for a
 * formula, a text that begins with = + - @, tab or CR, has an apostrophe before it; JSON lines have
 * every value exactly.
 */
#define EXPORT_SCHEMA 1

enum export_form { EXPORT_JSON, EXPORT_CSV };

/* The line of column names, of CSV alone. */
void export_header(FILE *file, enum export_form form);

/*
 * One row. terminal: what a terminal would act on is shown instead (JSON never holds any). What goes
 * wrong with the writing is for ferror() to tell.
 */
void export_row(FILE *file, enum export_form form, const json_t *trial, bool terminal);
