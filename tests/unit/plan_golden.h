/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan_fixture.h"

/*
 * Whole plans against tests/data/plans/NAME.plan: bwrap's arguments one per line, then what is
 * beside them. What differs between machines (the temporary folder, the user) stands as @ROOT@,
 * @USER@ and @UID@, a secret as it is told to people. PLAN_GOLDEN_WRITE=1 writes the files anew; read
 * the diff.
 */
void plan_golden_compare(struct plan_fixture *fixture, const struct plan *plan, const char *name);
/* Of one without a sandbox: its orders, with the contents of the files in them, in the arguments' place. */
void plan_golden_compare_bare(struct plan_fixture *fixture, const struct plan *plan,
			      const struct text_list *orders, const char *name);
