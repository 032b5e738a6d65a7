/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What people see: colours, aligned tables and blocks, times. */

enum tone { TONE_PLAIN, TONE_GOOD, TONE_BAD, TONE_ODD, TONE_BUSY, TONE_FAINT };

/* A terminal, and neither NO_COLOR nor a dumb TERM asks for plain text. */
bool colours_wanted(FILE *file);

/* The tone of a state's or an outcome's word. */
enum tone tone_of_word(const char *word);

void print_toned(FILE *file, bool colours, enum tone tone, const char *text);

/*
 * Rows of cells under titles, aligned by the columns that characters take. Cells are neutralised
 * by whoever made them. The last column is cut to the terminal's width when there is one.
 */
struct table;
struct table *table_new(const char *const *titles, size_t columns);
struct table *table_free(struct table *table);
/* Copies the cells. tones may be NULL. */
void table_add(struct table *table, const char *const *cells, const enum tone *tones);
/* The last column is not cut, but goes on in further lines: it has what somebody is to do. */
void table_wrap(struct table *table);
/*
 * Columns that a terminal which is too narrow does without, the first of them first, as long as
 * the last column has less than 16 characters' room. At most 4.
 */
void table_may_leave_out(struct table *table, const size_t *columns, size_t count);
/* width 0: no terminal, nothing is cut. */
void table_print(const struct table *table, FILE *file, bool colours, size_t width);

/* The columns of the terminal behind file, or 0 when it is none. */
size_t terminal_width(FILE *file);

/* "name:      value" with the values below one another; nothing when value is NULL or "". */
void print_field(FILE *file, const char *name, const char *value);

/* "2025-03-01 12:00:00 +0100" in local time, into a buffer of at least 40 bytes; returns it. */
char *format_time(int64_t microseconds, char *buffer, size_t size);
