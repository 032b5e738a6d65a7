/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts that a sandbox is made of, one by one: each is made in a child of its own, which does
 * the one thing in it that bwrap will do, and ends. All but the first are made in a user namespace
 * of their own, as bwrap makes them. Nothing outside the child changes.
 */
enum namespace_step {
	STEP_USER,    /* unshare, and the maps of user and group */
	STEP_MOUNT,   /* mounts made private, a tmpfs */
	STEP_PID,     /* a pid 1 */
	STEP_PROC,    /* a /proc of its own */
	STEP_NETWORK, /* its loopback brought up */
	STEP_IPC,
	STEP_UTS, /* a host name set */
	STEP_CGROUP,
	STEP_COUNT,
};

/* 0, or -errno with *ret_what saying what was refused (a constant). */
int namespace_try(enum namespace_step step, const char **ret_what);
