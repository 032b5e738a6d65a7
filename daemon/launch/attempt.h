/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/stat.h>

#include "launch/cgroup.h"
#include "launch/launch.h"
#include "launch/launcher.h"
#include "launch/overdue.h"

/* A launch from the inside; shared by launch.c, gate.c and adopt.c only. */

struct Launch {
	Launcher *launcher;
	const struct launch_watch *watch;
	void *context;
	uint64_t id;
	char uuid[37];
	char unit[128];
	struct keeper_plan plan; /* what it points to is the owner's, until the gate is open */
	const int *descriptors;
	const int *logins[LOGINS_MAX];
	int leases[LOGINS_MAX]; /* borrowed */
	size_t lease_count;
	int folder_fd;
	int stdin_fd;
	int channel;
	int pidfd;
	int init_pidfd; /* pid 1 of the sandbox, once it runs */
	pid_t pid;
	struct scope_start scope;
	uv_poll_t channel_poll;
	uv_poll_t pidfd_poll;
	uv_timer_t timer;
	struct overdue overdue;
	Cgroup *payload;    /* once it runs, where it has a scope */
	char *cgroup;	    /* a spare's, once it was told */
	struct stat binary; /* that a spare is of */
	unsigned int looks; /* at a sandbox whose keeper is gone */
	int handles;	    /* not yet closed */
	bool scope_pending;
	bool started;  /* the gate was opened */
	bool adopted;  /* an earlier trialsd started it; its keeper is not our child */
	int passing;   /* -errno of something that passes, for which it was not started */
	bool greeted;  /* it has said whose keeper it is, or is our own child */
	bool spare;    /* it waited, before it was ordered */
	bool waits;    /* for an order */
	bool gone;     /* while it waited: nothing can be ordered any more */
	bool again;    /* it was not started, for what befell a spare: another may be, at once */
	bool running;  /* it has said so */
	bool canceled; /* before the gate opened: nothing is started any more */
	bool ended;    /* watch->ended was called */
	bool reaped;
	bool closing;	    /* its handles */
	bool finished;	    /* the owner has let go */
	bool early;	    /* ended before anything ran; told from the timer */
	struct fault fault; /* why, when early */
};

/* gate.c: a keeper of its own, blocked on its gate; into its scope; the gate, which may have to
 * wait for the scope. 0 or -errno. */
int launch_spawn(Launch *launch);
void launch_scope(Launch *launch);
int launch_open_gate(Launch *launch, const char *cgroup);
int launch_keeper_cgroup(const Launch *launch, char *buffer, size_t size);
/* spare.c: its scope is there (r 0), or will not be; it is gone. */
void spare_scoped(Launch *launch, int r);
void spare_gone(Launch *launch);

/* gate.c tells of what went wrong before anything ran, from the loop. */
void launch_fail(Launch *launch);
/* Gives the gate's end-of-file; the pidfd then reports the keeper. */
void launch_close_channel(Launch *launch);
/* Listens to the channel and the keeper's pidfd, which become the launch's. */
int launch_listen(Launch *launch, int channel);
int launch_listen_keeper(Launch *launch, int pidfd);
/* A launch with nothing in it yet but its timer. */
int launch_make(Launch **ret_launch, Launcher *launcher, uint64_t id, const char *uuid,
		const char *unit, const struct launch_watch *watch, void *context);
