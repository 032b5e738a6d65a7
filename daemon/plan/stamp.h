/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/*
 * What was looked at in the file system, and what was there: so that what was learned from it can
 * be kept for as long as a second look would find the same. A list of canonical paths; those whose
 * earlier parts are in the list too mean what they meant as long as the list holds.
 */
struct stamp {
	char *path;
	dev_t device;
	ino_t inode;
	struct timespec changed; /* ctime: of a folder, also of its entries */
	bool exact;		 /* changed counts, and not only which object it is */
	bool missing;
	bool recent; /* had changed so shortly before that one more change may not show */
};

struct stamps {
	struct stamp *items;
	size_t count;
};

/*
 * Adds a path that is open as fd (-1: one that is missing), before it is looked into. One that is
 * there already keeps what was seen first, and becomes exact when this one is. 0 or -errno.
 */
int stamps_add(struct stamps *stamps, const char *path, int fd, bool exact);
/* The same by path alone: of a file or folder as it is now, or that there is none. */
int stamps_add_path(struct stamps *stamps, const char *path, bool exact);
/* Whether everything is as it was. */
bool stamps_hold(const struct stamps *stamps);
void stamps_done(struct stamps *stamps);
