/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Text that an agent may have made, on its way to a terminal.
 *
 * The policy, here and nowhere else. What a terminal would act on instead of showing is shown:
 * C0 (ESC above all), DEL, C1 in both encodings, the marks that reorder text, and bytes that are
 * not UTF-8, as \x1b, \u202e. Without its ESC a control sequence is plain text, so sequences need
 * not be understood and no terminator can be missed. Line feed and tab stay in streams and are
 * shown in a value that must stay on its line. Everything else passes unchanged.
 */

/* Of a stream that comes in pieces: a character may be cut anywhere. Zeroed: at the start. */
struct neutraliser {
	uint8_t pending[4];
	size_t pending_size;
};

/* Writes what can be judged; keeps the rest. 0 or -errno of the writing. */
int neutralise_stream(struct neutraliser *neutraliser, const void *bytes, size_t size, FILE *file);
/* The stream has ended: what is kept is not going to be a character. */
int neutralise_end(struct neutraliser *neutraliser, FILE *file);

/* One value on one line. The caller's to free(); NULL: memory. */
char *neutralise_line(const void *bytes, size_t size);

/* Columns that valid, neutralised UTF-8 takes. Needs a UTF-8 LC_CTYPE for wide characters. */
size_t display_width(const char *text);

/* The bytes of at most so many columns. */
size_t display_fit(const char *text, size_t columns);
