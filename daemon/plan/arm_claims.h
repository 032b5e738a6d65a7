/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/arm.h"
#include "plan/session_plan.h"

/*
 * What a Trial of an Arm has of its Harnesses and providers, as things are: variables that keys are given
 * in, and places of the home that logins and made-up files have. Where the Arm itself wants one of these,
 * each of its launches is void.
 */
struct arm_claims {
	struct text_list variables;
	struct text_list places; /* absolute */
	struct text_list faults; /* of files of the person's own, whatever the Arm wants */
	struct text_list homes;	 /* Harnesses that are signed in by a home of their own */
};

/* login: how it is signed in; provider: by the key of one. 0 or -errno. */
int arm_claims_add_harness(struct arm_claims *claims, const struct plan_host *host,
			   const struct harness *harness, const struct harness_login *login,
			   bool provider);
void arm_claims_done(struct arm_claims *claims);

/* Of all looks of one Arm (providers: as its own); added to lines, in the words in which a launch ends. */
struct arm_harness_look;
struct arm_provider_look;
int arm_claims_tell(const struct plan_host *host, const struct arm_spec *spec,
		    const struct arm_harness_look *harnesses, size_t harness_count,
		    const struct arm_provider_look *providers, struct text_list *lines);
