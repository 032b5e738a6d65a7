/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/loop.h"
#include "login.h"
#include "login_file.h"

/*
 * One login between the host's file and a Trial's copy. What either side changes reaches the other:
 * the Trial's by way of the gate (gate.h), the newer one where both changed. The host's file is
 * replaced only by compare-and-swap, durably, under the login's lock, and only with what passed;
 * else it is not touched, whatever a Trial does.
 *
 * carry_look does all there is to do at one moment, and may be called at any: by the keeper's loop
 * when a file changed, once more when the sandbox is empty, and by a task when a keeper was killed.
 * For that the version that both sides last had is remembered in the Trial's folder.
 *
 * What is damaged may be half written: it counts once it stayed so for CARRY_SETTLE_SECONDS, or at
 * the end. Then it is kept aside and the login is marked (login_state.h). The mark goes if the Trial
 * itself mends its copy.
 */
#define CARRY_SETTLE_SECONDS 3.0
/* How long the end waits for the lock, and for a host's program that is writing. */
#define CARRY_PATIENCE_SECONDS 5.0

struct carry {
	struct message *message; /* the description's */
	struct keeper_login login;
	struct gate_rules rules;
	int folders[LOGIN_FDS]; /* by enum login_descriptor; owned */
	int lock;
	char key[LOGIN_KEY_BYTES];

	struct login_content last; /* what both sides last had */
	uint64_t carried_out;
	uint64_t carried_in;
	uint64_t refreshed_at; /* 0: never */

	enum login_state state;
	char reason[GATE_REASON_BYTES];
	double pause; /* seconds until it is worth looking again, after CARRY_LOOK_AGAIN */

	/* The copy that was found damaged. */
	bool doubted;
	bool marked; /* and told */
	struct stat doubted_st;
	double doubted_since;
	double held_since; /* the Trial has it open and the host's is to come in; 0: not so */
};

#define CARRY_INIT ((struct carry){.folders = {-1, -1, -1, -1, -1, -1}, .lock = -1})

/* Takes over the descriptors, whatever it returns; -EBADMSG for a description that is none. */
int carry_open(struct carry *carry, int descriptors[LOGIN_FDS]);
void carry_done(struct carry *carry);

enum carry_look { CARRY_LOOK_DONE, CARRY_LOOK_AGAIN };

/*
 * Makes the Trial's copy, if the state is good afterwards; it may be absent, damaged or suspect. Of
 * a home, only what must be remembered. A mark that is older than the host's login is removed: the
 * person has signed in since.
 */
enum carry_look carry_prepare(struct carry *carry);

/* CARRY_LOOK_AGAIN: whatever happens, it should be looked at again, in carry->pause seconds. */
enum carry_look carry_look(struct carry *carry);

/*
 * The sandbox is empty. Waits if it must, for CARRY_PATIENCE_SECONDS at most. What was carried for
 * good is removed from the Trial's folders; what could not be stays, for another try.
 */
void carry_finish(struct carry *carry);

/* Whether the host has a login (state good, absent, damaged, suspect); nothing is written. */
enum carry_look carry_check(struct carry *carry);
/* Puts the last good one in the host's place, and takes the mark away; absent when there is none. */
enum carry_look carry_restore(struct carry *carry);

/* For a record: points into carry. seconds: of the description. */
void carry_fill(const struct carry *carry, struct login_result *ret);

/*
 * Calls carry_look whenever a file of either side changes, for as long as it is in a loop. changed
 * is called when something was carried, or the state is another. Where the kernel gives the person
 * no more inotify instances it looks four times a second.
 */
struct carry_watch {
	struct carry *carry;
	struct loop *loop;
	struct source source;
	struct timer timer;
	int inotify;
	int production; /* watch descriptors */
	int copy;
	int copy_file;
	bool polling;
	void (*changed)(struct carry_watch *watch);
	void *context; /* the caller's */
};

#define CARRY_WATCH_INIT                                                                           \
	((struct carry_watch){.source = SOURCE_INIT,                                               \
			      .timer = TIMER_INIT,                                                 \
			      .inotify = -1,                                                       \
			      .production = -1,                                                    \
			      .copy = -1,                                                          \
			      .copy_file = -1})

/* And looks at once: something may have changed before. */
int carry_watch_start(struct carry_watch *watch, struct carry *carry, struct loop *loop,
		      void (*changed)(struct carry_watch *watch));
/* Calls nothing any more. */
void carry_watch_stop(struct carry_watch *watch);
/* And frees: the kernel takes some ten milliseconds for it, in which nobody should have to wait. */
void carry_watch_done(struct carry_watch *watch);
