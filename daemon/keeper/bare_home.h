/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "logins.h"

/*
 * The home of a Trial without a sandbox: a folder in the Trial's own, made new, and filled as the orders
 * of its plan say (base/no_sandbox.h). It holds copies of what the person has and links to the folders of
 * logins, never a login itself. By descriptor all along: through no link, and nothing outside of it but
 * in the folders with the copies of logins, where what is a login's own is never replaced.
 *
 * It is done before anything runs, so whatever is there already was left by an attempt that was given up.
 */
#define BARE_HOME_BYTES_MAX (512u * 1024u * 1024u)
#define BARE_HOME_ENTRIES_MAX 100000u
#define BARE_HOME_DEPTH_MAX 40

struct bare_home {
	int folder; /* the Trial's */
	const struct text_list *orders;
	const int *descriptors; /* that the orders count from 0 */
	size_t count;
	const struct logins *logins;
};

/* FAULT: void session_unavailable, or sandbox_unavailable; what was made so far stays. */
int bare_home_make(const struct bare_home *bare, struct fault *ret_fault);
/* What cannot be removed is in the Trial's folder, and goes with that. */
void bare_home_remove(int folder_fd);

/* bare_copy.c: what is left of the bounds of one home. */
struct bare_room {
	uint64_t bytes;
	uint64_t entries;
};

/* A file of ours with the contents of fd, open for reading at its beginning, and this mode. -errno. */
int bare_write(int fd, int folder_fd, const char *name, unsigned int mode, struct bare_room *room);
/*
 * A copy of a file or folder, open in any way. Of a folder: files, folders and links that lead to somewhere
 * in it; anything else is left out. Files can be read and executed as before, and not written to, as with
 * the read-only mount that this stands for. -EFBIG: there is no room.
 */
int bare_copy(int fd, int folder_fd, const char *name, struct bare_room *room);
