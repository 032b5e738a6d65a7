/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "base/fault.h"
#include "keeper/channel.h"
#include "keeper/login.h"
#include "launch/scope.h"

/*
 * One launch: from a planned Trial to a keeper at work, and from the keeper's end to its record.
 *
 * The keeper is spawned blocked on its gate (it reads its channel first). With a scope, the gate
 * opens when the scope's job is done and /proc/PID/cgroup shows it; then `start` carries the plan
 * and the descriptors. Whatever fails before that ends with the gate closed: the keeper leaves
 * having done nothing.
 */
typedef struct Launcher Launcher;
typedef struct Launch Launch;

/* What every launch of this daemon's life shares. Descriptors are borrowed. */
struct launcher_options {
	uv_loop_t *loop;
	enum backend backend; /* as asked: auto, systemd, none */
	const char *keeper;   /* absolute paths of the helper programs */
	const char *init;
	int bwrap_fd;	       /* O_PATH, pinned */
	int seccomp_fd;	       /* the filter, for bwrap */
	int grader_seccomp_fd; /* a Grader's */
	int trials_fd;	       /* STATE/trials */
	int keepers_fd;	       /* RUNTIME/k, where keepers listen */
	/* Why nothing could be launched whatever the launcher finds; or NULL. Moved. */
	struct fault *unavailable;
	bool unproved; /* nothing is to be launched before launcher_set_unavailable was called */
};

/*
 * Where the helper programs are: beside this very program in a build tree, in libexecdir when it
 * is installed. They need not exist. The strings are the caller's.
 */
int launcher_helpers(char **ret_keeper, char **ret_init);

/*
 * Always succeeds in making a launcher unless memory or a bug prevents it; what the machine lacks
 * is kept and refuses each launch with its reason (launcher_unavailable).
 */
int launcher_new(Launcher **ret_launcher, const struct launcher_options *options,
		 struct fault *ret_fault);
void launcher_close(Launcher *launcher, void (*closed)(void *context), void *context);

enum backend launcher_backend(const Launcher *launcher);
/* That a sandbox is built with now: O_PATH, the launcher's; -1 when there is none. */
int launcher_bwrap(const Launcher *launcher);
/* Why the backend is none although auto was asked, or NULL. */
const char *launcher_backend_reason(const Launcher *launcher);
/* Why nothing can be launched (message, hint), or NULL when it can. */
const struct fault *launcher_unavailable(const Launcher *launcher);

/*
 * What was found since: why nothing can be launched (moved), or NULL when it can. From then on
 * the launcher is proved.
 */
void launcher_set_unavailable(Launcher *launcher, struct fault *fault);
bool launcher_proved(const Launcher *launcher);
/* What it was proved by may no longer be so: nothing is launched before that is said again. */
void launcher_doubt(Launcher *launcher);
/* Proved, and nothing is unavailable. */
bool launcher_ready(const Launcher *launcher);
/* Whether it lacked something at its start, so that launcher_mend is needed before it is ready. */
bool launcher_lacks(const Launcher *launcher);
/* Opens again what it lacked. loop and trials_fd stay. 0, FAULT, -errno. */
int launcher_mend(Launcher *launcher, const struct launcher_options *options,
		  struct fault *ret_fault);

/* A Trial's folder, STATE/trials/ID; made when `make`. The descriptor is the caller's. */
int launch_folder(int trials_fd, uint64_t id, bool make, int *ret_fd);

/*
 * Whether a keeper still holds the folder (it has its flock for as long as it lives): 1, 0, or
 * -errno. This is how a restarted daemon knows, without any pid.
 */
int launch_folder_held(int folder_fd);

/* The name of a Trial's scope: a printf format for the attempt's uuid. */
#define LAUNCH_UNIT "trial-%s.scope"
#define LAUNCH_UNIT_BYTES 64

/*
 * A spare keeper: one that waits on its gate in a scope of its own, in its control groups, under a
 * uuid that is the Trial's attempt whose launch takes it. What costs most of a launch on an idle
 * machine is done before. Only where there are scopes; best effort; one at a time. It is nobody's
 * Trial: no row, no folder, nothing in RUNTIME/k; whatever ends this process ends it.
 *
 * keep: sees to it that there is one, soon (out of the way of what is being answered) or later (out
 * of the way of a Trial that begins), and that it leaves after so many seconds in which nobody takes
 * it. take: it, for one launch_order, or for launch_finish; NULL: there is none that can be
 * used. drop: it goes.
 */
void launcher_keep_spare(Launcher *launcher, double seconds, bool soon);
Launch *launcher_take_spare(Launcher *launcher);
void launcher_drop_spare(Launcher *launcher);
const char *launch_uuid(const Launch *launch);

/* What the owner of a launch is told: from the loop, never from within launch_new. */
struct launch_watch {
	void (*running)(void *context, uint64_t started_at, uint64_t pid);
	void (*ending)(void *context);
	/* The end is overdue although the keeper is at work on it: told once; NULL: not of interest. */
	void (*stuck)(void *context);
	/*
	 * Nothing was started, for want of something that passes (descriptors, processes, memory):
	 * said instead of `ended`, with why. Or, with 0, since a spare keeper was gone: it can be
	 * launched again at once, without one. launch_finish may be called. NULL: `ended` instead.
	 */
	void (*not_started)(void *context, int error);
	/*
	 * The end, exactly once: the keeper's record, or one made here (void: it could not be
	 * started; lost: keeper and record are both gone). Then launch_finish may be called. The
	 * record is good for the call.
	 */
	void (*ended)(void *context, const struct outcome_record *record);
};

#define LAUNCH_LEASE 2 /* from 1: its own leases; the first is the lock of the Trial's folder */
/* How many a plan may have beside so many leases of its own and so many logins. */
#define LAUNCH_DESCRIPTORS(leases, logins)                                                         \
	(CHANNEL_DESCRIPTORS_MAX - CHANNEL_FD_BINDS - 1 - (leases) - (logins)*LOGIN_FDS)

struct launch_order {
	uint64_t id;
	const char *uuid;
	const char *unit; /* LAUNCH_UNIT of the uuid */
	Launch *spare;	  /* the keeper to be used, whose uuid this is, or NULL; taken over */
	bool no_prompt;	  /* the folder's prompt, if there is one, is not its standard input */
	/*
	 * What the keeper is to do; version, trial, uuid, backend and cgroup are filled in here.
	 * What it points to, and the descriptors, are borrowed until `running` or `ended`.
	 */
	struct keeper_plan plan;
	const int *descriptors;	       /* plan.descriptors of them */
	const int *logins[LOGINS_MAX]; /* plan.logins times LOGIN_FDS of them (keeper/login.h) */
	/*
	 * Locked descriptors that are held until nothing is left of the Trial, whoever is killed.
	 * Borrowed likewise. To a keeper they are the leases from LAUNCH_LEASE on.
	 */
	int leases[LOGINS_MAX];
	size_t lease_count;
};

/* id, uuid and unit are used during the call only. Failures come through watch->ended. */
int launch_new(Launch **ret_launch, Launcher *launcher, const struct launch_order *order,
	       const struct launch_watch *watch, void *context);

/*
 * A launch of an earlier trialsd, whose keeper lives: found by its uuid in RUNTIME/k. What it has
 * to tell comes through watch as if it had been started here. -ENOENT or -ECONNREFUSED: no keeper
 * listens there (it may be about to). wall_seconds, until its wall limit, is for a keeper that does
 * not say so itself, since it was stopped; negative: not known.
 */
int launch_adopt(Launch **ret_launch, Launcher *launcher, uint64_t id, const char *uuid,
		 const char *unit, double wall_seconds, const struct launch_watch *watch,
		 void *context);

/* The control group of its scope, as /proc/PID/cgroup has it; -ENOENT where there is no scope. */
int launch_group(const Launch *launch, char *buffer, size_t size);

/* TERM, grace, the end; negative grace: the plan's. May be said at any time, also again. */
void launch_cancel(Launch *launch, double grace_seconds);

/*
 * The daemon is leaving and the keeper is not: lets go of it and frees. True: nothing had been
 * started, the gate is closed, and launch_finish is what is left.
 */
bool launch_leave(Launch *launch);

/*
 * The record is durable in the ledger: tells the keeper to leave, reaps it, frees. The owner
 * forgets the launch here; nothing is called afterwards.
 */
void launch_finish(Launch *launch);
