/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/fault.h"

/*
 * What a keeper gives up for good once its sandbox is up and before anything runs in it: code of a
 * Trial never runs in a keeper, but its keeper reads what a Trial sends (its tunnels, its logins).
 *
 * Of system calls: to execute a program, to trace or read another process, to mount, to enter or make
 * namespaces, keys, bpf, perf, io_uring and such; sockets but of local, internet and netlink kind.
 * Of files, where the kernel has Landlock (Linux 5.13): all but the folders of the order, what a name
 * look-up needs (/etc, /usr, /lib, where resolv.conf leads, all read-only), /proc and /dev/null;
 * devices are not controlled, no TCP port is bound, no abstract socket reached, as far as this
 * kernel's version has them.
 *
 * A Landlock domain also keeps it from looking into processes outside of it by /proc.
 */
struct harden_folder {
	int fd; /* borrowed; -1: none */
	bool writable;
};

struct harden_order {
	const struct harden_folder *folders;
	size_t count;
};

/* FAULT: void sandbox_unavailable; nothing may be run. A kernel without Landlock is no fault. */
int harden(const struct harden_order *order, struct fault *ret_fault);
