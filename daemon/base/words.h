/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/list.h"

/* The small languages that values of trialsd.conf and of .harness files are written in. All pure. */

/*
 * Words separated by blanks. Within '…' everything stands for itself; within "…" too, but for \"
 * and \\. Adds to *list; -EINVAL for quotes that do not end, -E2BIG beyond max in all.
 */
int words_split(struct text_list *list, const char *value, size_t max);
bool words_have(const struct text_list *list, const char *text);
/* Whether one of them holds %letter. */
bool words_use(const struct text_list *list, char letter);

/* Whether each % is followed by one of letters or by another %. */
bool specifiers_valid(const char *text, const char *letters);

/*
 * Adds text to the file with each %x replaced: values['x'] for the letters that may stand there,
 * which the caller checked. escape: as the characters of a JSON string.
 */
struct specifier {
	char letter;
	const char *value;
};
int specifiers_expand(const char *text, const struct specifier *specifiers, bool escape,
		      char **ret_text);

/* "~/a/b" or, with absolute, "/a/b" too: no empty component, no ".", no "..", not all of "~". */
bool home_path_valid(const char *path, bool absolute);
bool file_name_valid(const char *name);
/* Letters, digits, ".", "-", "_"; 1 … max bytes. */
bool plain_word_valid(const char *text, size_t max);
/* [A-Za-z_][A-Za-z0-9_]*, and none that is the sandbox's own. */
bool variable_valid(const char *name, size_t length);
