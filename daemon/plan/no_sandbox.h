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
 * Turns a plan into one without a sandbox: nothing is mounted. HOME is a folder of trial_folder's own, and
 * what the plan has for the fresh home, or for places of the sandbox's, is put there by the keeper:
 * ret_orders (base/no_sandbox.h), to be freed; nothing is decided anew. What then would be elsewhere is
 * told by its new name to the command, in variables and in texts that were made up: a prompt, and what the
 * person wrote, are left as they are. FAULT: it cannot be had so; -errno.
 */
int no_sandbox_apply(struct plan *plan, const struct plan_host *host, const char *trial_folder,
		     struct text_list *ret_orders, struct fault *ret_fault);
