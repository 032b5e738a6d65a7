/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/fault.h"
#include "init/control.h"
#include "channel.h"

/*
 * The processes of one sandbox, from outside: bwrap, our child, and trials-init, pid 1 inside.
 * Both are known by pidfd; trials-init's pid is what the kernel says of its packets' sender.
 */
#define SANDBOX_TEXT_BYTES 2048

struct sandbox {
	int control; /* our end; -1 before and after */
	int text_fd; /* what bwrap and trials-init say on stderr */
	int exec_fd; /* why bwrap could not be executed; -1 once it was */
	pid_t bwrap_pid;
	int bwrap_fd;	/* pidfd; -1: never started, or reaped */
	pid_t init_pid; /* 0 until HELLO */
	int init_fd;	/* pidfd; -1: not known, or gone */
	int root;	/* O_PATH of its root, which came with HELLO; or -1 */
	int listener;	/* of its proxy, which came with it too; or -1 */
	size_t handed;	/* descriptors that came with HELLO, those that are no use included */
	size_t text_size;
	char text[SANDBOX_TEXT_BYTES + 1];
};

/* What starting it takes; all borrowed. */
struct sandbox_order {
	int bwrap;
	int init;
	int seccomp;
	const int *binds;
	size_t bind_count;
	const int *leases;
	size_t lease_count;		   /* CONTROL_LEASES_MAX at most */
	const struct text_list *arguments; /* bwrap's options */
	int cgroup;			   /* where it starts, or -1 */
	const struct rlimit *descriptors;  /* RLIMIT_NOFILE for it; NULL: as ours */
	bool proxy;			   /* trials-init is to make a listener */
	bool bare;			   /* without bwrap: trials-init itself */
};

void sandbox_init(struct sandbox *sandbox);
void sandbox_done(struct sandbox *sandbox);

/*
 * Starts bwrap. FAULT: void sandbox_unavailable. It does not wait until bwrap is executed: what is
 * stopped or stuck on its way there is ended like all else that does not report.
 */
int sandbox_spawn(struct sandbox *sandbox, const struct sandbox_order *order,
		  struct fault *ret_fault);
/* Of a child that ended: -errno when it could not become bwrap, 0 when it was bwrap that ended. */
int sandbox_exec_error(struct sandbox *sandbox);

/*
 * Starts a process as fork does, in a control group or (-1) ours: 0 in the child, its pid and pidfd
 * here, -1 with errno.
 */
pid_t sandbox_clone(int cgroup, int *ret_pidfd);

/*
 * One packet of trials-init: 1; 0 at end-of-file; -EAGAIN; -EBADMSG when it is none, or not from
 * the process that said HELLO. On HELLO the sender's pidfd is opened.
 */
int sandbox_receive(struct sandbox *sandbox, struct control_packet *ret_packet);

/* The descriptors are borrowed. -errno */
int sandbox_go(struct sandbox *sandbox, int launch, const int stdio[3]);
int sandbox_signal(struct sandbox *sandbox, int number);
int sandbox_finish(struct sandbox *sandbox);
/* Asks for the processor time used so far; the answer is a packet, CONTROL_COUNTED. */
int sandbox_count(struct sandbox *sandbox);

/* A sealed memory file that says what to start (control_launch). FAULT, -errno. */
int sandbox_launch_memfd(const struct keeper_plan *plan, int *ret_fd);

/*
 * What the main process gets as stdin: fd itself, or a sealed copy in memory when it is a plain
 * file (see channel.h). The new descriptor is the caller's.
 */
int sandbox_stdin(int fd, int *ret_fd);

/* Takes what is in the stderr pipe; keeps the first SANDBOX_TEXT_BYTES. False at its end. */
bool sandbox_read_text(struct sandbox *sandbox);

/* Reaps bwrap when it has ended: 1 and its wait status, 0 when it is still there. */
int sandbox_reap_bwrap(struct sandbox *sandbox, int *ret_status);

/*
 * SIGKILL for pid 1, which takes the whole namespace with it; where pid 1 is not known, for bwrap
 * and then for what it leaves behind: children of ours, since the keeper is their subreaper.
 */
void sandbox_kill(struct sandbox *sandbox);

/* Reaps whatever was left to us. True when no child of ours is left at all. */
bool sandbox_reap_rest(const struct sandbox *sandbox);
