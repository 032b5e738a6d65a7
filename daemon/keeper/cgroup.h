/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "proto/message.h"

/*
 * The control groups of one Trial, below the scope that the user manager delegated to its keeper:
 * `keeper/` with the keeper alone, and `payload/` with everything of the sandbox, which carries
 * the limits. So a Trial can neither starve its keeper nor get it killed for memory.
 *
 * Held by descriptors from the start: what is limited, read and killed is the group that
 * was made here, whatever becomes of the path.
 */
struct payload {
	int scope_fd;
	int fd;	       /* payload/, for CLONE_INTO_CGROUP; -1: there is none */
	int events_fd; /* its cgroup.events: EPOLLPRI when populated changes */
};

#define PAYLOAD_INIT ((struct payload){.scope_fd = -1, .fd = -1, .events_fd = -1})

/*
 * Checks that this process is in cgroup (as /proc/self/cgroup shows it) or its keeper/, makes
 * both groups, moves itself to keeper/, enables in payload/ what controllers the scope has. Where
 * they were made before (payload->fd >= 0), it only checks. FAULT: void sandbox_unavailable.
 */
int payload_init(struct payload *payload, const char *cgroup, struct fault *ret_fault);

/* Removes payload/, which must be empty; closes. */
void payload_done(struct payload *payload);

/* Writes a value to one of payload's files and reads the file back (without its newline). */
int payload_write(const struct payload *payload, const char *name, const char *value);
int payload_read(const struct payload *payload, const char *name, char *buffer, size_t size);

/* 1 while a process is in it, 0 when none is. */
int payload_populated(const struct payload *payload);
/* SIGKILL for everything in it, forks under way included. */
int payload_kill(const struct payload *payload);

/* Processor time that everything in it has used. False: there is no group, or no counter. */
bool payload_cpu(const struct payload *payload, uint64_t *ret_microseconds);

/* What the kernel counted, read while the group is there. */
struct payload_counters {
	struct {
		bool cpu;
		bool memory_peak;
		bool tasks_peak;
		bool io;
		bool oom_kills;
		bool oom_limit;
		bool task_limit_hits;
	} has;
	uint64_t user_microseconds;
	uint64_t system_microseconds;
	uint64_t memory_peak; /* bytes */
	uint64_t tasks_peak;
	uint64_t io_read_bytes;
	uint64_t io_write_bytes;
	uint64_t oom_kills;
	uint64_t oom_limit; /* times that its own limit was hit for good */
	uint64_t task_limit_hits;
};

void payload_count(const struct payload *payload, struct payload_counters *ret_counters);
/* The record's facts that were counted; the others are left as they are. */
void payload_fill(const struct payload_counters *counters, struct outcome_record *record);
