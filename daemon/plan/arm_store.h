/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "proto/message.h"

/*
 * Arms as they are kept: STATE/arms/ID.arm is the canonical form whose digest is ID, and
 * STATE/arms/files/SHA256 the content of mapped files, each once: mode 0400, or 0500 as SHA256.x for one
 * that is to be executed, since what is bound has the mode it has. What is there is never written
 * again: it comes under its name with all of its bytes, by a rename. So a name is proof of a content,
 * and what does not match its name is damaged, and no Arm.
 *
 * All by descriptor, no link followed, on any thread.
 */
#define ARM_STORE_FILE_BYTES_MAX (1ull << 30) /* of one mapped file */
#define ARM_STORE_ARM_BYTES_MAX (768u << 10)  /* of a canonical form, which fits a frame */

struct arm_store {
	int fd;	      /* STATE/arms */
	int files_fd; /* its files */
};

#define ARM_STORE_INIT ((struct arm_store){.fd = -1, .files_fd = -1})

/* Makes the folders where they are missing, and clears what a crash left half written. */
int arm_store_open(struct arm_store *ret_store, int state_fd, const char *state_folder,
		   struct fault *ret_fault);
void arm_store_close(struct arm_store *store);

/* Durable once it is 0. *ret_existed: it was there, as it must be. */
int arm_store_add(const struct arm_store *store, const char *id, const void *bytes, size_t size,
		  bool *ret_existed);
/* Its bytes, whole and proved by their digest: -ENOENT, -EBADMSG (damaged). To be freed. */
int arm_store_read(const struct arm_store *store, const char *id, void **ret_bytes,
		   size_t *ret_size, uint64_t *ret_prepared_at);
/*
 * The whole id of an Arm that begins with these digits, of which there are 8 or more: -EINVAL (no such
 * digits), -ENOENT, -ENOTUNIQ (several).
 */
int arm_store_find(const struct arm_store *store, const char *digits,
		   char ret_id[ARM_ID_BYTES + 1]);
/* All ids, in order; owned. -E2BIG beyond ARM_STORE_ARMS_MAX. */
#define ARM_STORE_ARMS_MAX 10000
int arm_store_list(const struct arm_store *store, struct text_list *ret_ids);

/* A mapped file's content. */
struct arm_store_file {
	char sha256[ARM_ID_BYTES + 1];
	uint64_t size;
	bool executable; /* which of both it is, or is to be */
};

/*
 * Of what fd (O_PATH will do) is open on: its digest and size, and a copy of it where store is not NULL,
 * durable with the next arm_store_add. file->executable is the caller's to say. -EFBIG, -EINVAL (no
 * regular file), -EBUSY when it changes meanwhile.
 */
int arm_store_take(const struct arm_store *store, int fd, struct arm_store_file *file);
/* The content, to be read or bound. -ENOENT; -EBADMSG when it is not of this size. */
int arm_store_open_file(const struct arm_store *store, const struct arm_store_file *file,
			int *ret_fd);
/* Whether its content still is that of its name: reads all of it. */
int arm_store_check_file(const struct arm_store *store, const struct arm_store_file *file);
/* Those of all files of an Arm: for threads. */
int arm_store_check(const struct arm_store *store, const struct arm_file_list *files);

/* The content of a file of an Arm, as it is kept. -EBADMSG: it was gone when it was frozen. */
int arm_store_file_of(const struct arm_file *file, struct arm_store_file *ret_file);

/* --- What nobody names (arm_collect.c) ------------------------------------------------------------ */

#define ARM_STORE_COLLECT_MAX 100000 /* contents that are looked at */

struct arm_store_collected {
	size_t files;
	uint64_t bytes;
};

/*
 * Removes the contents that no Arm names. To be called before anything is prepared: what is taken and not
 * yet named would be among them. Where an Arm cannot be read, nothing is removed: -EBADMSG, -E2BIG.
 */
int arm_store_collect(const struct arm_store *store, struct arm_store_collected *ret_collected);

/*
 * Removes an Arm, whatever is in its file, and then the contents that no Arm names; as arm_store_collect in
 * all else, the time at which it may be called too. Once this is 0 or the process was killed, there is no
 * such Arm any more; *ret_left: 0, or why contents of it may be left, which the next start looks for.
 * -ENOENT; -EPERM: what has its name is no file of ours.
 */
int arm_store_remove(const struct arm_store *store, const char *id,
		     struct arm_store_collected *ret_collected, int *ret_left);

/* The file that an Arm is kept in. */
#define ARM_STORE_NAME_BYTES (ARM_ID_BYTES + sizeof(".arm"))
void arm_store_name(const char *id, char ret_name[ARM_STORE_NAME_BYTES]);

/* The name of a content in `files`, and whether it is that of one. */
#define ARM_STORE_CONTENT_BYTES (ARM_ID_BYTES + 3)
void arm_store_content_name(const struct arm_store_file *file,
			    char ret_name[ARM_STORE_CONTENT_BYTES]);
bool arm_store_is_content(const char *name);
/* take is called with each name in `files`, whatever it is, until it returns something else than 0. */
int arm_store_each_content(const struct arm_store *store,
			   int (*take)(void *context, const char *name), void *context);
