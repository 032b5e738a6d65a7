/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The wire, in one place: every verb, key, code, word and limit that trialsd and its clients
 * share. Everything else that speaks of them (decoders, encoders, --help, the tables of PROTOCOL,
 * the fuzz dictionary, the golden vectors) is made from these tables, so that no two can disagree.
 *
 * Rules for editing: a name or number is never reused and never changes its meaning. A new key is
 * added at the end of its table as OPTIONAL. `status` and `shutdown` are frozen: a client of any
 * age must be able to ask an unknown daemon what it is and to stop it.
 *
 * A table row is X(name, TYPE, PRESENCE, limit, "what it means"). TYPE is one of the types of
 * message.h, which also says what C member each becomes. `limit` depends on the type: the most
 * bytes of a string, the most elements of a list or map, the largest value of a number.
 */

#include "protocol_words.h"

#define PROTOCOL_VERSION 1
/* The oldest version this side still understands. */
#define PROTOCOL_VERSION_OLDEST 1

/* Framing. A frame is a u32 big-endian length, then that many bytes: exactly one msgpack map. */
#define FRAME_HEADER_BYTES 4
#define FRAME_BYTES_MAX (1024u * 1024u)
#define FRAME_DEADLINE_SECONDS 10 /* from a frame's first byte to its last */
#define FRAME_DESCRIPTORS_MAX 1 /* beside a launch that says so */

/* Structure limits, checked on the raw bytes before anything is allocated for them. */
#define MESSAGE_DEPTH_MAX 8
#define MESSAGE_ELEMENTS_MAX 65536 /* of one list or map */
#define MESSAGE_KEY_BYTES_MAX 64
#define MESSAGE_DATA_KEY_BYTES_MAX 256 /* of a key that is data: a variable, a label */
#define MESSAGE_MAP_KEYS_MAX 4096      /* of one map */

/* Clients. */
#define CLIENTS_MAX 512
#define CLIENT_REQUESTS_MAX 1024		 /* accepted and not yet answered, per client */
#define CLIENT_OUTPUT_BYTES_MAX (4u * 1024u * 1024u) /* queued and not yet read, per client */
#define CLIENTS_OUTPUT_BYTES_MAX (64u * 1024u * 1024u) /* of all clients together */
#define CLIENT_LISTS_MAX 2 /* pages in the making, per client: one frame each */
#define CLIENT_PROMPTS_MAX 4 /* descriptors that are being read, per client */

/* Trials. */
#define PATH_BYTES_MAX 4095
#define PROMPT_INLINE_BYTES_MAX (256u * 1024u)
#define PROMPT_FILE_BYTES_MAX (20u * 1024u * 1024u)
#define PRIORITY_MAX 1000 /* and -1000 */
#define LIST_PAGE_MAX 200
#define HARNESS_NAME_BYTES_MAX 32
#define TOOLCHAIN_NAME_BYTES_MAX 32
#define LOG_CHUNK_BYTES_MAX (64u * 1024u)
#define LIMIT_BYTES_MAX (1ull << 50)
#define LIMIT_OUTPUT_BYTES_MIN (64u * 1024u)
#define LIMIT_MEMORY_BYTES_MIN (4u * 1024u * 1024u)
#define LIMIT_TMPFS_BYTES_MIN 4096u /* of tmp and home: 0 would mean no limit at all */
#define SECONDS_MAX (365u * 24u * 3600u)
#define HOST_BYTES_MAX 253
#define HOST_RULE_BYTES_MAX 300 /* with what a rule has beside it */
#define HOSTS_MAX 512		/* that one Trial may reach, wherever each is allowed */
#define CONNECTIONS_MAX 1000	/* of one Trial, told one by one: of host, port and verdict */
#define CONNECTION_ADDRESSES_MAX 4
#define MOUNTS_MAX 4096 /* of one sandbox */
#define VERDICT_REASON_BYTES_MAX 4096

#include "protocol_arm.h"
#include "protocol_bar.h"

/* Messages. See the head of this file for the form of a row. */

#define HELLO_FIELDS(X)                                                                          \
	X(version, UINT, REQUIRED, 1000, "the newest protocol version the client speaks")        \
	X(program, STRING, OPTIONAL, 64, "the client's name and version, for the log")           \
	X(features, STRINGS, OPTIONAL, 64, "names of optional features the client knows")

#define HELLO_REPLY_FIELDS(X)                                                                    \
	X(version, UINT, REQUIRED, 1000, "the version both will speak")                          \
	X(program, STRING, REQUIRED, 64, "the daemon's name and version")                        \
	X(features, STRINGS, OPTIONAL, 64, "names of optional features the daemon has")

#define BIND_FIELDS(X)                                                                           \
	X(source, PATH, REQUIRED, PATH_BYTES_MAX, "host path, absolute")                         \
	X(destination, PATH, OPTIONAL, PATH_BYTES_MAX, "path inside; default: the source's")     \
	X(mode, MODE, OPTIONAL, 0, "ro (default) or rw")                                         \
	X(optional, BOOL, OPTIONAL, 0, "true: noted in the outcome when missing, not refused")

#define LIMITS_FIELDS(X)                                                                         \
	X(wall_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "most time, suspend excluded")           \
	X(memory, SIZE, OPTIONAL, LIMIT_BYTES_MAX, "bytes of memory, tmpfs included")            \
	X(swap, SIZE, OPTIONAL, LIMIT_BYTES_MAX, "bytes of swap")                                \
	X(tasks, UINT, OPTIONAL, 4194304, "processes and threads")                               \
	X(cpu, UINT, OPTIONAL, 409600, "percent of one processor")                               \
	X(tmp, SIZE, OPTIONAL, LIMIT_BYTES_MAX, "bytes of /tmp")                                 \
	X(home, SIZE, OPTIONAL, LIMIT_BYTES_MAX, "bytes of the fresh home")                      \
	X(output, SIZE, OPTIONAL, LIMIT_BYTES_MAX, "bytes kept of stdout, and of stderr")        \
	X(stall_seconds, SECONDS, OPTIONAL, SECONDS_MAX,                                         \
	  "most time without processor use, output or proxy traffic")

/* A launch: also the body of `--spec FILE.json`. Unknown keys in it are refused. */
#define LAUNCH_FIELDS(X)                                                                         \
	X(command, BYTES_LIST, OPTIONAL, 4096, "program and arguments")                          \
	X(repository, PATH, OPTIONAL, PATH_BYTES_MAX, "prepared repository, absolute")           \
	X(repository_mode, MODE, OPTIONAL, 0, "default: rw for a trial, ro for a grader")        \
	X(share_repository, BOOL, OPTIONAL, 0, "do not wait for others that write to it")        \
	X(cwd, PATH, OPTIONAL, PATH_BYTES_MAX, "working directory; default: the repository")     \
	X(role, ROLE, OPTIONAL, 0, "trial (default) or grader")                                  \
	X(build, PATH, OPTIONAL, PATH_BYTES_MAX, "the Arm's build, bound read-only")             \
	X(skills, PATH, OPTIONAL, PATH_BYTES_MAX, "skills folder, bound read-only")              \
	X(binds, BINDS, OPTIONAL, 128, "further host paths to bind")                             \
	X(environment, PAIRS, OPTIONAL, 1024, "variables to set")                                \
	X(network, NETWORK, OPTIONAL, 0, "allowlist (default, unless configured), none or host") \
	X(prompt, BLOB, OPTIONAL, PROMPT_INLINE_BYTES_MAX, "standard input, then end-of-file")   \
	X(prompt_file, PATH, OPTIONAL, PATH_BYTES_MAX, "file to take it from, absolute")         \
	X(limits, LIMITS, OPTIONAL, 0, "limits")                                                 \
	X(labels, STRING_PAIRS, OPTIONAL, 64, "the client's own names for this Trial")           \
	X(key, STRING, OPTIONAL, 128, "same key and body: the same Trial, never a second one")   \
	X(priority, INT, OPTIONAL, PRIORITY_MAX, "higher runs first; default 0")                 \
	X(grace_seconds, SECONDS, OPTIONAL, 3600, "from TERM to the end; default 10")            \
	X(prompt_descriptor, BOOL, OPTIONAL, 0, "it is the descriptor that comes with this frame") \
	X(harness, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX,                                     \
	  "instead of command: a session of this Harness; prompt is its task")                   \
	X(model, STRING, OPTIONAL, 256, "of a harness: the model")                               \
	X(effort, STRING, OPTIONAL, 32, "of a harness: how much effort the model is to make")    \
	X(resume, STRING, OPTIONAL, 256, "of a harness: the session to go on with")              \
	X(executable, PATH, OPTIONAL, PATH_BYTES_MAX, "of a harness: its program, absolute")     \
	X(arguments, BYTES_LIST, OPTIONAL, 4096, "of a harness: further arguments of its program") \
	X(toolchains, STRINGS, OPTIONAL, 16, "names of toolchains to have inside: trialsd.conf(5)") \
	X(of, UINT, OPTIONAL, 0,                                                                 \
	  "of resume: the Trial whose session it is, as it was kept; of role grader: the Trial whose result it judges") \
	X(keep_home, BOOL, OPTIONAL, 0, "keep what it leaves in its home, for a look")           \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX,                                                   \
	  "of network allowlist: HOST[:PORT] that it may reach, or *.SUFFIX[:PORT]; port 443 unless said") \
	X(arm, STRING, OPTIONAL, ARM_ID_BYTES,                                                   \
	  "instead of command or harness: this Arm; what stands beside it must not widen it")    \
	X(allow_no_sandbox, BOOL, OPTIONAL, 0, "of an arm, a bar or a Grader that judges: also without a sandbox") \
	X(bar, STRING, OPTIONAL, BAR_NAME_BYTES_MAX, "the Bar of the Experiment that it is of")  \
	X(seat, STRING, OPTIONAL, BAR_NAME_BYTES_MAX,                                            \
	  "of a grader, with bar: the seat that it has, or the stand-in that it is")             \
	X(outputs, BOOL, OPTIONAL, 0, "of a grader: with what the Trial wrote to stdout and stderr")

#define RERUN_FIELDS(X)                                                                          \
	X(id, UINT, REQUIRED, 0, "the Trial to be launched again, as it was")                    \
	X(changed, BOOL, OPTIONAL, 0, "what has changed since is noted, not refused")            \
	X(labels, STRING_PAIRS, OPTIONAL, 64, "beside its labels, or in their place")            \
	X(priority, INT, OPTIONAL, PRIORITY_MAX, "default: as it had")

#define LIST_FIELDS(X)                                                                           \
	X(state, STATE, OPTIONAL, 0, "only Trials in this state")                                \
	X(outcome, OUTCOME, OPTIONAL, 0, "only Trials with this outcome")                        \
	X(labels, STRING_PAIRS, OPTIONAL, 64, "only Trials with all of these")                   \
	X(since, TIME, OPTIONAL, 0, "only Trials submitted at or after this time")               \
	X(before, UINT, OPTIONAL, 0, "cursor: only Trials with a smaller id")                    \
	X(limit, UINT, OPTIONAL, LIST_PAGE_MAX, "most Trials in the page; default 50")           \
	X(sizes, BOOL, OPTIONAL, 0, "with what each takes on disk: disk_bytes")

#define SHOW_FIELDS(X)                                                                           \
	X(id, UINT, REQUIRED, 0, "the Trial")                                                    \
	X(plan, BOOL, OPTIONAL, 0, "with the sandbox plan")

#define WAIT_FIELDS(X) X(id, UINT, REQUIRED, 0, "the Trial")

#define CANCEL_FIELDS(X)                                                                         \
	X(id, UINT, REQUIRED, 0, "the Trial")                                                    \
	X(grace_seconds, SECONDS, OPTIONAL, 3600, "from TERM to the end; default: the launch's")

#define LOGS_FIELDS(X)                                                                           \
	X(id, UINT, REQUIRED, 0, "the Trial")                                                    \
	X(stream, STREAM, OPTIONAL, 0, "stdout (default), stderr or network")                             \
	X(offset, UINT, OPTIONAL, 0, "first byte wanted, counted in original bytes; default 0")  \
	X(tail, UINT, OPTIONAL, 0, "instead of offset: the last so many lines")                  \
	X(follow, BOOL, OPTIONAL, 0, "go on until the Trial has ended")

#define WATCH_FIELDS(X)                                                                          \
	X(id, UINT, OPTIONAL, 0, "only this Trial")                                              \
	X(after, UINT, OPTIONAL, 0, "first what came after the change of this number; 0: all")

#define DOCTOR_FIELDS(X)

/* What is given adds up: all must hold. */
#define PRUNE_FIELDS(X)                                                                          \
	X(older_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "only Trials that ended so long ago")   \
	X(keep, UINT, OPTIONAL, 0, "all but the newest so many")                                 \
	X(total_bytes, SIZE, OPTIONAL, 0, "only the oldest, until the rest takes no more on disk") \
	X(labels, STRING_PAIRS, OPTIONAL, 64, "of Trials with all of these, and no others")      \
	X(dry_run, BOOL, OPTIONAL, 0, "only count")

/* Short enough that what a queued Trial waits for can tell it. */
#define PAUSE_FIELDS(X) X(reason, STRING, OPTIONAL, 200, "why, for those whose Trials wait")
#define RESUME_FIELDS(X)
#define DRAIN_FIELDS(X)                                                                          \
	X(reason, STRING, OPTIONAL, 200, "why; default: as it is paused already, or none")

#define HARNESS_FIELDS(X)                                                                        \
	X(name, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX, "only this one, whole; default: all")

#define LOGINS_FIELDS(X)                                                                         \
	X(name, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX, "only of this Harness; default: of all")

#define LOGIN_RESTORE_FIELDS(X)                                                                  \
	X(name, STRING, REQUIRED, HARNESS_NAME_BYTES_MAX, "the Harness whose login it is")       \
	X(previous, BOOL, OPTIONAL, 0, "also where the one that is there is good: the one before it")

#define STATUS_FIELDS(X)

#define SHUTDOWN_FIELDS(X) X(cancel, BOOL, OPTIONAL, 0, "cancel what runs, and wait for its end, first")

/* The arguments of each verb. X(verb, FIELDS) */
#define PROTOCOL_REQUESTS(X)                                                                     \
	X(hello, HELLO_FIELDS)                                                                   \
	X(launch, LAUNCH_FIELDS)                                                                 \
	X(rerun, RERUN_FIELDS)                                                                   \
	X(list, LIST_FIELDS)                                                                     \
	X(show, SHOW_FIELDS)                                                                     \
	X(wait, WAIT_FIELDS)                                                                     \
	X(cancel, CANCEL_FIELDS)                                                                 \
	X(logs, LOGS_FIELDS)                                                                     \
	X(watch, WATCH_FIELDS)                                                                   \
	X(doctor, DOCTOR_FIELDS)                                                                 \
	X(prune, PRUNE_FIELDS)                                                                   \
	X(pause, PAUSE_FIELDS)                                                                   \
	X(resume, RESUME_FIELDS)                                                                 \
	X(drain, DRAIN_FIELDS)                                                                   \
	X(harness, HARNESS_FIELDS)                                                               \
	X(logins, LOGINS_FIELDS)                                                                 \
	X(login_restore, LOGIN_RESTORE_FIELDS)                                                   \
	X(arm_prepare, ARM_PREPARE_FIELDS)                                                       \
	X(arm_list, ARM_LIST_FIELDS)                                                             \
	X(arm_show, ARM_SHOW_FIELDS)                                                             \
	X(arm_verify, ARM_VERIFY_FIELDS)                                                         \
	X(arm_diff, ARM_DIFF_FIELDS)                                                             \
	X(arm_remove, ARM_REMOVE_FIELDS)                                                         \
	BAR_REQUESTS(X)                                                                          \
	X(status, STATUS_FIELDS)                                                                 \
	X(shutdown, SHUTDOWN_FIELDS)

/* One limit as it was asked for and as it was found in force. */
#define LIMIT_STATE_FIELDS(X)                                                                    \
	X(name, STRING, REQUIRED, 32, "a key of limits")                                         \
	X(asked, FLOAT, REQUIRED, 0, "the value asked for, or the default")                      \
	X(by_default, BOOL, OPTIONAL, 0, "true: nobody asked, it is the shipped default")        \
	X(enforced, BOOL, REQUIRED, 0, "it was read back from where it is enforced")

/* What trials-init saw from inside the sandbox before it ran anything. */
#define BOUNDARY_FIELDS(X)                                                                       \
	X(pid, UINT, REQUIRED, 0, "init's pid inside: 1")                                        \
	X(own_user, BOOL, REQUIRED, 0, "its own user namespace")                                 \
	X(own_mount, BOOL, REQUIRED, 0, "its own mount namespace")                               \
	X(own_pid, BOOL, REQUIRED, 0, "its own pid namespace")                                   \
	X(own_ipc, BOOL, REQUIRED, 0, "its own ipc namespace")                                   \
	X(own_uts, BOOL, REQUIRED, 0, "its own uts namespace")                                   \
	X(own_cgroup, BOOL, REQUIRED, 0, "its own cgroup namespace")                             \
	X(own_network, BOOL, REQUIRED, 0, "its own network namespace")                           \
	X(no_new_privileges, BOOL, REQUIRED, 0, "set")                                           \
	X(seccomp, BOOL, REQUIRED, 0, "a filter is loaded")                                      \
	X(capabilities, UINT, REQUIRED, 0, "effective capabilities: 0")

#define LOG_STATE_FIELDS(X)                                                                      \
	X(stream, STREAM, REQUIRED, 0, "which")                                                  \
	X(bytes, UINT, REQUIRED, 0, "bytes produced")                                            \
	X(kept, UINT, REQUIRED, 0, "bytes kept")                                                 \
	X(path, PATH, OPTIONAL, PATH_BYTES_MAX, "file with the head; .NNN files beside it hold the tail")

/* A file that tells git what to run or to do, and which is not as it was before the Trial. */
#define GIT_CHANGE_FIELDS(X)                                                                     \
	X(path, BYTES, REQUIRED, PATH_BYTES_MAX, "in the repository, or absolute where its git folder is elsewhere") \
	X(change, STRING, REQUIRED, 16, "added, changed or removed; or more: there are others")

/* What became of a login that the Trial had a copy of. */
#define LOGIN_OUTCOME_FIELDS(X)                                                                  \
	X(harness, STRING, REQUIRED, 64, "whose login")                                          \
	X(state, STRING, REQUIRED, 16, "good, suspect (the copy was damaged, and not carried) or failed") \
	X(reason, STRING, OPTIONAL, 512, "why it is not good: a part of a sentence")             \
	X(refreshed_at, TIME, OPTIONAL, 0, "the Trial's last refresh reached the host")          \
	X(ends_at, TIME, OPTIONAL, 0, "when it ends, where that can be told")

/* What was kept, in the Trial's folder, of what it left in its home. */
#define KEPT_FIELDS(X)                                                                           \
	X(what, STRING, REQUIRED, 16, "session (for --resume --of) or home (of keep_home)")      \
	X(state, STRING, REQUIRED, 16, "whole, cut (some of it is missing) or none")             \
	X(bytes, SIZE, OPTIONAL, 0, "of its files")                                              \
	X(files, UINT, OPTIONAL, 0, "how many")                                                  \
	X(left_out, UINT, OPTIONAL, 0, "entries left out: links, devices, a login's files, what is too large, …") \
	X(examples, BYTES_LIST, OPTIONAL, 8, "some of them, below the home")                     \
	X(reason, STRING, OPTIONAL, 512, "why it is not whole: a part of a sentence")

/* What a Trial connected to, or would have: one row for each host, port and verdict. */
#define CONNECTION_FIELDS(X)                                                             \
	X(host, STRING, REQUIRED, HOST_BYTES_MAX, "as it was asked for, in lower case; escaped, and cut")\
	X(port, UINT, REQUIRED, 65535, "port")                                           \
	X(verdict, VERDICT, REQUIRED, 0, "what was made of it")                          \
	X(count, UINT, REQUIRED, 0, "how often")                                         \
	X(first_at, TIME, OPTIONAL, 0, "the first time")                                 \
	X(sent_bytes, SIZE, OPTIONAL, 0, "from the Trial")                               \
	X(received_bytes, SIZE, OPTIONAL, 0, "to the Trial")                             \
	X(addresses, STRINGS, OPTIONAL, CONNECTION_ADDRESSES_MAX, "used, or refused; the first few")

/* Those beyond the first CONNECTIONS_MAX rows, summed. */
#define CONNECTION_SUM_FIELDS(X)                                                         \
	X(count, UINT, REQUIRED, 0, "how many")                                          \
	X(sent_bytes, SIZE, OPTIONAL, 0, "from the Trial")                               \
	X(received_bytes, SIZE, OPTIONAL, 0, "to the Trial")

/* What a Grader made of a result. */
#define TRIAL_VERDICT_FIELDS(X)                                                                  \
	X(vote, VOTE, REQUIRED, 0, "what it says")                                               \
	X(score, FLOAT, OPTIONAL, 0, "from 0 to 1, where it gave one")                           \
	X(reason, STRING, OPTIONAL, VERDICT_REASON_BYTES_MAX, "why; cut where it said more")     \
	X(family, STRING, OPTIONAL, 32, "of the seat that voted")

/*
 * What the keeper reports when a Trial has ended: its exit record, the file `outcome` in the
 * Trial's folder. The same keys stand in a Trial.
 */
#define OUTCOME_FIELDS(X)                                                                        \
	X(outcome, OUTCOME, OPTIONAL, 0, "how it ended; always there in a record")               \
	X(cause, CAUSE, OPTIONAL, 0, "for void: why")                                            \
	X(ended_by, ENDER, OPTIONAL, 0, "who brought it about")                                  \
	X(message, STRING, OPTIONAL, 4096, "what happened, for a person")                        \
	X(hint, STRING, OPTIONAL, 4096, "the command that mends it")                             \
	X(exit_code, UINT, OPTIONAL, 255, "the main process's exit code")                        \
	X(exit_signal, UINT, OPTIONAL, 128, "the signal that ended the main process")            \
	X(started_at, TIME, OPTIONAL, 0, "the main process started")                             \
	X(ended_at, TIME, OPTIONAL, 0, "the sandbox was empty; always there in a record")        \
	X(wall_seconds, SECONDS, OPTIONAL, 0, "from start to end, suspend excluded")             \
	X(boot_seconds, SECONDS, OPTIONAL, 0, "from start to end, suspend included")             \
	X(cpu_seconds, SECONDS, OPTIONAL, 0, "processor time, all processes")                    \
	X(cpu_user_seconds, SECONDS, OPTIONAL, 0, "of it in user mode")                          \
	X(cpu_system_seconds, SECONDS, OPTIONAL, 0, "of it in the kernel")                       \
	X(memory_peak, SIZE, OPTIONAL, 0, "most bytes at once (of one process where no cgroup counts them)") \
	X(tasks_peak, UINT, OPTIONAL, 0, "most processes and threads at once")                   \
	X(io_read_bytes, SIZE, OPTIONAL, 0, "bytes read from storage")                           \
	X(io_write_bytes, SIZE, OPTIONAL, 0, "bytes written to storage")                         \
	X(oom_kills, UINT, OPTIONAL, 0, "processes killed for the memory limit")                 \
	X(task_limit_hits, UINT, OPTIONAL, 0, "forks refused for the task limit")                \
	X(limits, LIMIT_STATES, OPTIONAL, 16, "limits asked for and found in force")             \
	X(boundary, BOUNDARY, OPTIONAL, 0, "the sandbox as seen from inside")                    \
	X(logs, LOG_STATES, OPTIONAL, 3, "what was written and what is kept")                    \
	X(commit, STRING, OPTIONAL, 64, "what the repository had checked out when it started")   \
	X(git_changes, GIT_CHANGES, OPTIONAL, 65, "changed while it ran: git's configuration, hooks, attributes, …") \
	X(logins, LOGIN_OUTCOMES, OPTIONAL, 8, "what became of the logins it had")               \
	X(kept, KEPT_LIST, OPTIONAL, 2, "what was kept of its home: its session, and what else was asked for") \
	X(connections, CONNECTIONS, OPTIONAL, CONNECTIONS_MAX, "of network allowlist: in the order of their first (show)") \
	X(connections_more, CONNECTION_SUM, OPTIONAL, 0, "those that are beyond them (show)")    \
	X(no_network_used, BOOL, OPTIONAL, 0, "of a Harness that needs hosts: it asked for none at all") \
	X(verdict, TRIAL_VERDICT, OPTIONAL, 0, "of a grader of a Trial: what it said of its result")

/* What holds the queue: the same keys wherever it is told. */
#define HOLD_FIELDS(X)                                                                           \
	X(hold, HOLD, OPTIONAL, 0, "what holds the queue, or the Trial; missing: nothing does")                \
	X(held_reason, STRING, OPTIONAL, 4096, "why, as pause and drain were told, or what is to be mended") \
	X(held_by, STRING, OPTIONAL, 128, "the client that asked for it, of pause and drain")    \
	X(held_at, TIME, OPTIONAL, 0, "since when; of pause and drain: asked for last")

/* Whose session a Trial is: as it was asked for, and, once it was started, as it was found. */
#define TRIAL_HARNESS_FIELDS(X)                                                                  \
	X(name, STRING, REQUIRED, HARNESS_NAME_BYTES_MAX, "the Harness")                         \
	X(product, STRING, OPTIONAL, 64, "what it is called")                                    \
	X(model, STRING, OPTIONAL, 256, "as asked")                                              \
	X(effort, STRING, OPTIONAL, 32, "as asked")                                              \
	X(resume, STRING, OPTIONAL, 256, "as asked")                                             \
	X(executable, PATH, OPTIONAL, PATH_BYTES_MAX, "its program, through all symbolic links") \
	X(version, STRING, OPTIONAL, 64, "of the program, where it could be told")               \
	X(sha256, STRING, OPTIONAL, 64, "of the program, hexadecimal")                           \
	X(release, PATH, OPTIONAL, PATH_BYTES_MAX, "what of it is visible inside")               \
	X(interpreter, PATH, OPTIONAL, PATH_BYTES_MAX, "the program that a script is run by")    \
	X(login, STRING, OPTIONAL, 16, "how it is signed in: the kind of its login")             \
	X(prompt, STRING, OPTIONAL, 16, "how it is given its prompt: argument, stdin or file")   \
	X(file, PATH, OPTIONAL, PATH_BYTES_MAX, "the .harness file that said so")                \
	X(of, UINT, OPTIONAL, 0, "as asked: the Trial whose session was put back")

/* A toolchain that a Trial has: as it was asked for, and, once it was started, as it was found. */
#define TRIAL_TOOLCHAIN_FIELDS(X)                                                                \
	X(name, STRING, REQUIRED, TOOLCHAIN_NAME_BYTES_MAX, "as trialsd.conf(5) has it")         \
	X(read_only, BYTES_LIST, OPTIONAL, 64, "what of the host is visible for it")             \
	X(path, BYTES_LIST, OPTIONAL, 64, "folders in front of PATH")                            \
	X(programs, BYTES_LIST, OPTIONAL, 64, "its programs, through all symbolic links")        \
	X(file, PATH, OPTIONAL, PATH_BYTES_MAX, "the configuration that said so")

/* Something at a place of the sandbox. */
#define MOUNT_FIELDS(X)                                                                          \
	X(destination, BYTES, REQUIRED, PATH_BYTES_MAX, "where, inside")                         \
	X(kind, MOUNT_KIND, REQUIRED, 0, "what")                                                 \
	X(source, BYTES, OPTIONAL, PATH_BYTES_MAX, "of what is bound: on the host, or login, lock, prompt (trialsd's own); of a link: where it leads") \
	X(mode, MODE, OPTIONAL, 0, "of what is bound")                                           \
	X(size, SIZE, OPTIONAL, 0, "of tmpfs: bytes at most")                                    \
	X(sha256, STRING, OPTIONAL, 64, "of a file that was made: its content, hexadecimal")

/* What a sandbox was made of. No secret is told: see masked. */
#define SANDBOX_FIELDS(X)                                                                        \
	X(mounts, MOUNTS, REQUIRED, MOUNTS_MAX, "parents first")                                 \
	X(command, BYTES_LIST, OPTIONAL, 8192, "what ran; words that are long, or hold a secret, are only described") \
	X(cwd, PATH, OPTIONAL, PATH_BYTES_MAX, "where it ran")                                   \
	X(environment, PAIRS, OPTIONAL, 2048, "all of its variables; values that are long, or secret, are only described") \
	X(masked, STRINGS, OPTIONAL, 2048, "names of variables whose values are, or may be, secrets") \
	X(internal, STRINGS, OPTIONAL, HOSTS_MAX, "of network allowlist: hosts that may be internal, once allowed") \
	X(limits, LIMITS, OPTIONAL, 0, "all that there were")                                    \
	X(grace_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "from TERM to the end")                 \
	X(idle_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "of network allowlist: after which a silent connection ends")

/* A Trial, as show, list, launch, wait, cancel and the state event give it. */
#define TRIAL_FIELDS(X)                                                                          \
	X(id, UINT, REQUIRED, 0, "positive, never reused")                                       \
	X(uuid, STRING, REQUIRED, 36, "names its scope and its keeper; each start has another")                          \
	X(state, STATE, REQUIRED, 0, "where it is")                                              \
	X(role, ROLE, REQUIRED, 0, "trial or grader")                                            \
	X(command, BYTES_LIST, OPTIONAL, 4096, "program and arguments")                          \
	X(repository, PATH, OPTIONAL, PATH_BYTES_MAX, "canonical")                               \
	X(repository_mode, MODE, OPTIONAL, 0, "ro or rw")                                        \
	X(cwd, PATH, OPTIONAL, PATH_BYTES_MAX, "as asked")                                       \
	X(network, NETWORK, REQUIRED, 0, "as it is or will be")                                  \
	X(backend, BACKEND, OPTIONAL, 0, "systemd or none, once started")                        \
	X(labels, STRING_PAIRS, OPTIONAL, 64, "the client's own names")                          \
	X(key, STRING, OPTIONAL, 128, "as given at launch")                                      \
	X(priority, INT, REQUIRED, PRIORITY_MAX, "higher runs first")                            \
	X(submitted_at, TIME, REQUIRED, 0, "accepted")                                           \
	X(unit, STRING, OPTIONAL, 128, "its scope on the user manager")                          \
	X(folder, PATH, OPTIONAL, PATH_BYTES_MAX, "what is kept of it")                          \
	X(position, UINT, OPTIONAL, 0, "place in the queue, 1 is next")                          \
	X(waits_for, STRING, OPTIONAL, 256, "what a queued Trial waits for")                     \
	X(canceled_by, STRING, OPTIONAL, 128, "the client that canceled it")                     \
	X(notes, STRINGS, OPTIONAL, 64, "what a reader should know: optional paths that were missing, …") \
	X(plan_digest, STRING, OPTIONAL, 64, "SHA-256 of the sandbox plan, hexadecimal")         \
	X(plan, BYTES_LIST, OPTIONAL, 4096, "the sandbox's arguments (show with plan)")          \
	X(disk_bytes, SIZE, OPTIONAL, 0, "what its folder takes on disk (list with sizes)")      \
	HOLD_FIELDS(X)                                                                           \
	OUTCOME_FIELDS(X)                                                                        \
	X(harness, TRIAL_HARNESS, OPTIONAL, 0, "of a session: whose it is")                      \
	X(toolchains, TRIAL_TOOLCHAINS, OPTIONAL, 16, "that it has")                             \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX, "of network allowlist, once started: what it may reach (show)") \
	X(build, PATH, OPTIONAL, PATH_BYTES_MAX, "as asked (show)")                              \
	X(skills, PATH, OPTIONAL, PATH_BYTES_MAX, "as asked (show)")                             \
	X(binds, BINDS, OPTIONAL, 128, "as asked (show)")                                        \
	X(environment_names, STRINGS, OPTIONAL, 1024, "of the variables asked for; not their values (show)") \
	X(rerun_of, UINT, OPTIONAL, 0, "the Trial that it is once more")                         \
	X(sandbox, SANDBOX, OPTIONAL, 0, "what the sandbox was made of, once started (show with plan)") \
	X(arm, STRING, OPTIONAL, ARM_ID_BYTES, "the Arm that it is of")                          \
	X(arm_name, STRING, OPTIONAL, ARM_NAME_BYTES_MAX, "what that is called")                 \
	X(harnesses, TRIAL_HARNESSES, OPTIONAL, ARM_HARNESSES_MAX, "of a Custom runner, once started: that it drives") \
	X(providers, STRINGS, OPTIONAL, ARM_PROVIDERS_MAX, "of a Custom runner: whose keys it has") \
	X(no_sandbox, BOOL, OPTIONAL, 0, "it ran without a sandbox: trialsd was told to do so")  \
	X(bar, STRING, OPTIONAL, BAR_NAME_BYTES_MAX, "as asked")                                 \
	X(seat, STRING, OPTIONAL, BAR_NAME_BYTES_MAX, "as asked")                                \
	X(families, STRINGS, OPTIONAL, FAMILIES_MAX,                                             \
	  "of its models, as they were when it was accepted: of its Arm or seat, or with bar")   \
	X(of, UINT, OPTIONAL, 0, "of a grader: the Trial whose result it judges")                \
	X(bar_id, STRING, OPTIONAL, BAR_ID_BYTES, "of a launch with bar: which Bar of that name it was")

#define LIST_REPLY_FIELDS(X)                                                                     \
	X(trials, TRIALS, REQUIRED, LIST_PAGE_MAX, "the page, newest first")                     \
	X(cursor, UINT, OPTIONAL, 0, "there is more: ask again with before=cursor")

/* A Trial that is not over, in status. */
#define STATUS_TRIAL_FIELDS(X)                                                                   \
	X(id, UINT, REQUIRED, 0, "the Trial")                                                    \
	X(state, STATE, REQUIRED, 0, "where it is")                                              \
	X(waits_for, STRING, OPTIONAL, 256, "what it waits for")

#define STATUS_REPLY_FIELDS(X)                                                                   \
	X(program, STRING, REQUIRED, 64, "name and version")                                     \
	X(pid, UINT, REQUIRED, 0, "the daemon's process id")                                     \
	X(started_at, TIME, REQUIRED, 0, "when it started")                                      \
	X(socket, PATH, REQUIRED, PATH_BYTES_MAX, "where it listens")                            \
	X(state_folder, PATH, REQUIRED, PATH_BYTES_MAX, "ledger and Trials' folders")            \
	X(runtime_folder, PATH, REQUIRED, PATH_BYTES_MAX, "socket and locks")                    \
	X(logs_folder, PATH, REQUIRED, PATH_BYTES_MAX, "one folder per Trial")                   \
	X(backend, BACKEND, REQUIRED, 0, "in use: systemd or none")                              \
	X(backend_reason, STRING, OPTIONAL, 1024, "why it is none")                              \
	X(unavailable, STRING, OPTIONAL, 1024, "why nothing can be launched")                    \
	X(disk_bytes, SIZE, REQUIRED, 0, "used by the state folder")                             \
	X(max_running, UINT, REQUIRED, 0, "most Trials at once")                                 \
	X(queued, UINT, REQUIRED, 0, "waiting")                                                  \
	X(running, UINT, REQUIRED, 0, "holding a slot")                                          \
	X(ended, UINT, REQUIRED, 0, "in the ledger and over")                                    \
	X(clients, UINT, REQUIRED, 0, "connected")                                               \
	X(trials, STATUS_TRIALS, OPTIONAL, LIST_PAGE_MAX, "what is not over, next first")        \
	X(paused, BOOL, OPTIONAL, 0, "nothing is started until resume")                          \
	X(paused_reason, STRING, OPTIONAL, 200, "why, as pause was given it")                    \
	HOLD_FIELDS(X)                                                                           \
	X(held, UINT, OPTIONAL, 0, "of those that are queued, held")                             \
	X(ledger, STRING, OPTIONAL, 1024, "what happened to the ledger: it was corrupt, and rebuilt") \
	X(no_sandbox, BOOL, OPTIONAL, 0, "Trials run without a sandbox: trialsd was told to do so") \
	X(file_faults, STRINGS, OPTIONAL, 64,                                                    \
	  "files of the person's that are not in force: each with line, key and what is wrong")  \
	X(file_faults_hint, STRING, OPTIONAL, 1024, "what mends them")

/* One thing that doctor looked at. */
#define DOCTOR_CHECK_FIELDS(X)                                                                   \
	X(name, STRING, REQUIRED, 32, "never changes its meaning")                               \
	X(proves, STRING, REQUIRED, 256, "what is true when it is ok")                           \
	X(state, CHECK_STATE, REQUIRED, 0, "how it ended")                                       \
	X(message, STRING, OPTIONAL, 4096, "what was found, for a person")                       \
	X(hint, STRING, OPTIONAL, 4096, "the one command that mends it")

#define DOCTOR_REPLY_FIELDS(X)                                                                   \
	X(program, STRING, REQUIRED, 64, "name and version")                                     \
	X(launchable, BOOL, REQUIRED, 0, "false: a launch is refused as unavailable")            \
	X(message, STRING, OPTIONAL, 4096, "when it is not: the cause, as a refused launch says it") \
	X(hint, STRING, OPTIONAL, 4096, "the one command that mends it")                         \
	X(checks, DOCTOR_CHECKS, REQUIRED, 64, "in the order they were made")

/* A Harness. What stands below fault is there only when its file is not at fault. */
#define HARNESS_VIEW_FIELDS(X)                                                                   \
	X(name, STRING, REQUIRED, HARNESS_NAME_BYTES_MAX, "what launch takes")                   \
	X(file, PATH, REQUIRED, PATH_BYTES_MAX, "its .harness file")                             \
	X(own, BOOL, REQUIRED, 0, "true: the person's own, not one that came with trialsd")      \
	X(fault, STRING, OPTIONAL, 4096, "what is wrong with the file, with line and key")       \
	X(product, STRING, OPTIONAL, 64, "what it is called")                                    \
	X(family, STRING, OPTIONAL, 32, "the family of its models")                              \
	X(executable, PATH, OPTIONAL, PATH_BYTES_MAX, "its program, through all symbolic links") \
	X(version, STRING, OPTIONAL, 64, "of the program, where it could be told")               \
	X(release, PATH, OPTIONAL, PATH_BYTES_MAX, "what of it is visible inside")               \
	X(interpreter, PATH, OPTIONAL, PATH_BYTES_MAX, "the program that a script is run by")    \
	X(missing, STRING, OPTIONAL, 4096, "why it cannot be launched: what was not found where") \
	X(hint, STRING, OPTIONAL, 4096, "what mends it")                                         \
	X(logins, STRINGS, OPTIONAL, 8, "kinds of login, the preferred one first")               \
	X(prompts, STRINGS, OPTIONAL, 8, "ways it takes a prompt, the preferred one first")      \
	X(arguments, BYTES_LIST, OPTIONAL, 4096, "its command line, as the file has it (with name)") \
	X(read_only, BYTES_LIST, OPTIONAL, 256, "files of the person's own that it sees (with name)") \
	X(hosts, STRINGS, OPTIONAL, 256, "hosts that each session needs (with name)")

#define HARNESS_REPLY_FIELDS(X) X(harnesses, HARNESSES, REQUIRED, 512, "by name")

/* One way in which a Harness can be signed in. Content of a login is never told. */
#define LOGIN_VIEW_FIELDS(X)                                                                     \
	X(harness, STRING, REQUIRED, HARNESS_NAME_BYTES_MAX, "whose login it is")                \
	X(kind, LOGIN_KIND, OPTIONAL, 0, "how; absent when the .harness file is at fault")       \
	X(used, BOOL, REQUIRED, 0, "true: the next launch would use this one")                   \
	X(state, LOGIN_CONDITION, REQUIRED, 0, "how it is")                                      \
	X(present, BOOL, REQUIRED, 0, "something is there, whatever it is")                      \
	X(path, PATH, OPTIONAL, PATH_BYTES_MAX, "its file; of env, the credentials file")        \
	X(credential, STRING, OPTIONAL, 128, "of env: TABLE.KEY in that file")                   \
	X(home, PATH, OPTIONAL, PATH_BYTES_MAX, "of home: the folder that Trials have in turn")  \
	X(reason, STRING, OPTIONAL, 4096, "why it is not good, for a person")                    \
	X(hint, STRING, OPTIONAL, 4096, "the one command that mends it")                         \
	X(sign_in, BYTES_LIST, OPTIONAL, 256, "the command that signs in, as the .harness file has it") \
	X(ends_at, TIME, OPTIONAL, 0, "when it ends, where that can be told; it may be refreshed then") \
	X(changed_at, TIME, OPTIONAL, 0, "when its file was written, by whomever")               \
	X(refreshed_at, TIME, OPTIONAL, 0, "when what a Trial made of it came to be the host's") \
	X(refreshed_by, UINT, OPTIONAL, 0, "that Trial")                                         \
	X(suspect_at, TIME, OPTIONAL, 0, "of suspect: when it was damaged")                      \
	X(suspect_by, UINT, OPTIONAL, 0, "by this Trial")                                        \
	X(restorable, BOOL, OPTIONAL, 0, "an earlier good one is kept: login_restore")           \
	X(restored_from, TIME, OPTIONAL, 0, "of login_restore: since when what was put back was kept") \
	X(waiting, UINT, OPTIONAL, 0, "Trials that wait for it, in all")                         \
	X(waiters, STATUS_TRIALS, OPTIONAL, LIST_PAGE_MAX, "of them, those that are next")       \
	X(users, STATUS_TRIALS, OPTIONAL, LIST_PAGE_MAX, "Trials that have it")                  \
	X(holder_pid, UINT, OPTIONAL, 0, "of home: who has it, when that is no Trial of this daemon") \
	X(holder, STRING, OPTIONAL, 64, "its command; or who took it and is gone")

#define LOGINS_REPLY_FIELDS(X)                                                                   \
	X(logins, LOGINS, REQUIRED, 2048, "by Harness; of one, the preferred way first")

#define PRUNE_REPLY_FIELDS(X)                                                                    \
	X(pruned, UINT, REQUIRED, 0, "Trials removed, or to be removed with dry_run")            \
	X(bytes, SIZE, REQUIRED, 0, "that their folders took on disk")                           \
	X(left, UINT, OPTIONAL, 0, "of them, whose folders could not be removed; tried at each start")

#define PAUSE_REPLY_FIELDS(X)                                                                    \
	X(running, UINT, REQUIRED, 0, "still holding a slot")                                    \
	X(queued, UINT, REQUIRED, 0, "waiting")

#define SHUTDOWN_REPLY_FIELDS(X)                                                                 \
	X(canceled, UINT, REQUIRED, 0, "Trials canceled for it")                                 \
	X(running, UINT, OPTIONAL, 0, "Trials that go on without it")                            \
	X(pid, UINT, OPTIONAL, 0, "the daemon's process, which is gone a moment after the connection")

/* The reply of logs; the output follows as events that carry the request's number. */
#define LOGS_REPLY_FIELDS(X) X(offset, UINT, REQUIRED, 0, "where the output will start")

#define WATCH_REPLY_FIELDS(X)                                                                    \
	X(number, UINT, OPTIONAL, 0, "of the newest change, whichever Trial's; 0: there was none") \
	HOLD_FIELDS(X)

#define STATE_EVENT_FIELDS(X)                                                                    \
	X(trial, TRIAL, REQUIRED, 0, "the Trial as it is now")                                   \
	X(before, STATE, OPTIONAL, 0, "the state it was in")                                     \
	X(number, UINT, OPTIONAL, 0, "of the change; grows, never given again")                  \
	X(at, TIME, OPTIONAL, 0, "when it was")                                                  \
	X(state, STATE, OPTIONAL, 0, "the state that it led to")

#define CAUGHT_UP_EVENT_FIELDS(X) X(number, UINT, REQUIRED, 0, "of the last change looked at")

#define QUEUE_EVENT_FIELDS(X)                                                                    \
	X(at, TIME, REQUIRED, 0, "when it was")                                                  \
	X(running, UINT, REQUIRED, 0, "still holding a slot")                                    \
	X(queued, UINT, REQUIRED, 0, "waiting")                                                  \
	HOLD_FIELDS(X)

#define LOG_EVENT_FIELDS(X)                                                                      \
	X(offset, UINT, REQUIRED, 0, "of the first byte")                                        \
	X(data, BLOB, REQUIRED, LOG_CHUNK_BYTES_MAX, "the bytes as they were written")

#define GAP_EVENT_FIELDS(X)                                                                      \
	X(from, UINT, REQUIRED, 0, "first byte not kept")                                        \
	X(to, UINT, REQUIRED, 0, "first byte kept again")

#define LOG_END_EVENT_FIELDS(X) X(offset, UINT, REQUIRED, 0, "bytes produced in all")

#define ERROR_FIELDS(X)                                                                          \
	X(code, STRING, REQUIRED, 64, "one of the error codes")                                  \
	X(message, STRING, REQUIRED, 4096, "what is wrong, for a person")                        \
	X(hint, STRING, OPTIONAL, 4096, "what mends it")

/*
 * Every message type: M(c_name, FIELDS). Inner ones come before those that hold them. The C
 * structure is `struct c_name`, its description `c_name_type` (message.h).
 */
#define PROTOCOL_MESSAGES(M)                                                                     \
	M(bind_spec, BIND_FIELDS)                                                                \
	M(limits_spec, LIMITS_FIELDS)                                                            \
	M(limit_state, LIMIT_STATE_FIELDS)                                                       \
	M(boundary, BOUNDARY_FIELDS)                                                             \
	M(log_state, LOG_STATE_FIELDS)                                                           \
	M(git_change, GIT_CHANGE_FIELDS)                                                         \
	M(login_outcome, LOGIN_OUTCOME_FIELDS)                                                   \
	M(kept, KEPT_FIELDS)                                                                     \
	M(trial_connection, CONNECTION_FIELDS)                                                   \
	M(connection_sum, CONNECTION_SUM_FIELDS)                                                 \
	M(trial_verdict, TRIAL_VERDICT_FIELDS)                                                   \
	M(status_trial, STATUS_TRIAL_FIELDS)                                                     \
	M(doctor_check, DOCTOR_CHECK_FIELDS)                                                     \
	M(trial_harness, TRIAL_HARNESS_FIELDS)                                                   \
	M(trial_toolchain, TRIAL_TOOLCHAIN_FIELDS)                                               \
	M(harness_view, HARNESS_VIEW_FIELDS)                                                     \
	M(login_view, LOGIN_VIEW_FIELDS)                                                         \
	M(outcome_record, OUTCOME_FIELDS)                                                        \
	M(sandbox_mount, MOUNT_FIELDS)                                                           \
	M(sandbox_view, SANDBOX_FIELDS)                                                          \
	M(arm_file, ARM_FILE_FIELDS)                                                             \
	M(arm_harness, ARM_HARNESS_FIELDS)                                                       \
	M(arm_provider, ARM_PROVIDER_FIELDS)                                                     \
	M(arm_folder, ARM_FOLDER_FIELDS)                                                         \
	M(arm_spec, ARM_SPEC_FIELDS)                                                             \
	M(arm, ARM_FIELDS)                                                                       \
	M(arm_change, ARM_CHANGE_FIELDS)                                                         \
	M(arm_view, ARM_VIEW_FIELDS)                                                             \
	BAR_INNER_MESSAGES(M)                                                                    \
	M(trial_view, TRIAL_FIELDS)                                                              \
	M(hello_request, HELLO_FIELDS)                                                           \
	M(launch_request, LAUNCH_FIELDS)                                                         \
	M(rerun_request, RERUN_FIELDS)                                                           \
	M(list_request, LIST_FIELDS)                                                             \
	M(show_request, SHOW_FIELDS)                                                             \
	M(wait_request, WAIT_FIELDS)                                                             \
	M(cancel_request, CANCEL_FIELDS)                                                         \
	M(logs_request, LOGS_FIELDS)                                                             \
	M(watch_request, WATCH_FIELDS)                                                           \
	M(doctor_request, DOCTOR_FIELDS)                                                         \
	M(prune_request, PRUNE_FIELDS)                                                           \
	M(pause_request, PAUSE_FIELDS)                                                           \
	M(resume_request, RESUME_FIELDS)                                                         \
	M(drain_request, DRAIN_FIELDS)                                                           \
	M(harness_request, HARNESS_FIELDS)                                                       \
	M(logins_request, LOGINS_FIELDS)                                                         \
	M(login_restore_request, LOGIN_RESTORE_FIELDS)                                           \
	M(arm_prepare_request, ARM_PREPARE_FIELDS)                                               \
	M(arm_list_request, ARM_LIST_FIELDS)                                                     \
	M(arm_show_request, ARM_SHOW_FIELDS)                                                     \
	M(arm_verify_request, ARM_VERIFY_FIELDS)                                                 \
	M(arm_diff_request, ARM_DIFF_FIELDS)                                                     \
	M(arm_remove_request, ARM_REMOVE_FIELDS)                                                 \
	BAR_REQUEST_MESSAGES(M)                                                                  \
	M(status_request, STATUS_FIELDS)                                                         \
	M(shutdown_request, SHUTDOWN_FIELDS)                                                     \
	M(hello_reply, HELLO_REPLY_FIELDS)                                                       \
	M(list_reply, LIST_REPLY_FIELDS)                                                         \
	M(doctor_reply, DOCTOR_REPLY_FIELDS)                                                     \
	M(status_reply, STATUS_REPLY_FIELDS)                                                     \
	M(prune_reply, PRUNE_REPLY_FIELDS)                                                       \
	M(pause_reply, PAUSE_REPLY_FIELDS)                                                       \
	M(resume_reply, PAUSE_REPLY_FIELDS)                                                      \
	M(drain_reply, PAUSE_REPLY_FIELDS)                                                       \
	M(harness_reply, HARNESS_REPLY_FIELDS)                                                   \
	M(logins_reply, LOGINS_REPLY_FIELDS)                                                     \
	M(login_restore_reply, LOGINS_REPLY_FIELDS)                                              \
	M(arm_prepare_reply, ARM_VIEW_FIELDS)                                                    \
	M(arm_list_reply, ARM_LIST_REPLY_FIELDS)                                                 \
	M(arm_show_reply, ARM_VIEW_FIELDS)                                                       \
	M(arm_verify_reply, ARM_VIEW_FIELDS)                                                     \
	M(arm_diff_reply, ARM_DIFF_REPLY_FIELDS)                                                 \
	M(arm_remove_reply, ARM_REMOVE_REPLY_FIELDS)                                             \
	BAR_REPLY_MESSAGES(M)                                                                    \
	M(shutdown_reply, SHUTDOWN_REPLY_FIELDS)                                                 \
	M(logs_reply, LOGS_REPLY_FIELDS)                                                         \
	M(watch_reply, WATCH_REPLY_FIELDS)                                                       \
	M(state_event, STATE_EVENT_FIELDS)                                                       \
	M(log_event, LOG_EVENT_FIELDS)                                                           \
	M(gap_event, GAP_EVENT_FIELDS)                                                           \
	M(log_end_event, LOG_END_EVENT_FIELDS)                                                   \
	M(caught_up_event, CAUGHT_UP_EVENT_FIELDS)                                               \
	M(queue_event, QUEUE_EVENT_FIELDS)                                                       \
	M(error_body, ERROR_FIELDS)
