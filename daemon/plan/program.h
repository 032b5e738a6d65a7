/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/stat.h>

#include "base/config.h"
#include "harness.h"
#include "place.h"

/*
 * The program of a Harness on this host: which file it is, what of its release has to be visible
 * inside, and what runs it when it is a script. From here on descriptors are the truth: what is
 * executed is what was looked at, whatever is installed in its place meanwhile.
 */
#define PROGRAM_VERSION_BYTES_MAX 64

struct program {
	struct place file;	  /* what is executed, or what the interpreter is given */
	struct place release;	  /* the folder that is bound; fd -1: the file alone */
	struct place interpreter; /* fd -1: none */
	char *version;		  /* as its release or its path tells it; NULL: they do not */
};

#define PROGRAM_INIT                                                                               \
	((struct program){.file = PLACE_INIT, .release = PLACE_INIT, .interpreter = PLACE_INIT})

/* Everything is borrowed. */
struct program_request {
	const struct harness *harness;
	const char *executable;	 /* as the launch names it, absolute, or NULL */
	const char *interpreter; /* that an Arm has frozen: used where it still is one; or NULL */
	const char *home;	 /* canonical */
	const char *folders;	 /* of trialsd.conf, separated by colons, or NULL */
	const char *path;	 /* the daemon's PATH, or NULL */
};

/*
 * Looks where the launch says, else in folders, in PATH and where its installer puts it, in this
 * order. The interpreter of a script is looked for beside its launcher, also when the launch names
 * what that leads to. Refused (a void's cause: session_unavailable): none is there, what is there cannot be
 * executed, its release is not to be bound, there is nothing to run the script with.
 */
int program_find(struct program *ret_program, const struct program_request *request,
		 struct fault *ret_fault);
void program_done(struct program *program);

/* The version that a file's or folder's name tells: 1.0.41 of grok-1.0.41-linux. NULL: none. */
int program_version_of_name(const char *name, char **ret_version);

/*
 * What identifies the content of a file for as long as nobody means to deceive: a digest is kept by
 * it (a file of some hundred megabytes takes a second).
 */
struct program_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
	struct timespec changed;
};

#define PROGRAM_DIGEST_BYTES 65 /* hexadecimal, with its NUL */
#define PROGRAM_BYTES_MAX (4ull << 30)
#define PROGRAMS_KNOWN_MAX 64

struct program_known {
	struct program_stamp stamp;
	char digest[PROGRAM_DIGEST_BYTES];
	char version[PROGRAM_VERSION_BYTES_MAX +
		     1]; /* as it told itself; "": it was not, or did not */
};

struct programs_known {
	struct program_known items[PROGRAMS_KNOWN_MAX];
	size_t count;
	size_t next; /* to be forgotten for a new one */
};

/* Of what fd (O_PATH will do) is open on. */
int program_stamp_of(int fd, struct program_stamp *ret_stamp);
bool program_stamp_equal(const struct program_stamp *a, const struct program_stamp *b);

/*
 * SHA-256 of the whole file, and the stamp that it is of: may take long, on any thread. -EFBIG, and
 * -EBUSY when the file does not stop changing.
 */
int program_digest(int fd, struct program_stamp *ret_stamp, char ret_digest[PROGRAM_DIGEST_BYTES]);

/* NULL when it is not known. */
const struct program_known *programs_find(const struct programs_known *known,
					  const struct program_stamp *stamp);
void programs_learn(struct programs_known *known, const struct program_known *program);
