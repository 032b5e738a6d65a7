/* SPDX-License-Identifier: MIT */
#pragma once

#include "session_plan.h"

/*
 * A program asked for its version, where neither its release nor its path tells it: it is run with
 * VersionArguments= in a sandbox with nothing in it but its release. Never in the person's own home, where
 * it would write: without a sandbox it has an empty one, below the runtime folder.
 *
 * Made and done away with on the loop, since it holds a plan; asked on any thread.
 */
#define PROGRAM_ASK_MILLISECONDS 10000

struct program_question {
	struct plan *plan;
	int bwrap;     /* O_PATH */
	int arguments; /* memory file of bwrap's */
	int seccomp;
	char *folder; /* of its own, without a sandbox; NULL: it has one */
	int folder_fd;
};

#define PROGRAM_QUESTION_INIT                                                                      \
	((struct program_question){.bwrap = -1, .arguments = -1, .seccomp = -1, .folder_fd = -1})

/* bwrap_fd is duplicated. 0, FAULT, -errno. */
int program_question_make(struct program_question *ret, const struct plan_host *host, int bwrap_fd,
			  const struct session_plan *session, struct fault *ret_fault);
void program_question_done(struct program_question *question);

/* ret_version "": it did not tell in time, or not in words that hold a version. */
int program_ask(const struct program_question *question,
		char ret_version[PROGRAM_VERSION_BYTES_MAX + 1]);

/* The first word of what it printed that is, or ends in, a version; "" when there is none. */
int program_version_of_text(const char *text, char ret_version[PROGRAM_VERSION_BYTES_MAX + 1]);
