/* SPDX-License-Identifier: MIT */
#include "queue/arm_launch.h"

#include <stdio.h>
#include <string.h>

#include "base/no_sandbox.h"
#include "plan/arm_store.h"

#define ARM_LIST_HINT "trialctl arm list"
#define FILES_TOLD 3

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

/* What of an Arm is mapped, pinned or read-only, which it is in a sandbox alone: each behind ", ". */
static int takes_sandbox(const struct arm *arm, char **ret_text)
{
	size_t size = 0;
	FILE *file = open_memstream(ret_text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < arm->harnesses.count; i++)
		fprintf(file, ", the Harness %s", arm->harnesses.items[i].name);
	for (size_t i = 0; i < arm->files.count && i < FILES_TOLD; i++) {
		_cleanup_free_ char *path = display(arm->files.items[i].path);

		fprintf(file, ", the mapped file %s", path);
	}
	if (arm->files.count > FILES_TOLD)
		fprintf(file, ", %zu more of them", arm->files.count - FILES_TOLD);
	for (size_t i = 0; i < arm->toolchains.count; i++)
		fprintf(file, ", the toolchain %s", arm->toolchains.items[i]);
	fputs(arm->has.build ? ", its build" : "", file);
	fputs(arm->has.skills ? ", its skills" : "", file);
	return (ferror(file) | (fclose(file) != 0)) ? -ENOMEM : 0;
}

static int check_without_sandbox(const struct arm *arm, struct fault *fault)
{
	_cleanup_free_ char *text = NULL;
	int r = takes_sandbox(arm, &text);

	if (r < 0 || !*text)
		return r;
	fault_set(fault, ERROR_refused,
		  "arm: what the Arm %s has takes a sandbox (%s), and this trialsd runs Trials "
		  "without one (" NO_SANDBOX_TOLD ")",
		  arm->name, text + strlen(", "));
	return fault_hint(fault, NO_SANDBOX_ENDS);
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
	if (r == 0 && queue->host->no_sandbox && asked->allow_no_sandbox)
		r = check_without_sandbox(&accepted->known.arm, ret_fault);
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
