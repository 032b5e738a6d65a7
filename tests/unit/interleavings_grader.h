/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/grader.h"

/* Graders among the Trials of test_interleavings.c. Their last look is a part of a start, and made there. */

void grader_look_leave(struct trial_work *work)
{
	(void)work;
}

/* Whether it may have its repository while that one has it. */
static bool goes_with(const struct trial *trial, const struct trial *other)
{
	if (trial->of || other->of)
		return trial->of && other->of;
	return trial->shares;
}

/* It is launched: what it judges has ended, and that is durable, whether or not anybody was told. */
static void look_at_judged(const struct trial *trial)
{
	struct ledger_row *row = NULL;
	int result = 0;

	if (!trial->of)
		return;
	MUST(store_get(writer->store, trial->of, &result, &row) == 0 && result == 0,
	     "Trial %llu: what it judges is not there", (unsigned long long)trial->id);
	MUST(row->state == STATE_ended, "Trial %llu judges %llu before its end",
	     (unsigned long long)trial->id, (unsigned long long)trial->of);
	ledger_row_free(row);
}

static inline void judge(struct launch_request *request, uint64_t of)
{
	request->has.role = request->has.of = true;
	request->role = ROLE_grader;
	request->of = of;
	request->share_repository = request->has.share_repository = false;
}
