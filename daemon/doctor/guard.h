/* SPDX-License-Identifier: MIT */
#pragma once

#include "doctor/child.h"
#include "queue/trial.h"

/*
 * Fails closed: no Trial is launched before doctor has found that one can be, and none while its
 * last verdict says otherwise. What was accepted waits in the queue; what comes while the verdict
 * stands is refused with its text. A bad verdict is looked into again every half a minute, and
 * whenever somebody asks doctor, so that a machine that was mended needs no restart. A good one is
 * in doubt when a Trial could not get its sandbox: then the others wait until it was looked into,
 * lest all that is queued end as void one after the other.
 */
typedef struct Guard Guard;

struct guard_options {
	uv_loop_t *loop;
	Launcher *launcher; /* made unproved */
	Queue *queue;	    /* watched */
	/* What is in force, whatever the file says since; looked at again whenever doctor looks. */
	const struct config *config;
	/* The daemon's own, so that trialsd --doctor looks at the same; used during the call only. */
	const char *config_file; /* NULL: the usual one */
	const char *state_folder;
	const char *runtime_folder;
	int backend; /* from the command line, -1: the configuration's */
	/* The verdict is good: opens what the launcher lacked at the start. 0, FAULT, -errno. */
	int (*mended)(void *context, struct fault *ret_fault);
	/* Launches have become possible, or no longer are (then why); only when that changes. */
	void (*changed)(void *context, const struct fault *unavailable);
	void *context;
};

/* Begins to look at once. */
int guard_new(Guard **ret_guard, const struct guard_options *options);
/* For the verb. */
DoctorChild *guard_doctor(Guard *guard);
/* Looks now: something that matters was changed. */
void guard_look(Guard *guard);
/* Judges no more: before the launcher is closed. What is asked of the doctor is answered so. */
void guard_stop(Guard *guard);
/* Once stopped, and the server closed. Takes NULL; the rest goes on the loop. */
Guard *guard_free(Guard *guard);
