/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "keeper/cgroup.h"

/*
 * A running Trial's payload group as trialsd sees it, for the day its keeper is killed: what the
 * kernel counted, and a way to end what is in it. Held by descriptor from below the scope.
 *
 * The manager removes the group as soon as it is empty, so its events are watched, and all its
 * counters are read at the keeper's end, which comes first. Costs trialsd three descriptors.
 */
typedef struct Cgroup Cgroup;

/*
 * The payload group beside the keeper behind pidfd, which must be in UNIT's keeper/: -ESRCH when it
 * is not, -ENOENT when there is no such group.
 */
int cgroup_open(Cgroup **ret_cgroup, uv_loop_t *loop, int pidfd, const char *unit);
/* Closes on the loop. */
Cgroup *cgroup_free(Cgroup *cgroup);

/* Reads all counters once more, as far as the group is there. */
void cgroup_look(Cgroup *cgroup);
/* The newest that could be read. */
const struct payload_counters *cgroup_counters(const Cgroup *cgroup);
/* No process is in it, or it is gone. */
bool cgroup_is_empty(const Cgroup *cgroup);
/* SIGKILL for everything in it. */
void cgroup_kill(const Cgroup *cgroup);
