/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/runner_plan.h"
#include "queue/arm_launch.h"

/* Whose sessions they are, as they were found: one's own, or those that a Custom runner drives. */
struct start_harnesses {
	struct trial_harness own; /* name NULL: none */
	struct trial_harness driven[ARM_HARNESSES_MAX];
	const char *providers[ARM_PROVIDERS_MAX];
	size_t driven_count, provider_count;
};

struct trial_harness start_harness_facts(const struct launch_request *launch,
					 const struct session_plan *session);

/*
 * The plan of a Custom runner, as plan_make makes one; -EINPROGRESS: one of its programs or logins is
 * being looked at, and it is to be planned again. runner and known are what ret points into: the caller's
 * to let go of. start_runner.c
 */
int start_runner(struct trial *trial, const struct launch_request *launch,
		 const struct plan_host *host, const struct trial_facts *accepted,
		 struct arm_known *known, struct runner_plan *runner, struct start_harnesses *ret,
		 struct fault *ret_fault);
