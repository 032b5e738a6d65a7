/* SPDX-License-Identifier: MIT */

/* The programs that a Trial is run by, and the system call filter. */
#include "doctor/check.h"

#include <string.h>
#include <sys/stat.h>

static bool helper_there(struct doctor *doctor, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		found(doctor, CHECK_failed, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		found(doctor, CHECK_failed, "%s is not a program that can be executed", path);
	else
		return true;
	mend(doctor, "reinstall trialsd: its helper programs are missing");
	return false;
}

void check_helpers(struct doctor *doctor)
{
	const struct doctor_options *options = doctor->options;

	doctor->helpers = helper_there(doctor, options->keeper) &&
			  helper_there(doctor, options->init);
	if (doctor->helpers)
		found(doctor, CHECK_ok, "%s, %s", options->keeper, options->init);
}

static void found_result(struct doctor *doctor, int result, struct fault *fault)
{
	if (result < 0)
		fault_errno(fault, result, "it cannot be looked at");
	found_fault(doctor, CHECK_failed, fault);
}

void check_bwrap(struct doctor *doctor)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	const struct config *config = doctor->options->config;
	int r = plan_bwrap_pin(&doctor->bwrap, config ? config->bwrap : NULL, &fault);

	if (r)
		found_result(doctor, r, &fault);
	else
		found(doctor, CHECK_ok,
		      "%s, %s; root's alone, not set-user-ID, with every option that is needed",
		      doctor->bwrap.path, doctor->bwrap.version);
	/* Of any bwrap, since the profiles of this machine matter even where there is none. */
	host_facts_read(&doctor->facts, doctor->root,
			doctor->bwrap.path	  ? doctor->bwrap.path
			: config && config->bwrap ? config->bwrap
						  : "/usr/bin/bwrap");
}

void check_filter(struct doctor *doctor)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	int r = plan_seccomp(false, &doctor->seccomp_fd, &fault);

	if (r)
		found_result(doctor, r, &fault);
	else
		found(doctor, CHECK_ok, "made for this processor");
}
