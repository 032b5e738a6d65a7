/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"

/*
 * While Trials are waited for: what holds them, said once, and what mends it. trialsd answers a wait
 * at the end alone, so it is asked every few seconds, until a Trial has a slot.
 */
#define HOLD_LOOK_SECONDS 2

struct hold_teller {
	char *told; /* what was said last */
};

void hold_teller_done(struct hold_teller *teller);

/* Of a Trial as show has it. True: it waits for its start, and is worth another look. */
bool hold_tell(struct hold_teller *teller, const json_t *trial);

/* One Trial that is followed by what it says. Begin with its id and, where nobody is to be told, over. */
struct hold_look {
	uint64_t id;
	bool over;	 /* it needs no look any more */
	uint64_t number; /* of the request that is under way, or 0 */
	struct hold_teller teller;
};

/* trials_next, however long it takes, with looks meanwhile. */
int hold_look_next(struct hold_look *look, struct context *context,
		   struct trials_message **ret_message, struct trials_error *ret_error);
