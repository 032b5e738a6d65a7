/* SPDX-License-Identifier: MIT */
#include "queue/arm_launch.h"

#include <string.h>

#include "plan/arm_store.h"

#define ARM_LIST_HINT "trialctl arm list"

static int find_refused(int error, const char *digits, struct fault *fault)
{
	_cleanup_free_ char *shown = display(digits);

	switch (error) {
	case -ENOENT:
		fault_set(fault, ERROR_not_found, "arm: none has the id %s", shown);
		return fault_hint(fault, ARM_LIST_HINT);
	case -ESTALE:
		fault_set(fault, ERROR_busy, "arm: %s is being removed", shown);
		return fault_hint(fault, ARM_LIST_HINT);
	case -ENOTUNIQ:
		fault_set(fault, ERROR_invalid, "arm: several have an id that begins with %s",
			  shown);
		return fault_hint(fault, "give more of its digits: " ARM_LIST_HINT);
	case -EINVAL:
		fault_set(fault, ERROR_invalid,
			  "arm: %s is no id: 8 to %d hexadecimal digits are one", shown,
			  ARM_ID_BYTES);
		return fault_hint(fault, ARM_LIST_HINT);
	case -EBADMSG:
		fault_set(fault, ERROR_unavailable, "arm: what is kept of %s is damaged", shown);
		return fault_hint(
			fault,
			"prepare it again, which has it anew: trialctl arm prepare FILE.json");
	default:
		fault_set(fault, ERROR_unavailable, "arm: %s cannot be read: %s", shown,
			  strerror(-error));
		return FAULT;
	}
}

int arm_known_find(Queue *queue, const char *digits, struct arm_known *ret_known,
		   struct fault *ret_fault)
{
	struct arm_known *known = ret_known;
	int r;

	*known = (struct arm_known){0};
	if (!queue->arms)
		return find_refused(-ENOENT, digits, ret_fault);
	r = arm_store_find(queue->arms, digits, known->id);
	if (r == 0 && strcmp(known->id, queue->arm_leaving) == 0)
		r = -ESTALE;
	if (r == 0)
		r = arm_store_read(queue->arms, known->id, &known->bytes, &known->size,
				   &known->prepared_at);
	if (r == 0)
		r = arm_decode(&known->message, known->bytes, known->size, known->id, &known->arm);
	if (r == 0)
		return 0;
	arm_known_done(known);
	return r == -ENOMEM ? r : find_refused(r, digits, ret_fault);
}

int arm_known_id(Queue *queue, const char *digits, char ret_id[ARM_ID_BYTES + 1],
		 struct fault *ret_fault)
{
	int r = queue->arms ? arm_store_find(queue->arms, digits, ret_id) : -ENOENT;

	return r == 0 || r == -ENOMEM ? r : find_refused(r, digits, ret_fault);
}

int arm_known_of_facts(const struct trial_facts *facts, struct arm_known *ret_known)
{
	*ret_known = (struct arm_known){0};
	if (!facts->arm_id || strlen(facts->arm_id) != ARM_ID_BYTES)
		return -EBADMSG;
	memcpy(ret_known->id, facts->arm_id, ARM_ID_BYTES + 1);
	return arm_decode(&ret_known->message, facts->arm.data, facts->arm.size, facts->arm_id,
			  &ret_known->arm);
}

void arm_known_done(struct arm_known *known)
{
	message_free(known->message);
	free(known->bytes);
	*known = (struct arm_known){0};
}

/* As its key has it: whose Arm it is said by all of its digits, and nothing that is kept elsewhere. */
static int encode_asked(struct arm_accepted *accepted, const struct launch_request *asked)
{
	struct launch_request launch = *asked;

	launch.arm = accepted->known.id;
	launch.key = NULL;
	launch.has.key = false;
	launch.prompt = (struct blob){0};
	launch.prompt_file = NULL;
	launch.has.prompt = launch.has.prompt_file = launch.has.prompt_descriptor = false;
	msgpack_sbuffer_destroy(&accepted->asked);
	return view_encode(&accepted->asked, &launch_request_type, &launch);
}

int arm_accept(Queue *queue, const struct launch_request *asked, struct arm_accepted *ret_accepted,
	       struct fault *ret_fault)
{
	struct arm_accepted *accepted = ret_accepted;
	int r;

	*accepted = (struct arm_accepted){0};
	r = arm_known_find(queue, asked->arm, &accepted->known, ret_fault);
	if (r == 0)
		r = arm_apply(&accepted->known.arm, accepted->known.id,
			      &queue->host->config->limits, asked, &accepted->applied, ret_fault);
	if (r == 0)
		r = encode_asked(accepted, asked);
	if (r != 0) {
		arm_accepted_done(accepted);
		return r;
	}
	accepted->facts = (struct trial_facts){
		.arm_id = accepted->known.id,
		.arm_name = accepted->known.arm.name,
		.arm = {.data = accepted->known.bytes, .size = accepted->known.size},
		.asked = {.data = (const uint8_t *)accepted->asked.data,
			  .size = accepted->asked.size},
	};
	return 0;
}

void arm_accepted_done(struct arm_accepted *accepted)
{
	arm_launch_done(&accepted->applied);
	arm_known_done(&accepted->known);
	msgpack_sbuffer_destroy(&accepted->asked);
	*accepted = (struct arm_accepted){0};
}

const struct launch_request *arm_checked(struct launch_request *storage,
					 const struct launch_request *launch)
{
	if (!launch->arm)
		return launch;
	*storage = *launch;
	storage->executable = storage->build = storage->skills = NULL;
	storage->has.executable = storage->has.build = storage->has.skills = false;
	storage->toolchains = (struct text_list){0};
	storage->has.toolchains = false;
	return storage;
}
