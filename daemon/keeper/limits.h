/* SPDX-License-Identifier: MIT */
#pragma once

#include "cgroup.h"
#include "channel.h"

#define LIMITS_COUNT 9

/* bwrap and trials-init are in the payload too and are not the Trial's to pay for. */
#define LIMITS_OWN_TASKS 2

/*
 * Puts the plan's limits in force and reads them back; payload->fd < 0: there is no group to
 * limit. One state per limit that the plan names. FAULT (void limits_unavailable) when one that
 * was asked for is not in force, unless the plan says unchecked; the states are filled then too.
 */
int limits_apply(const struct payload *payload, const struct keeper_plan *plan,
		 struct limit_state ret_states[LIMITS_COUNT], size_t *ret_count,
		 struct fault *ret_fault);
