/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/arm.h"
#include "queue/queue.h"

/*
 * A launch that names an Arm is accepted as the launch that this means (arm_apply): so it stands in the
 * ledger, and what runs depends on what is kept of the Arm no longer, but for the files that it maps.
 * Its facts have, from then on and through every start, the Arm in its canonical form, and the launch as
 * it was asked for, which is what a key stands for.
 */
struct arm_known {
	struct arm arm; /* points into message */
	char id[ARM_ID_BYTES + 1];
	uint64_t prepared_at; /* of one from the store */
	struct message *message;
	void *bytes; /* its canonical form, of one from the store */
	size_t size;
};

/* That a client names by its first digits. FAULT: there is none, or several, or it is damaged. */
int arm_known_find(Queue *queue, const char *digits, struct arm_known *ret_known,
		   struct fault *ret_fault);
/* Its id alone, of a damaged one too. FAULT: there is none, or several. */
int arm_known_id(Queue *queue, const char *digits, char ret_id[ARM_ID_BYTES + 1],
		 struct fault *ret_fault);
/* Of a Trial's facts. -EBADMSG. */
int arm_known_of_facts(const struct trial_facts *facts, struct arm_known *ret_known);
void arm_known_done(struct arm_known *known);

/* A launch as it is accepted; everything in it is good until arm_accepted_done. */
struct arm_accepted {
	struct arm_known known;
	struct arm_launch applied;
	msgpack_sbuffer asked;
	struct trial_facts facts;
};

/* 0; FAULT: as of arm_known_find and arm_apply. Only of a launch that names an Arm. */
int arm_accept(Queue *queue, const struct launch_request *asked, struct arm_accepted *ret_accepted,
	       struct fault *ret_fault);
void arm_accepted_done(struct arm_accepted *accepted);

/*
 * What of a launch can be refused at once: without what the Arm brought, which is compared when its turn
 * has come, so that a change there makes the Trial void. launch itself when it names no Arm.
 */
const struct launch_request *arm_checked(struct launch_request *storage,
					 const struct launch_request *launch);
