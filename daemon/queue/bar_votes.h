/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/* Votes on one Trial's result: each seat has one, and it is of that Trial's own Bar. */

/*
 * What all launches that judge this Trial have in their spec, for ledger_list_naming. Initialises the
 * buffer; -ENOMEM.
 */
int bar_votes_named(uint64_t of, msgpack_sbuffer *ret_named);

/*
 * Whether the seat of a launch has no vote on its Trial yet. rows: of Trials that may judge that too.
 * FAULT: it has voted, or one that may has not ended. One that ended without a verdict used up nothing.
 */
int bar_vote_check(const struct launch_request *launch, struct ledger_row *const *rows,
		   size_t count, struct fault *ret_fault);

/* Of a Grader: what of its Bar, and of that of the Trial that it judges, is hardly meant. -ENOMEM. */
int bar_vote_notes(const struct launch_request *launch, const struct ledger_row *judged,
		   struct text_list *notes);
