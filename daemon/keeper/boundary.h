/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/fault.h"
#include "init/control.h"

/*
 * The proof that there is a sandbox, before anything runs in it: what trials-init saw from inside
 * held against what the keeper sees of itself. One mismatch and nothing is started.
 */

/* Inode numbers of the keeper's own namespaces. */
int boundary_own_namespaces(uint64_t ret_namespaces[CONTROL_NS_COUNT]);

/*
 * hello is a HELLO packet. Always fills *ret_boundary; FAULT (void sandbox_unavailable) names the
 * first thing that is wrong. Pure.
 */
int boundary_check(const struct control_packet *hello, const uint64_t own[CONTROL_NS_COUNT],
		   uid_t uid, enum network network, struct boundary *ret_boundary,
		   struct fault *ret_fault);
/* Where there is to be no sandbox: the same namespaces, and no new privileges. Pure. */
int boundary_check_bare(const struct control_packet *hello, const uint64_t own[CONTROL_NS_COUNT],
			uid_t uid, struct boundary *ret_boundary, struct fault *ret_fault);
