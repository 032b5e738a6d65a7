/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/loop.h"
#include "carry.h"

/*
 * The logins that one Trial has copies of: carried while it runs, once more when it is empty, and
 * told in its record.
 */
struct logins {
	size_t count;
	struct carry carries[LOGINS_MAX];
	struct carry_watch watches[LOGINS_MAX];
	struct login_outcome outcomes[LOGINS_MAX];
	char hint[128];
	const int *leases; /* the keeper's, or NULL */
	size_t lease_count;
	void (*changed)(struct logins *logins, const struct login_result *result);
};

/*
 * Takes over count times LOGIN_FDS descriptors. FAULT: one is no login, or no lock of it can be
 * had; nothing may then be started.
 */
int logins_open(struct logins *logins, int *descriptors, size_t count, struct fault *ret_fault);
/* From now on what changes is carried, and `changed` (if set) told each time. */
int logins_watch(struct logins *logins, struct loop *loop);

/*
 * The sandbox is empty: the last look. It points the record to the outcomes; what is not good is
 * added to message, and the command that mends it is the hint, unless there is one.
 */
void logins_finish(struct logins *logins, struct outcome_record *record, char *message,
		   size_t message_size);
void logins_done(struct logins *logins);
