/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/fault.h"
#include "stamp.h"

/*
 * A place on the host, resolved once: from here on the descriptor is the truth and the path is
 * only its name. See place.c.
 */
struct place_link {
	char *location; /* canonical path of the symbolic link */
	char *text;	/* what it says */
};

struct place {
	int fd;		 /* O_PATH; owned */
	int parent_fd;	 /* of the folder it is in, when it is not a folder itself; else -1 */
	char *canonical; /* of the components that were really opened */
	struct place_link *links; /* those passed, in the order they were met */
	size_t link_count;
	dev_t device;
	ino_t inode;
	mode_t mode;
	uid_t uid;
	nlink_t names; /* hard links to it */
};

#define PLACE_INIT ((struct place){.fd = -1, .parent_fd = -1})
#define PLACE_LINKS_MAX 40 /* as the kernel's own limit */

/*
 * Resolves an absolute path. field names it in a fault ("binds[2].source"). When something is
 * missing that is a fault too, and *ret_missing (optional) is true.
 */
int place_open(struct place *ret_place, const char *field, const char *path, bool *ret_missing,
	       struct fault *ret_fault);

/*
 * As much of a path as there is: the deepest existing folder as the place, and in *ret_rest (to be
 * freed) the part below it that does not exist or may not be looked at, or NULL when there is none.
 * -ENOENT when not even that can be told (too many links). Every folder that was looked into is
 * added to stamps (may be NULL): while they hold, another look would find the same.
 */
int place_open_existing(struct place *ret_place, const char *path, char **ret_rest,
			struct stamps *stamps);

/* Another one of the same object, without the links that led there. 0 or -errno. */
int place_copy(const struct place *place, struct place *ret_copy);
void place_done(struct place *place);

/* A place and the folders above it up to /, as device and inode: [0] is the place itself. */
struct place_step {
	dev_t device;
	ino_t inode;
};

struct ancestry {
	struct place_step *steps;
	size_t count;
};

/* Climbs by `..` from the descriptor: true whatever the path says. -errno when it cannot. */
int place_ancestry(const struct place *place, struct ancestry *ret_ancestry);
void ancestry_done(struct ancestry *ancestry);
bool ancestry_has(const struct ancestry *ancestry, struct place_step step);

/* Whether path is inside folder, or is it. Both canonical; text only. */
bool path_within(const char *path, const char *folder);

/*
 * Opens what a relative path names below a folder's descriptor, following no link at all: -ELOOP
 * when one is met.
 */
int place_walk(int folder_fd, const char *relative, int *ret_fd);
