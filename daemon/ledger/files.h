/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/stat.h>

#include "base/fault.h"

/*
 * The ledger's files in the state folder, by the folder's descriptor: where they are, whether they
 * are still there, and how one ledger takes the place of another.
 */
#define LEDGER_FILE "ledger.db"

/* "-2026-11-29T19-45-00Z": what sets one rebuild's files apart from another's. */
#define STAMP_BYTES 32
/* Of a note: what happened, for a person; one line. */
#define NOTE_BYTES_MAX 1024u

/* A stamp of now that no file in the folder bears. */
int files_stamp(int folder_fd, char stamp[STAMP_BYTES]);

/*
 * A new file for a ledger that is made beside the old one; what an earlier try left is removed.
 * Nothing of it counts before files_publish.
 */
#define LEDGER_FILE_BUILDING LEDGER_FILE ".building"
int files_build(int folder_fd);
/* What was built is whole: synced, and named so that a crash cannot undo it any more. */
int files_publish(int folder_fd, const char *stamp);
/*
 * What was published takes the ledger's place; what is there (with -wal and -shm) is set aside as
 * ledger.db.corrupt STAMP. Nothing is ever overwritten. A crash in between is made good by
 * files_recover.
 */
int files_switch(int folder_fd, const char *stamp);
/* At start: finishes what a crash interrupted. *ret_switched: a published ledger took its place. */
int files_recover(int folder_fd, bool *ret_switched);

/*
 * Keeps what happened as ledger.db.KIND STAMP.txt, synced. The newest note is what status and doctor
 * tell, as long as its file is there.
 */
int files_note(int folder_fd, const char *kind, const char *stamp, const char *text);
/* *ret_text is the caller's; NULL when there is none. *ret_name (optional): its file, likewise. */
int files_note_newest(int folder_fd, char **ret_text, char **ret_name);

/*
 * Leaves word for the next start that the ledger is damaged, and how that was seen. It is taken
 * back when the ledger is set aside.
 */
int files_mark_damaged(int folder_fd, const char *what);
/* *ret_what is the caller's; NULL when there is no such word. */
int files_damaged(int folder_fd, char **ret_what);

/* Where an open ledger's files are, and which they were when it was opened. */
struct files_place {
	char *path;	/* of ledger.db */
	char *log_path; /* of its -wal */
	dev_t device;
	ino_t file;
	ino_t log;
};

/* The ledger is open, and has written. */
int files_place_init(struct files_place *place, const char *path);
void files_place_done(struct files_place *place);
/* 0 while both files are at their paths, else -ENOLINK: gone, moved, replaced. May be called from
 * any thread. */
int files_place_check(const struct files_place *place);
