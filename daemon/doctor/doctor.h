/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/config.h"
#include "base/fault.h"

/*
 * Whether a Trial can be launched on this machine, and what mends it.
 *
 * The verdict comes from one real launch: the same plan, keeper, bwrap and trials-init that a
 * Trial gets, run to its end. Everything beside it is there to say why when it fails. A check that
 * failed means that no Trial can be launched; what only costs something is a warning. Nothing on
 * the system is changed, and a daemon that serves the same folders is not disturbed.
 *
 * It runs in a process of its own (`trialsd --doctor`): on its own for a person, as a child of the
 * daemon for the verb and for the guard (child.h, guard.h). Both ways are the same code.
 */

/* What trialsd was told and found. Strings are borrowed; NULL: there is none, as `lacking` says. */
struct doctor_options {
	const struct config *config;
	const char *home;
	const char *state_folder; /* need not exist */
	const char *runtime_folder;
	const char *config_folder;
	const char *config_file; /* or NULL: the usual one in config_folder */
	const char *keeper;
	const char *init;
	const struct fault *config_lacking; /* why there is no config, or NULL */
	/*
	 * For a daemon, whose config is what it has in force: what trialsd.conf says now, or why it
	 * can no longer be used. NULL: config comes from the file itself.
	 */
	const struct config *config_on_disk;
	const struct fault *config_at_fault;
	const struct fault *runtime_lacking; /* why there is no runtime folder, or NULL */
};

enum doctor_form {
	DOCTOR_TEXT,	/* for a person */
	DOCTOR_JSON,	/* one line, with the keys of the verb's reply */
	DOCTOR_MESSAGE, /* the reply itself, msgpack, for the daemon */
};

/*
 * Makes all checks and writes the report to fd. 0: a Trial can be launched; FAULT: none can, and
 * the report says why; -errno: there is no report.
 */
int doctor_run(const struct doctor_options *options, int fd, enum doctor_form form);

/* Why this user has no runtime folder of its own, and what makes one. Returns FAULT. */
int doctor_no_runtime(struct fault *ret_fault);
