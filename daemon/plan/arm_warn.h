/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/arm.h"
#include "plan/arm_harness.h"

/*
 * What the launches of an Arm that is prepared now will meet, while it can still be mended. looks: of its
 * Harnesses, as many as it has. voids: what each launch would be void for. FAULT: it can work for nobody.
 */
int arm_warn(const struct plan_host *host, const struct arm *arm,
	     const struct arm_harness_look *looks, const struct text_list *const *voids,
	     size_t void_count, struct text_list *warnings, struct fault *fault);
