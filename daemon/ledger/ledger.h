/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "base/fault.h"

/*
 * The ledger: every accepted Trial, for ever, in SQLite. The only user of sqlite3.
 *
 * One writer thread; calls are queued from the loop and answered on the loop, in order. All calls
 * that wait when the thread comes round share one transaction and its one fsync (group commit),
 * and no call is answered before that commit: what a reader is told is durable too. Reads go the
 * same way, so a call sees every call made before it.
 *
 * When a transaction cannot be committed each of its changes gets the error and nothing of it
 * remains; reads in it are answered from what was there before. Every change appends a row to
 * `events`, in the same transaction.
 */
typedef struct Ledger Ledger;

/* A Trial as the ledger has it. Each string and blob is its own allocation; any may be NULL. */
struct ledger_row {
	uint64_t id;
	char uuid[37];
	enum state state;
	int outcome; /* enum outcome, -1 before the end */
	int64_t priority;
	uint64_t submitted_at; /* microseconds UTC, 0 for none, as all below */
	uint64_t started_at;
	uint64_t ended_at;
	int backend; /* enum backend, -1 before the start */
	char *key;
	char *unit;    /* its scope */
	char *boot_id; /* of the boot it was started in */
	char *canceled_by;
	char *plan_digest;
	struct blob spec;   /* launch_request, encoded; without the prompt */
	struct blob facts;  /* trial_facts of trial.h, encoded by the owner: notes and the plan */
	struct blob record; /* outcome_record, encoded; empty before the end */
};

/* A state change of a Trial, as the ledger keeps each for ever, until its Trial is pruned. */
struct ledger_event {
	uint64_t number;	/* grows, never given again */
	uint64_t at;		/* microseconds UTC */
	enum state state;	/* reached by it */
	int before;		/* enum state, -1: the Trial is new */
	struct ledger_row *row; /* the Trial as it is now */
};

/* A Trial that has ended, or that has gone (then without a time). */
struct ledger_ended {
	uint64_t id;
	uint64_t ended_at;
};

struct ledger_call;
typedef void (*ledger_done)(struct ledger_call *call);

/*
 * Embedded by the caller, alive until done is called; done may free it, so the ledger does not
 * look at it again. Results are valid until done returns, but for those that were taken: row with
 * ledger_steal_row, rows[i] by setting it to NULL; free them with ledger_row_free.
 */
struct ledger_call {
	ledger_done done;
	/*
	 * 0 or as each call says. When the transaction failed: -ENOSPC, -EIO, -EROFS, -EBUSY,
	 * -ENOLINK (the file is no longer at its path), -EUCLEAN (it is damaged: nothing is written
	 * any more), -EBADMSG (a row makes no sense; others do), -ENOMEM. -ESHUTDOWN after
	 * ledger_close. ledger_fault has words for each.
	 */
	int result;
	struct ledger_row *row;
	struct ledger_row **rows;
	struct ledger_event *events; /* count of them */
	struct ledger_ended *ended;  /* count of them */
	size_t count;
	uint64_t number;
	uint64_t at;
	uint64_t newest;
	struct ledger_work *work; /* the ledger's */
	struct ledger_call *next; /* the ledger's */
};

/* What a launch brings. Copied. */
struct ledger_new {
	uint64_t id; /* from ledger_next_id */
	const char *uuid;
	int64_t priority;
	uint64_t submitted_at;
	const char *key;  /* or NULL */
	struct blob body; /* what must be equal for the key to mean the same Trial */
	struct blob spec;
	struct blob facts; /* maybe empty */
	struct pair_list labels;
	bool patient;	    /* as of a change */
	bool only_existing; /* nothing is inserted: the Trial that has the key, or -ENOENT */
};

/* What a change sets beside the state; NULL, 0, -1 and empty leave a column as it is. */
struct ledger_change {
	enum state state;
	int outcome;
	int backend;
	uint64_t started_at;
	uint64_t ended_at;
	const char *uuid; /* another attempt has another */
	const char *unit;
	const char *boot_id;
	const char *canceled_by;
	const char *plan_digest;
	struct blob facts;
	struct blob record;
	/*
	 * Nobody waits for it: its commit may wait a few milliseconds for the call that comes next,
	 * of whatever kind, to share that one's. Order and durability are those of any other.
	 */
	bool patient;
};
#define LEDGER_CHANGE(to) ((struct ledger_change){.state = (to), .outcome = -1, .backend = -1})

/* Which rows a list wants, newest (largest id) first. */
struct ledger_filter {
	int state;   /* -1: any */
	int outcome; /* -1: any */
	uint64_t since;
	uint64_t before; /* ids below this; 0: no bound */
	struct pair_list labels;
	size_t limit;
};

/*
 * What is known of Trials beside the ledger's file: of their folders and keepers. Asked from within
 * ledger_new, when the file is damaged, gone, or older than they are. Each returns 0 or -errno.
 */
struct ledger_proof {
	struct ledger_row *row; /* the Trial as it is now; NULL: nothing is known of it */
	struct blob body;	/* with a key, as in ledger_new; its own allocation */
};

struct ledger_witness {
	/* Calls found for each Trial that has a folder or, with all, a keeper. Ends with what it
	 * returns when that is not 0. */
	int (*each)(void *context, bool all, int (*found)(void *seeker, uint64_t id), void *seeker);
	/*
	 * salvaged: an unended Trial as the file had it at an earlier time, to be told what it is
	 * now; or NULL: the file has nothing of this Trial.
	 */
	int (*prove)(void *context, uint64_t id, const struct ledger_row *salvaged,
		     struct ledger_proof *ret_proof);
	struct pair in_doubt; /* a setting to be made when those of the file could not be read */
	void *context;
};

struct ledger_options {
	uv_loop_t *loop;
	const char *state_folder;	      /* canonical; its lock is the caller's */
	const struct ledger_witness *witness; /* or NULL; for the call */
	/* Once, on the loop: the file was found damaged, and nothing is written to it any more. The
	 * next ledger_new sets it aside. Or NULL. */
	void (*damaged)(void *context);
	void *context;
};

/*
 * Opens (creating, migrating) `ledger.db` in the state folder. Refuses a newer schema and another
 * program's file, naming it. A damaged one is set aside by name and rebuilt.
 */
int ledger_new(Ledger **ret_ledger, const struct ledger_options *options, struct fault *ret_fault);
/* The same with neither witness nor anybody to be told. */
int ledger_open(Ledger **ret_ledger, uv_loop_t *loop, const char *state_folder,
		struct fault *ret_fault);

/* What happened to this ledger, as long as the note of it is in the folder; or NULL. *ret_news
 * (optional): when it was opened just now. */
const char *ledger_note(const Ledger *ledger, bool *ret_news);

/*
 * What is wrong, in words, for an error of a call, or for 0 as it is now: FAULT; 0 when nothing is;
 * -ENOMEM.
 */
int ledger_fault(const Ledger *ledger, int error, struct fault *ret_fault);

/*
 * Answers what is queued, stops the thread and closes; `closed` is called on the loop when the
 * ledger is gone.
 */
void ledger_close(Ledger *ledger, void (*closed)(void *context), void *context);

/*
 * A fresh id: never given before, also not in an earlier life of the daemon that committed it, and
 * none that the witness knows.
 */
uint64_t ledger_next_id(Ledger *ledger);

/*
 * At start, while no call is waiting: calls each for every Trial that has not ended, oldest first.
 * Returns what each returned when that is not 0. Calls that each makes run afterwards.
 */
int ledger_each_unended(Ledger *ledger, int (*each)(const struct ledger_row *row, void *context),
			void *context);

/*
 * The changes that these two make are numbered: with the result 0, number and at are the change's,
 * as ledger_events will tell it.
 */

/*
 * 0: inserted, QUEUED, row is it. -EEXIST: the key was used with the same body, row is that Trial.
 * -ENOTUNIQ: the key was used with another body, row is that Trial.
 */
void ledger_insert(Ledger *ledger, struct ledger_call *call, const struct ledger_new *trial);

/*
 * Compare-and-swap: changes the row only if its state is in `from` (bits 1 << STATE_x). 0 and row
 * as it now is; -ESTALE and row as it is (with number and at of its last change when that led to
 * the same state); -ENOENT.
 */
void ledger_change(Ledger *ledger, struct ledger_call *call, uint64_t id, unsigned int from,
		   const struct ledger_change *change);

/* 0 and row, or -ENOENT. */
void ledger_get(Ledger *ledger, struct ledger_call *call, uint64_t id);

/* 0 and rows, count; number: the cursor for the next page, 0 when there is none. A row that makes no
 * sense is left out. */
void ledger_list(Ledger *ledger, struct ledger_call *call, const struct ledger_filter *filter);

/* Whether the row with these facts is wanted; asked on the ledger's thread. */
typedef bool (*ledger_wanted)(const struct blob *facts, const void *context);

/*
 * 0 and rows, count: Trials other than this one that ran after it had ended, or run still, and whose
 * facts are wanted, newest (largest id) first, LIST_PAGE_MAX at most. context stays as it is until the
 * call is answered.
 */
void ledger_list_since_end(Ledger *ledger, struct ledger_call *call, uint64_t id,
			   ledger_wanted wanted, const void *context);
/*
 * 0 and rows, count: Trials that were launched after this one and whose launches hold these bytes,
 * newest first, LIST_PAGE_MAX at most. named is copied. It reads all launches since.
 */
void ledger_list_naming(Ledger *ledger, struct ledger_call *call, uint64_t id, struct blob named);

/*
 * How many Trials have these bytes in their facts: looked for in a page of LEDGER_COUNT_PAGE Trials, newest
 * first, with ids below before (0: from the newest on), so that others get their turn in between. 0 and
 * number; newest: how many of them have not ended; at: before of the next page, 0: that was all.
 * named is copied.
 */
#define LEDGER_COUNT_PAGE 1000
void ledger_count_named(Ledger *ledger, struct ledger_call *call, uint64_t before,
			struct blob named);

/*
 * 0 and events, count: a page of the changes after number `after`, oldest first, of one Trial when
 * trial is not 0. number: where the next page begins; `after` itself when nothing came after it.
 * newest: the number that was given last, whichever Trial's.
 */
void ledger_events(Ledger *ledger, struct ledger_call *call, uint64_t after, uint64_t trial);

/* 0 and newest alone. */
void ledger_newest_event(Ledger *ledger, struct ledger_call *call);

/* A setting, kept until it is set again; value NULL: it is gone. Copied. 0. */
void ledger_set(Ledger *ledger, struct ledger_call *call, const char *name, const char *value);

/* At start, while no call is waiting. *ret_value is the caller's; NULL when it is not set. */
int ledger_setting(Ledger *ledger, const char *name, char **ret_value);

/*
 * 0 and ended, count: those that have ended, newest (largest id) first; number: the cursor for the
 * next page, 0 when there is none. Of the filter, before, labels and limit count.
 */
#define LEDGER_ENDED_MAX 10000 /* in a page */
void ledger_list_ended(Ledger *ledger, struct ledger_call *call,
		       const struct ledger_filter *filter);

/*
 * Prunes those of these Trials that have ended: their rows are gone, and it is noted that their
 * folders are to go. 0 and ended, count: which. ids are copied.
 */
void ledger_prune(Ledger *ledger, struct ledger_call *call, const uint64_t *ids, size_t count);
/* 0 and ended, count: Trials that are gone and whose folders are still to go; at most `most`. */
void ledger_list_pruned(Ledger *ledger, struct ledger_call *call, size_t most);
/* At start, while no call is waiting: whether there are any. */
int ledger_any_pruned(Ledger *ledger, bool *ret_any);
/* Their folders are gone. */
void ledger_pruned(Ledger *ledger, struct ledger_call *call, const uint64_t *ids, size_t count);
/*
 * Deletes the changes of Trials that are no more, a part of them: 0 and number, to be given as
 * `after` in the next call, 0 when that was all.
 */
void ledger_prune_events(Ledger *ledger, struct ledger_call *call, uint64_t after);

/* 0 and number: how many Trials have ended. Answered from a counter, not by a scan. */
void ledger_count_ended(Ledger *ledger, struct ledger_call *call);

/* Within done: takes call->row, which becomes NULL. */
struct ledger_row *ledger_steal_row(struct ledger_call *call);
struct ledger_row *ledger_row_free(struct ledger_row *row);
