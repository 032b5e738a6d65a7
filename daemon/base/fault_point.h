/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Places where a test kills the daemon: after each step of accepting, launching and finishing a
 * Trial. In a build with TRIALSD_FAULT_POINTS the process ends there by SIGKILL, as a crash would,
 * when the environment says so: TRIALS_FAULT_POINT=NAME or NAME:COUNT (the COUNTth time it is
 * reached). In any other build there is nothing.
 *
 * X(name, "what has just happened")
 */
#define FAULT_POINTS(X)                                                                            \
	X(accept_checked, "a launch was found good; nothing is kept")                              \
	X(accept_prompt, "its prompt is in the Trial's folder, and synced")                        \
	X(accept_committed, "it is in the ledger; nobody has been told")                           \
	X(accept_replied, "its client's reply is queued")                                          \
	X(launch_claimed, "`starting` is in the ledger")                                           \
	X(launch_spawned, "the keeper waits on its gate")                                          \
	X(launch_scoped, "the keeper is in its scope, or needs none")                              \
	X(launch_gate, "the gate is open")                                                         \
	X(launch_running, "the keeper said `running`; the ledger does not know")                   \
	X(launch_recorded, "`running` is in the ledger")                                           \
	X(finish_ending, "`ending` is in the ledger")                                              \
	X(finish_record, "the record came; the ledger does not know")                              \
	X(finish_committed, "`ended` is in the ledger; keeper and clients do not know")            \
	X(finish_taken, "the keeper was told to leave")                                            \
	X(cancel_recorded, "a cancel was accepted; the keeper does not know")                      \
	X(spare_spawned, "a spare keeper was started; it has no scope")                            \
	X(spare_scoped, "it is in its scope, and was told so")                                     \
	X(spare_taken, "a launch has it; it does not know")                                        \
	X(bar_marked, "a launch's Bar is marked as used; nothing else is kept of it")              \
	X(prune_marked, "a batch is gone from the ledger; its folders are there")                  \
	X(prune_removed, "its folders are gone; the ledger still has the note")                    \
	X(migrate_step, "a new version of the schema is made, and not committed")                  \
	X(rebuild_noted, "a ledger is rebuilt beside the damaged one")                             \
	X(rebuild_published, "it is whole, and has its name")                                      \
	X(rebuild_aside, "the damaged one is set aside; none is in its place")                     \
	X(rebuild_switched, "the rebuilt one is in its place")                                     \
	X(carry_read, "both sides of a login are read")                                            \
	X(carry_backed_up, "the host's own is kept")                                               \
	X(carry_created, "a new file is beside the host's, empty")                                 \
	X(carry_written, "it is written")                                                          \
	X(carry_synced, "and synced")                                                              \
	X(carry_exchanged, "the two have changed places")                                          \
	X(carry_durable, "and that is synced; the old one is beside it")                           \
	X(carry_remembered, "what both sides have is noted")                                       \
	X(carry_marked, "the login is marked suspect")                                             \
	X(carry_forgotten, "of a login that was dealt with only the Trial's copy is left")         \
	X(carry_copied, "the Trial's copy is made; it is not noted")                               \
	X(login_noted, "there is a note of a Trial's copy; it is not made")                        \
	X(login_copied, "it is made; nothing was started")                                         \
	X(login_carried, "what a keeper left to do is done; no end is told")                       \
	X(login_told, "that is in the note of it")                                                 \
	X(login_removed, "nothing is left of a Trial's copy but the note")                         \
	X(arm_taken, "an Arm's files are kept; it is not")                                         \
	X(arm_stored, "it is; nobody has been told")                                               \
	X(arm_unrecorded, "an Arm that is removed is none any more; its files are there")          \
	X(arm_unkept, "one of the files that it alone had is gone")

#ifdef TRIALSD_FAULT_POINTS
void fault_point(const char *name);
void fault_points_arm(void);
#define FAULT_POINT(name) fault_point(#name)
/* From here on they count: this is a daemon. What else is run with this program never ends so. */
#define FAULT_POINTS_ARM() fault_points_arm()
#else
#define FAULT_POINT(name) ((void)0)
#define FAULT_POINTS_ARM() ((void)0)
#endif
