/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * SHA-256 of a folder and all that is in it: of each entry, in the order of the bytes of the names, its
 * kind, permission bits and name, and of a file its content, of a link its text. Who owns it, when it
 * was changed and how it is stored does not count. Sockets, pipes and devices count by name and kind.
 *
 * By descriptors and without following a link; a file system that is mounted below counts as what it is.
 * Bounded; blocks as long as the folder is large: for threads.
 */
#define FOLDER_ENTRIES_MAX 100000u
#define FOLDER_BYTES_MAX (16ull << 30)
#define FOLDER_DEPTH_MAX 64

struct folder_digest {
	char sha256[65]; /* hexadecimal */
	uint64_t files;
	uint64_t bytes; /* of them */
};

/*
 * fd: the folder (O_PATH will do). -EFBIG (more entries or bytes), -ELOOP (deeper), -EBUSY (it does not
 * stop changing while it is read).
 */
int folder_digest(int fd, struct folder_digest *ret_digest);
