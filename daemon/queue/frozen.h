/* SPDX-License-Identifier: MIT */
#pragma once

#include "queue/queue.h"

/*
 * What a Trial that is another one once more has of that: its launch is the other's, and what the
 * configuration decided then (limits, hosts, times) is decided so again, whatever is configured now.
 * What the configuration forbids by now is refused as ever: it is no part of this.
 *
 * What cannot be had again as it was is found by comparing the whole plan: its digest, and the
 * digest of the program of a session, which no plan has. The facts of both then tell what it is.
 */

/* A host whose configuration is the frozen one; points into all three. */
struct frozen_host {
	struct plan_host host;
	struct config config;
};

/* host itself, of a Trial that is no other's. */
const struct plan_host *frozen_host(struct frozen_host *storage, const struct plan_host *host,
				    const struct trial_facts *facts);

/* Into the facts of the new one, what of the old one is to be as it was. Points into old. */
void frozen_take(struct trial_facts *ret_facts, uint64_t of, const struct trial_facts *old,
		 const char *plan_digest);
/* The hosts that a session might reach, for those that its Harness has now; of an Arm arm_look_hosts. */
int frozen_session_hosts(const struct trial_facts *accepted, struct text_list *hosts);
/* From the facts that it was accepted with into those of its start. */
void frozen_copy(struct trial_facts *facts, const struct trial_facts *accepted);

/*
 * Whether what was planned is what the other one was. 0 and *ret_difference NULL: it is; else what is
 * different, in words (to be freed). -ENOMEM.
 */
int frozen_compare(Queue *queue, const struct trial_facts *accepted, const char *plan_digest,
		   const struct trial_facts *now, char **ret_difference);

/* The first thing in which they differ, in words, or NULL: none of what is kept. Pure; to be freed. */
char *frozen_difference(const struct trial_facts *old, const struct trial_facts *now);
