/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/harness.h"

/*
 * What a Harness's sessions read of the person's own, as it is now: of each path of [Home] ReadOnly= and
 * Copy= that is there, the SHA-256 of the file, or folder_digest() of the folder. So an Arm can tell that
 * its instructions, rules or hooks are other ones than they were. A link at the end is followed, as a
 * session would.
 */
#define OWN_FILE_BYTES_MAX (64u << 20)

/* Where they are; owned. To be done with pair_list_done(). 0 or -ENOMEM. */
int own_files_find(struct pair_list *ret_paths, const struct harness *harness, const char *home);
/*
 * Blocks: for threads. Values of ret_digests: the digest, or where it cannot be had why, in a word or
 * two: "too large", "unreadable". What is not there is left out. 0 or -ENOMEM.
 */
int own_files_digest(const struct pair_list *paths, struct pair_list *ret_digests);
