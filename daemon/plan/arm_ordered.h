/* SPDX-License-Identifier: MIT */
#pragma once

#include "arm.h"

/*
 * An Arm in its canonical order (arm.h), for arm*.c. Texts are those of the Arm that it was made of;
 * lists are its own.
 */
#define ARM_ORDERED_LISTS_MAX (9 + 3 * ARM_HARNESSES_MAX + ARM_PROVIDERS_MAX)

struct arm_ordered {
	struct arm arm;
	void *lists[ARM_ORDERED_LISTS_MAX];
	size_t count;
};

/* -EINVAL: more than an Arm can have. */
int arm_order(struct arm_ordered *ret_ordered, const struct arm *arm);
void arm_ordered_done(struct arm_ordered *ordered);
