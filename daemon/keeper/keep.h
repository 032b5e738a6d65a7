/* SPDX-License-Identifier: MIT */
#pragma once

#include "channel.h"
#include "logins.h"
#include "tree_copy.h"

/*
 * What of a Trial's home outlives it: its session, which a later Trial can go on with, and, if that
 * was asked for, all that it left, for a look. And the way back: an earlier Trial's session is put
 * into the fresh home before anything runs there.
 *
 * The home is known by descriptors of its mounts, that of the fresh home and that of the folder that
 * its login has there, taken when the sandbox has told what it is and nothing has run in it. They
 * stay when the sandbox is gone. A path is looked up below them alone, through no link and no other
 * mount: what else was bound in the home is not the session's.
 *
 * The work is a child's, so that no disk and no tree, whatever it is like, can keep the keeper from
 * its work; whoever has it done gives it KEEP_SECONDS. It ends with its keeper. What it makes bears
 * the name NAME.partial until it is done: that is all that is left of one that was ended.
 *
 *   STATE/trials/ID/session/PATH   a path of State=, without its "~/"
 *   STATE/trials/ID/home/…
 */
#define KEEP_SECONDS 30.0
#define KEEP_SESSION "session"
#define KEEP_HOME "home"
#define KEEP_SESSION_BYTES_MAX (256u * 1024u * 1024u)
#define KEEP_SESSION_ENTRIES_MAX 20000u
#define KEEP_HOME_BYTES_MAX (512u * 1024u * 1024u)
#define KEEP_HOME_ENTRIES_MAX 100000u
#define KEEP_SECRETS_MAX 32

/* Of one copy. Shared with the child, which fills it. */
struct keep_copy {
	bool wanted;
	bool done;  /* in its place */
	bool empty; /* there was nothing */
	int error;  /* 0, or why it is not done */
	struct tree_result tree;
};

struct keep_work {
	struct keep_copy session;
	struct keep_copy home;
};

struct keep {
	const struct keeper_plan *plan;
	int home; /* O_PATH; -1: nothing is to be kept or put back */
	int bound;
	pid_t pid;
	int pidfd; /* of the child; -1: there is none */
	struct keep_work *work;
	struct tree_secret secrets[KEEP_SECRETS_MAX];
	size_t secret_count;
	struct kept kept[2];
	char reasons[2][160];
	const char *examples[2][TREE_EXAMPLES_MAX];
};

#define KEEP_INIT ((struct keep){.home = -1, .bound = -1, .pidfd = -1})

/* Of the sandbox whose root this is. 0: also when there is nothing to do for this plan. */
int keep_open(struct keep *keep, const struct keeper_plan *plan, int root);
/* The same without a sandbox: of the home in the Trial's folder, and where its link to a login leads. */
int keep_open_bare(struct keep *keep, const struct keeper_plan *plan, int folder);
void keep_done(struct keep *keep);

/* Reads the logins as they are now, so that no copy of them is kept. */
void keep_learn_logins(struct keep *keep, const struct logins *logins);

/*
 * Starts the child, whose pidfd then is keep->pidfd. restore: session_fd is the kept session of an
 * earlier Trial, and cgroup (or -1) where what it writes counts. save: folder_fd is the Trial's. It
 * has the leases, and no other descriptor of ours. -errno.
 */
int keep_restore(struct keep *keep, int session_fd, int cgroup, const int *leases, size_t count);
int keep_save(struct keep *keep, int folder_fd, const int *leases, size_t count);
/* Ends it if it is still at work. */
void keep_stop(struct keep *keep);

/* After a restore: 0, or FAULT, void session_unavailable. */
int keep_restored(struct keep *keep, struct fault *ret_fault);
/* After a save, for the record, which points into keep. */
void keep_fill(struct keep *keep, struct outcome_record *record);
