/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include "base/fault.h"

/* A burst of clients waits in the kernel, not in EAGAIN. */
#define LISTEN_BACKLOG SOMAXCONN

/* The socket that clients connect to. */
struct listening {
	int fd; /* the server's, once it has it */
	char *path;
	dev_t device; /* of the name we bound, to remove no other */
	ino_t inode;  /* 0: it is systemd's */
};

/*
 * Binds PATH (its folder exists, is ours and 0700; the caller holds the runtime lock, so a socket
 * file that is there is a dead one's and is replaced). Refused: a name over 107 bytes, something
 * else than a socket in the way.
 */
int server_bind(const char *path, int *ret_fd, struct fault *ret_fault);

/* The one that systemd passes in, else our own in the runtime folder. */
int listening_take(struct listening *ret_listening, const char *runtime_folder,
		   struct fault *ret_fault);
/* Removes the name, if it is still ours: somebody may have put another socket there. */
void listening_remove(const struct listening *listening);
void listening_done(struct listening *listening);
