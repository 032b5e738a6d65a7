/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/stat.h>

#include "gate.h"

/*
 * A login's file: read so that nothing an agent puts in its place can stop or fool the reader, and
 * written so that it is the old one or the new one at any moment. By folder and name; never a link.
 */
struct login_content {
	uint8_t *data; /* NULL: nothing was read */
	size_t size;
	struct stat st; /* of what was read or refused; zero when it was not there */
};

void login_content_done(struct login_content *content); /* wipes it */
#define _cleanup_login_content_ __attribute__((__cleanup__(login_content_done)))
struct blob login_content_blob(const struct login_content *content);
int login_content_copy(struct login_content *to, const void *data, size_t size);
/* Whether both are the same state of the same file. */
bool login_stat_same(const struct stat *a, const struct stat *b);

/*
 * 0; -ENOENT; -EAGAIN when it is being written right now; -EBADMSG with the reason when it is not a
 * file to be read: a link, a FIFO, a folder, another user's, with a second name, too large.
 */
int login_file_read(int folder_fd, const char *name, struct login_content *ret,
		    char ret_reason[GATE_REASON_BYTES]);

/*
 * Puts a new file (0600, ours) under the name: written beside it, synced if durable, renamed.
 * was: what it takes the place of, as it was read; -EAGAIN, and all as before, when another is
 * there by now; NULL: whatever is there.
 */
int login_file_replace(int folder_fd, const char *name, const void *data, size_t size,
		       const struct stat *was, bool durable);
/* The same, durable, whatever is there: a folder in its place is set aside. */
int login_file_put(int folder_fd, const char *name, const void *data, size_t size);

/*
 * Writes into the file that is there. was: what it holds, as it was read; -EAGAIN when it holds
 * another by now, or when somebody else has it open. insist: though somebody has; what he writes at
 * that moment may be lost, and what he reads is JSON that ends in blanks.
 */
int login_file_overwrite(int folder_fd, const char *name, const struct login_content *was,
			 const void *data, size_t size, bool insist);

/* Removes what one that was killed while it replaced a file left beside it. Under a lock. */
void login_file_tidy(int folder_fd, const char *name);
