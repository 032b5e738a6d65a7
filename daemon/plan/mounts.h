/* SPDX-License-Identifier: MIT */
#pragma once

#include "place.h"

/*
 * The host's mounts, to tell apart what paths cannot: a bind mount gives one folder a second
 * place in the tree, and climbing from there by `..` never passes its first parents.
 */
struct mount {
	uint64_t id;
	unsigned int major, minor;
	char *root;  /* what of the file system is mounted */
	char *point; /* where */
	char *type;
};

struct mount_table {
	struct mount *mounts;
	size_t count;
};

/* From text in the format of /proc/self/mountinfo, which is changed; other lines are skipped. */
int mount_table_parse(struct mount_table *ret_table, char *text);
void mount_table_done(struct mount_table *table);

/* Where a place lies in its own file system, however it was reached. */
struct mount_position {
	unsigned int major, minor;
	char *path;
};

/* -ENOENT when it cannot be told (an old kernel, a mount made since the table was read). */
int mount_position(const struct mount_table *table, const struct place *place,
		   struct mount_position *ret_position);
void mount_position_done(struct mount_position *position);
