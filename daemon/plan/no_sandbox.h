/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

/*
 * Trials of a daemon that was told to do without a sandbox (base/no_sandbox.h). What only a sandbox
 * can give is refused, never dropped in silence; defaults that nobody asked for are noted.
 */
/* Whether such a Trial can be had at all: 0 or FAULT. */
int no_sandbox_check(const struct plan_host *host, const struct launch_request *launch,
		     struct fault *ret_fault);

/*
 * Turns a plan into one without a sandbox: nothing is mounted, and what the environment and cwd say
 * of the fresh home is that of trial_folder. -errno.
 */
int no_sandbox_apply(struct plan *plan, const struct plan_host *host, const char *trial_folder);
