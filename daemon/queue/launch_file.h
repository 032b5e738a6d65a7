/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

/*
 * The file `launch` in a Trial's folder: what the ledger has of it when it is started, so that a
 * ledger that is lost takes no Trial with it that ever ran (queue/witness.c). Written at each start,
 * not synced: it is for the day on which the ledger is damaged, not for a power cut in the first
 * seconds of a Trial.
 */
#define LAUNCH_FILE_FIELDS(X)                                                                      \
	X(id, UINT, REQUIRED, 0, "the Trial")                                                      \
	X(uuid, STRING, REQUIRED, 36, "of this attempt")                                           \
	X(submitted_at, TIME, REQUIRED, 0, "accepted")                                             \
	X(boot_id, STRING, REQUIRED, 64, "of the boot it is started in")                           \
	X(backend, BACKEND, REQUIRED, 0, "systemd or none")                                        \
	X(unit, STRING, OPTIONAL, 128, "its scope")                                                \
	X(priority, INT, OPTIONAL, PRIORITY_MAX, "as launched")                                    \
	X(key, STRING, OPTIONAL, 128, "as launched")                                               \
	X(plan_digest, STRING, OPTIONAL, 64, "of its sandbox plan")                                \
	X(spec, BLOB, REQUIRED, 0, "launch_request, encoded")                                      \
	X(facts, BLOB, OPTIONAL, 0, "trial_facts, encoded")

MESSAGE_STRUCT_(launch_file, LAUNCH_FILE_FIELDS)
MESSAGE_TYPE_(launch_file, LAUNCH_FILE_FIELDS)

/* Whether the Trial's folder, if there is one, is free of another's output and record. */
bool launch_file_fits(int trials_fd, uint64_t id);

/* What the row has, with what was planned since, into the Trial's folder, which is there. */
int launch_file_write(int trials_fd, const struct ledger_row *row, const char *plan_digest,
		      struct blob facts);

/* Of the Trial of this id, or -ENOENT: absent, torn, or of another. It points into *ret_message. */
int launch_file_read(int folder_fd, uint64_t id, struct message **ret_message,
		     struct launch_file *ret_file);
