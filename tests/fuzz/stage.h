/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the targets stand on: a check that aborts, and the places that an input is put where a
 * parser reads a file, a folder or a stream instead of bytes. One of each for the whole process,
 * so that an input costs as little as can be.
 */

/* Unlike assert: in every build, and the reader is told which input it was by what runs us. */
#define must(condition) ((condition) ? (void)0 : stage_broken(#condition, __FILE__, __LINE__))
_Noreturn void stage_broken(const char *condition, const char *file, int line);

/* The input as text: a copy that ends with a NUL, at its first one at the latest. To be freed. */
char *stage_text(const uint8_t *data, size_t size);

/* A path that names a regular file with these bytes, until the next call. */
const char *stage_file(const void *bytes, size_t size);

/* A folder of this process's own, open; removed at its end with the files in it. */
int stage_folder(void);
/* Removes what is in it. */
void stage_clear(void);
/* A file in it, anew. */
void stage_write(const char *name, const void *bytes, size_t size);

/*
 * stdout and stderr go into memory from begin to end; *ret_text and *ret_errors are to be freed.
 */
void stage_listen(void);
void stage_heard(char **ret_text, char **ret_errors);

/* Whether it is UTF-8 without control characters. */
bool stage_is_text(const char *text);
/* And without marks that reorder it: no terminal acts upon it. lines: line feeds are in order. */
bool stage_is_shown(const char *text, bool lines);

/* How many descriptors are open, of the lowest ones: more of them afterwards have leaked. */
int stage_descriptors(void);
