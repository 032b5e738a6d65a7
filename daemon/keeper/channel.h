/* SPDX-License-Identifier: MIT */
#pragma once

#include "proto/message.h"

/*
 * What trialsd and a keeper say to each other: msgpack maps by the tables below, one per packet,
 * over a SOCK_SEQPACKET pair (the keeper's descriptor 3). Versioned like the wire, since a newer
 * trialsd may meet a keeper that an older one started.
 *
 *   keeper -> trialsd  hello   first on a channel that a later trialsd opened (attach.h)
 *   trialsd -> keeper  enter   maybe, before `start`: make ready what no plan is needed for
 *   trialsd -> keeper  start   with descriptors: the plan memfd, then those the plan counts
 *   keeper -> trialsd  running the main process has started
 *   keeper -> trialsd  ending  the main process is gone, or the end was ordered
 *   keeper -> trialsd  ended   the sandbox is empty; the record is in the Trial's folder too
 *   trialsd -> keeper  cancel  grace
 *   trialsd -> keeper  taken   the end is durable in the ledger; the keeper leaves
 *   trialsd -> keeper  ping    an end is overdue: are you there?
 *   keeper -> trialsd  pong    yes
 *   keeper -> trialsd  login   a login was carried, or is found damaged (login.h: login_result)
 *
 * The gate: a keeper that reads end-of-file before `start` exits 0 and has done nothing.
 */
#define CHANNEL_VERSION 1
#define CHANNEL_FD 3
#define CHANNEL_PACKET_BYTES_MAX (64u * 1024u)
#define CHANNEL_DESCRIPTORS_MAX 250 /* SCM_MAX_FD is 253 */
#define CHANNEL_PLAN_BYTES_MAX (4u * 1024u * 1024u)

#define CHANNEL_VERBS(X)                                                                           \
	X(hello)                                                                                   \
	X(start)                                                                                   \
	X(running)                                                                                 \
	X(ending)                                                                                  \
	X(ended)                                                                                   \
	X(cancel)                                                                                  \
	X(taken)                                                                                   \
	X(ping)                                                                                    \
	X(pong)                                                                                    \
	X(enter)                                                                                   \
	X(login)

/*
 * Descriptors of `start`, in this order. Those named optional are given as /dev/null when there
 * is nothing to give, so that the order never changes.
 *
 * A prompt that is a plain file is copied by the keeper into a sealed memory file: through
 * /proc/self/fd/0 a Trial could open the file itself for writing.
 */
enum channel_descriptor {
	CHANNEL_FD_PLAN,    /* sealed memfd: keeper_plan */
	CHANNEL_FD_FOLDER,  /* the Trial's folder, O_DIRECTORY */
	CHANNEL_FD_BWRAP,   /* O_PATH of the pinned bwrap */
	CHANNEL_FD_INIT,    /* O_PATH of trials-init */
	CHANNEL_FD_SECCOMP, /* memfd with the filter */
	CHANNEL_FD_STDIN,   /* the prompt, at its start, or /dev/null */
	CHANNEL_FD_KEEPERS, /* RUNTIME/k, O_DIRECTORY: where the keeper listens */
	CHANNEL_FD_BINDS,   /* first of keeper_plan.descriptors: what the sandbox arguments use;
			       the leases, last, are for keeper and pid 1 alone. After them come
			       keeper_plan.logins times LOGIN_FDS (login.h) */
};

/*
 * Numbers that bwrap's arguments are written for: the keeper puts the descriptors there in the
 * child that becomes bwrap. Bind descriptor i is at SANDBOX_FD_BINDS + i.
 */
#define SANDBOX_FD_CONTROL 10 /* trials-init's end of the control socket */
#define SANDBOX_FD_INIT 11    /* trials-init itself, executed as /proc/self/fd/11 */
#define SANDBOX_FD_ARGUMENTS 12
#define SANDBOX_FD_SECCOMP 13
#define SANDBOX_FD_BINDS 20 /* the leases: CONTROL_FD_LEASES */

/* A map with the key `verb` and these beside it. */
#define KEEPER_PLAN_FIELDS(X)                                                                      \
	X(version, UINT, REQUIRED, 1000, "CHANNEL_VERSION")                                        \
	X(trial, UINT, REQUIRED, 0, "the Trial's id")                                              \
	X(uuid, STRING, REQUIRED, 36, "the Trial's uuid")                                          \
	X(backend, BACKEND, REQUIRED, 0, "systemd or none")                                        \
	X(cgroup, STRING, OPTIONAL, 4096,                                                          \
	  "the scope's cgroup, as /proc/self/cgroup shows it; the keeper must be in it")           \
	X(sandbox, BYTES_LIST, REQUIRED, 0, "bwrap's options, without the command")                \
	X(descriptors, UINT, REQUIRED, 240, "how many bind descriptors follow")                    \
	X(leases, UINT, OPTIONAL, 9,                                                               \
	  "how many of them, the last, are leases for keeper and init to hold")                    \
	X(command, BYTES_LIST, REQUIRED, 0, "program and arguments")                               \
	X(environment, PAIRS, REQUIRED, 0, "all of it")                                            \
	X(cwd, PATH, REQUIRED, PATH_BYTES_MAX, "inside")                                           \
	X(network, NETWORK, REQUIRED, 0, "what the boundary must show")                            \
	X(wall_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "wall limit; none when absent")            \
	X(grace_seconds, SECONDS, REQUIRED, 3600, "from TERM to the end")                          \
	X(output, SIZE, REQUIRED, 0, "bytes kept of each stream")                                  \
	X(limits, LIMITS, OPTIONAL, 0,                                                             \
	  "memory, swap, tasks, cpu for the payload; others for the record")                       \
	X(asked, STRINGS, OPTIONAL, 16,                                                            \
	  "names in limits that somebody asked for: not in force is void limits_unavailable")      \
	X(unchecked, BOOL, OPTIONAL, 0, "RequireLimits=no: never void for a limit")                \
	X(repository, UINT, OPTIONAL, 240, "which bind descriptor is the repository, from 1")      \
	X(git_folder, UINT, OPTIONAL, 240, "its git folder, where that lies elsewhere")            \
	X(pinned, BYTES_LIST, OPTIONAL, 16, "paths inside that must be read-only mounts")          \
	X(logins, UINT, OPTIONAL, 8,                                                               \
	  "how many logins are carried: their descriptors are the last")                           \
	X(stop_signal, UINT, OPTIONAL, 64,                                                         \
	  "that the main process is told to end with; default TERM")                               \
	X(home, PATH, OPTIONAL, PATH_BYTES_MAX,                                                    \
	  "HOME inside, when something of it is kept or put back")                                 \
	X(bound_home, BYTES, OPTIONAL, PATH_BYTES_MAX,                                             \
	  "below home: the folder that is bound there with its login")                             \
	X(state, BYTES_LIST, OPTIONAL, 128, "below home: its session, which is kept")              \
	X(login_paths, BYTES_LIST, OPTIONAL, 512, "below home: what a login is in, and not kept")  \
	X(bound, BYTES_LIST, OPTIONAL, 512, "below home: on what something else is bound")         \
	X(keep_home, BOOL, OPTIONAL, 0, "all that is in home is kept")                             \
	X(session, UINT, OPTIONAL, 240, "which bind descriptor is a kept session to be put back")  \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX, "of network allowlist: allow.h reads them")         \
	X(internal, STRINGS, OPTIONAL, 64,                                                         \
	  "of those hosts, which may be internal; others are nothing")                             \
	X(refusal, STRING, OPTIONAL, 512,                                                          \
	  "what a refused connection is told, instead of the usual")                               \
	X(idle_seconds, SECONDS, OPTIONAL, SECONDS_MAX,                                            \
	  "of network allowlist: most silence of a tunnel")                                        \
	X(expects_network, BOOL, OPTIONAL, 0, "its Harness needs hosts: none asked for is told")   \
	X(no_sandbox, BOOL, OPTIONAL, 0,                                                           \
	  "trials-init is started without bwrap; HOME is a folder in the Trial's own")             \
	X(judges, BOOL, OPTIONAL, 0, "a Grader: without a verdict it is void")                     \
	X(answers, STRINGS, OPTIONAL, 8, "of judges: where the verdict is (verdict.h)")

#define KEEPER_HELLO_FIELDS(X)                                                                     \
	X(version, UINT, REQUIRED, 1000, "CHANNEL_VERSION")                                        \
	X(trial, UINT, REQUIRED, 0, "the Trial's id")                                              \
	X(uuid, STRING, REQUIRED, 36, "the Trial's uuid")

#define KEEPER_RUNNING_FIELDS(X)                                                                   \
	X(started_at, TIME, REQUIRED, 0, "when")                                                   \
	X(pid, UINT, REQUIRED, 0, "trials-init's pid as the keeper sees it")                       \
	X(wall_seconds, SECONDS, OPTIONAL, SECONDS_MAX, "what is left of the wall limit")

#define KEEPER_ENDING_FIELDS(X)                                                                    \
	X(ended_by, ENDER, OPTIONAL, 0, "who ordered it")                                          \
	X(grace_seconds, SECONDS, OPTIONAL, 3600, "what is left of the grace")

#define KEEPER_CANCEL_FIELDS(X) X(grace_seconds, SECONDS, OPTIONAL, 3600, "instead of the plan's")

/* To a spare keeper, once it is in its scope: it goes to the scope's keeper/, and waits on. */
#define KEEPER_ENTER_FIELDS(X)                                                                     \
	X(cgroup, STRING, REQUIRED, 4096, "the scope's cgroup, as in the plan that will come")

#define KEEPER_EMPTY_FIELDS(X)

/* As in protocol.h. `ended` carries an outcome_record. */
#define CHANNEL_MESSAGES(M)                                                                        \
	M(keeper_hello, KEEPER_HELLO_FIELDS)                                                       \
	M(keeper_plan, KEEPER_PLAN_FIELDS)                                                         \
	M(keeper_running, KEEPER_RUNNING_FIELDS)                                                   \
	M(keeper_ending, KEEPER_ENDING_FIELDS)                                                     \
	M(keeper_cancel, KEEPER_CANCEL_FIELDS)                                                     \
	M(keeper_enter, KEEPER_ENTER_FIELDS)                                                       \
	M(keeper_empty, KEEPER_EMPTY_FIELDS)

CHANNEL_MESSAGES(MESSAGE_STRUCT_)
CHANNEL_MESSAGES(MESSAGE_TYPE_)

#define CHANNEL_VERB_(name) CHANNEL_##name,
enum channel_verb { CHANNEL_VERBS(CHANNEL_VERB_) CHANNEL_VERB_COUNT };

/*
 * Sends one packet {verb: "…", body: {…}} with descriptors (borrowed). Blocking on the keeper's
 * side, MSG_DONTWAIT on trialsd's: dontwait says which. -EAGAIN, -EPIPE, -EMSGSIZE, …
 */
int channel_send(int fd, enum channel_verb verb, const struct message_type *type,
		 const void *structure, const int *descriptors, size_t count, bool dontwait);

struct channel_packet {
	enum channel_verb verb;
	struct message *message;
	const msgpack_object *body;
	int descriptors[CHANNEL_DESCRIPTORS_MAX];
	size_t count;
};

/*
 * One packet: 1, 0 at end-of-file, -EAGAIN, -EBADMSG (not ours, truncated, too many descriptors;
 * whatever came is closed). Descriptors arrive close-on-exec and belong to the packet.
 */
int channel_receive(int fd, bool dontwait, struct channel_packet *ret_packet);
void channel_packet_done(struct channel_packet *packet);

/* A sealed memory file with these bytes, at its start; the caller's. */
int channel_memfd(const char *name, const void *bytes, size_t size, int *ret_fd);

/*
 * Reads the plan memfd: bounded, and sealed or refused. Unknown keys are refused: a restriction
 * must not be dropped. The plan points into *ret_message. -EBADMSG with the error filled.
 */
int channel_plan_read(int fd, struct message **ret_message, struct keeper_plan *ret_plan,
		      struct decode_error *ret_error);
