/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/message.h"

/*
 * A copy of a tree that something unknown has written: folders and plain files, and nothing else.
 *
 * Left out: links, FIFOs, sockets, devices; a file with several names, which may be one of a login's;
 * a login's own files, and files of the same content; what lies deeper than TREE_DEPTH_MAX, or would
 * be more than the caller allows. Passed over without a word: what something is mounted on.
 *
 * By descriptor all along: what a name is is looked at once, and that is what is read. No link is
 * followed, nothing but a plain file is ever opened, no name is interpreted. A folder or file that its
 * owner closed to himself (mode 000) is opened to him again. Copies are 0700 and 0600; holes stay holes.
 */
#define TREE_DEPTH_MAX 40
#define TREE_EXAMPLES_MAX 8
#define TREE_EXAMPLE_BYTES 256
#define TREE_SECRET_BYTES_MAX (64u * 1024u)

/* A file that is never copied: by what it is, and by what it holds. */
struct tree_secret {
	dev_t device;
	ino_t inode;
	size_t size; /* 0: its content does not count */
	char *bytes; /* owned */
};

struct tree_rules {
	uint64_t bytes;	  /* most, of all files, holes counted */
	uint64_t entries; /* most that are looked at */
	const struct tree_secret *secrets;
	size_t secret_count;
	const struct text_list *except;	  /* paths, as `path` has them */
	const struct text_list *unspoken; /* passed over without a word */
};

/* Plain memory, so that another process can fill it. */
struct tree_result {
	uint64_t bytes;
	uint64_t files;
	uint64_t entries; /* looked at */
	uint64_t left_out;
	bool cut; /* something was left out for its size, number or depth */
	size_t example_count;
	char examples[TREE_EXAMPLES_MAX][TREE_EXAMPLE_BYTES]; /* longer ones are cut off */
};

/*
 * Copies name in from_fd to to_name in to_fd. path is what it is called in result and in except, and
 * is "" for nothing; several trees may go into one result. A folder that is at to_name is added to
 * (-EXDEV when something is mounted there), a file is not replaced. 0, also when all of it was left out or is not there; -errno of what failed,
 * with what was copied so far staying.
 */
int tree_copy(const struct tree_rules *rules, struct tree_result *result, int from_fd,
	      const char *name, const char *path, int to_fd, const char *to_name);

/* Opens a folder to its owner, who closed it to himself. */
int tree_allow(int folder_fd);

/* Adds an entry to those that were left out. */
void tree_left_out(struct tree_result *result, const char *path);

/* What fd (of a folder) has at name: 0 and filled when it is a plain file, -ENOENT, -errno. */
int tree_secret_read(struct tree_secret *ret_secret, int folder_fd, const char *name);
void tree_secret_done(struct tree_secret *secret);
