/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>
#include <uv/tree.h>

#include "queue/home_guard.h"
#include "queue/home_holder.h"

/*
 * The lease on a Trials home: one Trial at a time, across daemons, restarts and whoever else takes
 * flock(2) on the folder; and the wipe before each. A home is known by device and inode.
 *
 * As with a repository, a Trial that finds its home taken waits with the home, so that it holds no
 * slot and blocks nobody: higher priority first, then the smaller id. When the home may be free the
 * first of those waiting is called back into the queue, and takes it when its turn comes, or waits
 * on. It must hold nothing else meanwhile.
 *
 *   get       opens the home and compares it (home_guard.h): before a launch is accepted, and again
 *             when its turn comes
 *   take      the lease, or a place among those that wait
 *   wipe      on a thread; then the home holds its login only, and the Trial may start
 *   lock      the descriptor to be passed to keeper and pid 1 as a lease: an open file description
 *             of its own, so that the flock falls when the last of them is gone
 *   release   once nothing of the Trial is left
 *
 * A keeper that outlived its trialsd has the flock by what it inherited: take_again. A home is
 * taken into use when its flock is free and no process is left of the Trial that had it last,
 * whichever daemon's that was; for this its control group is noted beside the locks that all
 * daemons share.
 */
typedef struct Homes Homes;
typedef struct Home Home;

/* Embedded in what waits; zero, but for what the owner sets. */
struct home_waiter {
	RB_ENTRY(home_waiter) by_turn;
	Home *home;	  /* that it waits for or has */
	uint64_t id;	  /* the owner's, as the next three */
	int64_t priority; /* higher first */
	/*
	 * Its turn may have come: home_take again, or home_release as soon as it is clear that it will
	 * wait for something else; until then nobody else is called. From the loop, never from within
	 * a call.
	 */
	void (*called)(struct home_waiter *waiter);
	/*
	 * Of home_wipe; likewise. 0; FAULT (the Trial is void); -ESTALE: the path is another folder by
	 * now, release and get again; -errno. Not called once it was released.
	 */
	void (*wiped)(struct home_waiter *waiter, int result, struct fault *fault);
	bool waiting;
	bool has;
};

/* locks_fd: the folder of locks that all daemons share (borrowed), or -1. */
int homes_new(Homes **ret_homes, uv_loop_t *loop, int locks_fd);
/*
 * Once all homes were put. What is being deleted goes on with this process, and is finished by
 * another's life.
 */
void homes_close(Homes *homes, void (*closed)(void *context), void *context);

/*
 * The home at where->path, referenced; where is used during the call only. What a crash left of an
 * earlier wipe is deleted from now on. FAULT: it is none (missing, production's, …), or there is no
 * login in it.
 */
int home_get(Home **ret_home, Homes *homes, const struct home_where *where,
	     struct fault *ret_fault);
/* Drops the reference; NULL is fine. */
void home_put(Home *home);

/* Whether a Trial would have it at once, as far as this daemon knows. */
bool home_is_free(const Home *home);
/* True when it has it; else it waits. */
bool home_take(Home *home, struct home_waiter *waiter);
/* A Trial that runs already, found at start: it has it, whoever else does. */
void home_take_again(Home *home, struct home_waiter *waiter);
/* It has it no longer, or waits no longer. */
void home_release(struct home_waiter *waiter);

/* For one that has it: empties it and calls waiter->wiped. where is copied. */
int home_wipe(struct home_waiter *waiter, const struct home_where *where);
/* The locked descriptor, borrowed; -1 for one that took it again. */
int home_lock(const struct home_waiter *waiter);
/* The folder, without the lock: what the Trial has as its home. Borrowed. */
int home_fd(const Home *home);
/* Notes the control group of what runs in it, as /proc/PID/cgroup has it: once there is one. */
int home_note_group(const struct home_waiter *waiter, const char *group);

/*
 * Holds it: nobody takes it, for this reason (its login is suspect); NULL takes that back. A home
 * that could not be emptied is held by itself, and tried again while somebody waits.
 */
int home_hold(Home *home, const char *reason);

/* Its place among those that wait for the same home, 1 is next; 0: it does not wait. */
size_t home_position(const struct home_waiter *waiter, size_t most);
/* "its home: Trial 12 has it", into buffer; NULL when it does not wait. */
const char *home_waits_for(const struct home_waiter *waiter, char *buffer, size_t size);

enum home_state {
	HOME_free,
	HOME_used,   /* by a Trial of ours */
	HOME_wiping, /* it is being emptied for one */
	HOME_other,  /* its flock is held by who is in `holder` */
	HOME_ending, /* something is left of the Trial that had it last */
	HOME_held,   /* for the reason */
};

struct home_status {
	const char *path; /* canonical; good while the home is referenced, as the reason */
	enum home_state state;
	uint64_t trial; /* that has it, or 0 */
	struct home_holder holder;
	const char *reason; /* of held, or why what was set aside stays; or NULL */
	size_t waiting;
	bool deleting;	  /* what was set aside */
	uint64_t deleted; /* entries, so far */
};

/* As of now: who holds the flock is asked (home_holder.h), which reads /proc. */
void home_look(const Home *home, struct home_status *ret_status);
const char *home_state_name(enum home_state state);

Home *home_first(Homes *homes);
Home *home_next(Home *home);
