/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

/*
 * A Trials home: the folder that Trials of one Harness have as its home in turn, and that is wiped
 * before each. What is wiped must be the right folder. The policy, enforced in home_guard.c alone:
 *
 *  1. The home is a folder of ours, in a folder of ours that nobody else can write to, and not
 *     itself a mount. It is made private (0700) once it was found to be the right one.
 *  2. It is not, does not contain and does not lie in: production's home of the Harness, what
 *     `apart` names, or trialsd's state, runtime or configuration folder.
 *  3. It is not and does not contain HOME or /.
 *
 * All links are followed first; then folders are compared by descriptor: device and inode, of each
 * and of everything above it. A bind mount gives a folder a second place in the tree, so that the
 * place of each in its own filesystem is compared too, and that of every mount below those of
 * rule 2. What is shown once more by another filesystem (overlay, FUSE, NFS) cannot be told.
 */
struct home_where {
	const char *product; /* the Harness, for people */
	const char *name;    /* the Harness, as a launch calls it; or NULL */
	const char *sign_in; /* the command that signs in, for people */
	const char *path;    /* of the home; all paths are absolute */
	const char *production;
	const char *home; /* the person's */
	const char *state_folder;
	const char *runtime_folder;
	const char *config_folder; /* or NULL */
	const char *const *apart;  /* more folders that are production's */
	size_t apart_count;
	const char *login;	 /* its name in the home */
	const char *const *keep; /* names that a wipe leaves, the login's among them */
	size_t keep_count;
};

/* An owned copy, and its end. */
int home_where_copy(struct home_where **ret_copy, const struct home_where *where);
struct home_where *home_where_free(struct home_where *where);

/* The home as it was opened; the descriptors are the truth. */
struct home_folder {
	int fd; /* O_RDONLY | O_DIRECTORY, as parent_fd */
	int parent_fd;
	char *path; /* canonical */
	dev_t device;
	ino_t inode;
	unsigned int lock_major; /* of its filesystem, as /proc/locks has it */
	unsigned int lock_minor;
	char *mounted; /* what is mounted in it (the first), or NULL */
};

#define HOME_FOLDER_INIT ((struct home_folder){.fd = -1, .parent_fd = -1})

/*
 * Opens the home, if it is one by the policy; nothing is created. FAULT is for a void outcome:
 * session_unavailable, and when there is no home, its message names the command that makes one.
 */
int home_folder_open(struct home_folder *ret_folder, const struct home_where *where,
		     struct fault *ret_fault);
void home_folder_done(struct home_folder *folder);
bool home_folder_same(const struct home_folder *a, const struct home_folder *b);

/*
 * Whether there is a login in it: a regular file of ours with one name. Its content is not read.
 * FAULT (session_unavailable) names the command that signs in.
 */
int home_login_check(const struct home_folder *folder, const struct home_where *where,
		     struct fault *ret_fault);
