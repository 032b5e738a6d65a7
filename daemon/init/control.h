/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * What a keeper and its trials-init say to each other: fixed structures, one per packet, over a
 * SOCK_SEQPACKET pair. Both are of one build (the keeper executes the init beside it), so there
 * is a version to refuse by, not to negotiate.
 *
 *   init   -> keeper  HELLO      I am pid 1 of these namespaces, with these rights; with a
 *                                descriptors: O_PATH of their root, and with
 *                                network allowlist the proxy's listener
 *   keeper -> init    GO         with descriptors: the launch memfd, stdin, stdout, stderr
 *   init   -> keeper  STARTED    the main process was executed
 *                  or NOT_STARTED  it could not be: step and errno; init then ends
 *   keeper -> init    SIGNAL     send it to the main process
 *   keeper -> init    COUNT      how much processor time has been used?
 *   init   -> keeper  COUNTED    so much; no answer when it cannot be seen
 *   keeper -> init    FINISH     end everything now
 *   init   -> keeper  EXITED     the main process's wait status and rusage
 *   init   -> keeper  EMPTY      everything is reaped; rusage of all; init then exits
 *
 * When the keeper's end closes, for whatever reason, init does what FINISH says.
 */
#define CONTROL_VERSION 4

enum control_type {
	CONTROL_HELLO = 1,
	CONTROL_GO,
	CONTROL_STARTED,
	CONTROL_NOT_STARTED,
	CONTROL_SIGNAL,
	CONTROL_FINISH,
	CONTROL_EXITED,
	CONTROL_EMPTY,
	CONTROL_COUNT,
	CONTROL_COUNTED,
};

/* Where a start failed. */
enum control_step {
	CONTROL_STEP_LAUNCH = 1, /* the launch memfd is not one */
	CONTROL_STEP_FORK,
	CONTROL_STEP_STDIO,
	CONTROL_STEP_LIMITS,
	CONTROL_STEP_CWD,
	CONTROL_STEP_EXEC,
	CONTROL_STEP_INTERPRETER, /* the file is there; what its #! line or ELF header names is not */
};

/* Inode numbers of /proc/self/ns/NAME, in this order. */
enum control_namespace {
	CONTROL_NS_USER,
	CONTROL_NS_MNT,
	CONTROL_NS_PID,
	CONTROL_NS_IPC,
	CONTROL_NS_UTS,
	CONTROL_NS_CGROUP,
	CONTROL_NS_NET,
	CONTROL_NS_COUNT,
};

struct control_usage {
	uint64_t user_microseconds;
	uint64_t system_microseconds;
	uint64_t peak_bytes;  /* most resident memory of one process */
	uint64_t read_blocks; /* of 512 bytes */
	uint64_t write_blocks;
};

struct control_packet {
	uint32_t type;	  /* enum control_type */
	uint32_t version; /* CONTROL_VERSION */
	union {
		struct {
			uint64_t namespaces[CONTROL_NS_COUNT];
			uint64_t capabilities; /* effective */
			uint32_t pid;
			uint32_t uid;
			uint32_t no_new_privileges;
			uint32_t seccomp; /* mode: 2 is a filter */
		} hello;
		struct {
			uint32_t step;
			uint32_t error;
		} not_started;
		struct {
			uint32_t number;
		} signal;
		struct {
			uint32_t status; /* as wait(2) gives it */
			uint32_t reserved;
			struct control_usage usage;
		} exited;
		struct {
			struct control_usage usage;
		} empty;
		struct {
			struct control_usage usage; /* times alone */
		} counted;
	};
};

/*
 * The launch memfd (sealed against every change): this header, then NUL-terminated strings one
 * after another: the working directory, `arguments` arguments, `variables` NAME=VALUE strings.
 * bytes: of the whole file.
 */
#define CONTROL_LAUNCH_MAGIC 0x54524c31u /* TRL1 */
#define CONTROL_LAUNCH_BYTES_MAX (32u * 1024u * 1024u)

struct control_launch {
	uint32_t magic;
	uint32_t arguments;
	uint32_t variables;
	uint32_t bytes;
};

#define CONTROL_DESCRIPTORS 4 /* of GO */
#define CONTROL_HELLO_DESCRIPTORS 2

/*
 * Where the proxy listens inside: the same in every sandbox, so that the environment can say it
 * before there is one. Only pid 1 can have it, since nothing else runs by then.
 */
#define CONTROL_PROXY_PORT 3128
#define CONTROL_PROXY_ARGUMENT "proxy" /* trials-init's third: make it */
#define CONTROL_PROXY_BACKLOG 512

/* ask.h: its first argument then, in place of a number. */
#define CONTROL_ASK_ARGUMENT "ask"
enum control_answer {
	CONTROL_ANSWER_RIGHT = 0,
	CONTROL_ANSWER_NO_PROXY = 11,
	CONTROL_ANSWER_NOT_PASSED,
	CONTROL_ANSWER_NOT_REFUSED,
};

/*
 * Leases come with the process, from this number on, and not with GO: a sandbox whose keeper is
 * killed while it is built would otherwise be there without them.
 */
#define CONTROL_FD_LEASES 280
#define CONTROL_LEASES_MAX 9 /* of the folder, and one for each login */
