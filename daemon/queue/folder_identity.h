/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * Which folder a Trial had, whatever stands at its path by now: where its file system tells when it was
 * made, by inode and that, since a device may have another number after a restart of the machine; else by
 * device and inode.
 */
#define FOLDER_IDENTITY_BYTES 96

/* Of an open folder (O_PATH is enough). 0 or -errno. */
int folder_identity(int fd, char ret_text[FOLDER_IDENTITY_BYTES]);
/* Of what is at this path now. -ELOOP: one of its names is a symbolic link; else 0 or -errno. */
int folder_identity_at(const char *path, char ret_text[FOLDER_IDENTITY_BYTES]);
bool folder_identity_same(const char *one, const char *other);
