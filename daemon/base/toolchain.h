/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "base/ini_text.h"
#include "base/list.h"

/*
 * Toolchains as [Toolchain NAME] sections say, in trialsd.conf and in the file of those that came
 * with trialsd; trialsd.conf(5) explains each key. Read strictly, and pure but for the file itself:
 * no path that a section names is looked at here (plan/toolchain.h does).
 *
 * A word of ReadOnly= or Path= is alternatives with | between them, of which the first that exists
 * counts, and with - in front it may be missing. "~" is the person's home, on the host and inside
 * alike; a * stands for a part of a name. %1 … %9 is what a word of ReadOnly= was found to be.
 */
#define TOOLCHAINS_MAX 64	      /* of one file */
#define TOOLCHAIN_ENTRIES_MAX 32      /* of one list */
#define TOOLCHAIN_ALTERNATIVES_MAX 16 /* of one word */
#define TOOLCHAIN_NUMBERED_MAX 9

struct toolchain {
	char *name;
	char *file;	   /* that it stands in */
	unsigned int line; /* of its heading */
	struct text_list read_only;
	struct text_list path;
	struct text_list programs;
	struct pair_list environment; /* with %h and %1 … %9 */
	struct text_list given;	      /* "Key=value", as it is written */
};

struct toolchain_list {
	struct toolchain *items; /* in the order of the file */
	size_t count;
};

/* The keys of such a section, for whoever must name them; NULL behind the last. */
const char *toolchain_key_name(size_t index);

/*
 * For the reader of a file with such sections: of a heading "Toolchain NAME" the one to go on with,
 * which is the list's and good until the next heading; a key of it; and at the end what only the whole of a section can tell. All
 * refuse as ini_refuse does.
 */
int toolchain_enter(struct toolchain_list *list, struct ini_text *ini, const char *heading,
		    struct toolchain **ret_toolchain);
int toolchain_take(struct toolchain *toolchain, struct ini_text *ini, const char *key,
		   const char *value);
int toolchain_list_check(const struct toolchain_list *list, struct ini_text *ini);

/* A file of nothing else. -ENOENT when there is none. */
int toolchain_list_read(struct toolchain_list *ret_list, const char *path, struct fault *ret_fault);
int toolchain_list_copy(const struct toolchain_list *list, struct toolchain_list *ret_copy);
void toolchain_list_done(struct toolchain_list *list);

/* NULL when there is none of the name. */
const struct toolchain *toolchain_list_find(const struct toolchain_list *list, const char *name);
/* Whether both say the same; NULL is none. */
bool toolchain_equal(const struct toolchain *a, const struct toolchain *b);
/* As sections of a file, of which the same would be read. */
void toolchain_list_print(const struct toolchain_list *list, FILE *file);
