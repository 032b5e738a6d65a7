/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

/*
 * What trialsd itself knows of a Trial beside its launch and its record; kept in the ledger's
 * `facts`, by this table.
 */
#define TRIAL_FACTS_FIELDS(X)                                                                      \
	X(repository, PATH, OPTIONAL, PATH_BYTES_MAX, "canonical")                                 \
	X(network, NETWORK, OPTIONAL, 0, "as planned")                                             \
	X(notes, STRINGS, OPTIONAL, 64, "what a reader should know")                               \
	X(plan, BYTES_LIST, OPTIONAL, 4096, "the sandbox's arguments")                             \
	X(writable, BYTES_LIST, OPTIONAL, 256, "host paths that it may write to")                  \
	X(wall_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "its wall limit")                          \
	X(harness, TRIAL_HARNESS, OPTIONAL, 0, "of a session: as it was found")                    \
	X(toolchains, TRIAL_TOOLCHAINS, OPTIONAL, 16, "as they were found")                        \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX, "of network allowlist: as planned")                 \
	X(sandbox, SANDBOX, OPTIONAL, 0, "as planned, without secrets")                            \
	X(no_sandbox, BOOL, OPTIONAL, 0, "trialsd was told to do without a sandbox")               \
	X(rerun_of, UINT, OPTIONAL, 0, "the Trial that it is once more; then, of that one:")       \
	X(rerun_changed, BOOL, OPTIONAL, 0, "what has changed since is noted, not refused")        \
	X(rerun_digest, STRING, OPTIONAL, 64, "of its plan")                                       \
	X(rerun_sha256, STRING, OPTIONAL, 64, "of its program, of a session")                      \
	X(rerun_limits, LIMITS, OPTIONAL, 0, "all that there were")                                \
	X(rerun_hosts, STRINGS, OPTIONAL, HOSTS_MAX, "that it might reach")                        \
	X(rerun_internal, STRINGS, OPTIONAL, HOSTS_MAX, "those of them that might be internal")    \
	X(rerun_grace_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "from TERM to the end")             \
	X(rerun_idle_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "of its connections")                \
	X(arm_id, STRING, OPTIONAL, ARM_ID_BYTES, "of an Arm: its id; then, of it:")               \
	X(arm_name, STRING, OPTIONAL, ARM_NAME_BYTES_MAX, "what it is called")                     \
	X(arm, BLOB, OPTIONAL, 0, "all of it, in its canonical form")                              \
	X(asked, BLOB, OPTIONAL, 0, "the launch as it was asked for: what its key stands for")     \
	X(harnesses, TRIAL_HARNESSES, OPTIONAL, ARM_HARNESSES_MAX,                                 \
	  "of a Custom runner: as they were found")                                                \
	X(providers, STRINGS, OPTIONAL, ARM_PROVIDERS_MAX,                                         \
	  "of a Custom runner: whose keys it has")                                                 \
	X(families, STRINGS, OPTIONAL, FAMILIES_MAX, "of its models, as it was accepted with")     \
	X(bar_id, STRING, OPTIONAL, BAR_ID_BYTES, "of a launch with bar: which Bar that was")      \
	X(folder, STRING, OPTIONAL, 96, "which one the repository is (folder_identity.h)")

MESSAGE_STRUCT_(trial_facts, TRIAL_FACTS_FIELDS)
MESSAGE_TYPE_(trial_facts, TRIAL_FACTS_FIELDS)

/* Blobs of the ledger, encoded. The buffer is initialised here; destroyed by the caller. */
int view_encode(msgpack_sbuffer *ret_buffer, const struct message_type *type,
		const void *structure);

/*
 * A blob of a row. False, and nothing to be freed: it is empty, or makes no sense. What is decoded
 * points into *ret_message.
 */
bool view_decode(const struct blob *blob, struct message **ret_message,
		 const struct message_type *type, void *ret_structure);

/*
 * A row as clients see it. The view points into the row and into three messages that live in
 * *ret_view_owner.
 */
struct view {
	struct trial_view trial;
	char folder[PATH_BYTES_MAX + 1];
	char hint[64]; /* where it needs the Trial's number */
	struct message *spec;
	struct message *facts;
	struct message *record;
	struct message *connections;
	struct text_list hosts; /* what it may reach */
	/* What its launch asked for. */
	const char *build, *skills;
	struct bind_list binds;
	struct text_list variables;
	struct log_state *logs;
	struct trial_toolchain *toolchains;
};

int view_make(struct view *ret_view, const struct ledger_row *row, const char *trials_folder,
	      bool with_plan);
/*
 * What is told of one Trial alone, since it may be long: what else of the host it was given, the
 * hosts that it may reach, and, of the record in its folder, its connections. Those that cannot be
 * read are left out.
 */
void view_add_whole(struct view *view);
/* All that left out again, the connections summed. */
void view_drop_whole(struct view *view);
void view_done(struct view *view);

/* Where a Trial may write on this host, of its facts; the copies are the caller's. */
void view_writable(const struct ledger_row *row, struct text_list *ret_writable);
/* Its wall limit, of its facts; negative: none, or not known. */
double view_wall_seconds(const struct ledger_row *row);
