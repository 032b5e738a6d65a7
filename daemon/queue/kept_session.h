/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/* The session of an earlier Trial, which its keeper kept in its folder (keeper/keep.h). */

/* Whether a launch can go on with the session of the Trial of this row; FAULT, -errno. */
int kept_session_check(Queue *queue, const struct ledger_row *row,
		       const struct launch_request *launch, struct fault *ret_fault);
/* For a launch: FAULT (not_found), there is no Trial of that id. */
int kept_session_not_found(const struct launch_request *launch, struct fault *ret_fault);

/* The kept session, as its turn has come; FAULT (a void's cause): it is gone. */
int kept_session_open(Queue *queue, uint64_t id, int *ret_fd, struct fault *ret_fault);
