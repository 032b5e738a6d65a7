/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"

/*
 * A text in systemd's INI style, read strictly: lines are [Section], Key=value, comments (# or ;)
 * or blank. What is not exactly that is a fault that names file, line and key. The meaning is the
 * caller's: it embeds this struct, sets what stands first, and is called for each line in turn.
 */
struct ini_text {
	const char *path;   /* for faults */
	const char *manual; /* the page that a fault's hint names */
	struct fault *fault;
	/* Both return 0, FAULT (see ini_refuse) or -errno; anything but 0 ends the reading. */
	int (*take_section)(struct ini_text *ini, const char *name);
	int (*take_value)(struct ini_text *ini, const char *key, const char *value);

	unsigned int line; /* the one that is being read; at the end the last one */
	char *at;	   /* the rest of the text */
	int result;
};

/* text ends with a NUL behind its size bytes and is changed. 0, FAULT or -errno. */
int ini_text_read(struct ini_text *ini, char *text, size_t size);

/*
 * The whole of such a file, with a NUL after it (and maybe before: see ret_size); to be freed.
 * -ENOENT when there is none.
 */
#define INI_FILE_BYTES_MAX 65536
int ini_file_read(const char *path, char **ret_text, size_t *ret_size, struct fault *ret_fault);

/* "PATH:LINE: KEY: …" and the hint; FAULT or -ENOMEM. key may be NULL. */
int ini_refuse(struct ini_text *ini, unsigned int line, const char *key, const char *format, ...)
	_printf_(4, 5);
