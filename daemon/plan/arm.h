/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "proto/message.h"

/*
 * Arms, as far as they can be judged without looking at a host: their canonical form and its digest,
 * what differs between two, and what a launch that names one may say beside it. Pure.
 *
 * The canonical form is struct arm as message_encode writes it, once it is in order: harnesses and
 * providers by name, files by path, variables by name, hosts and families in the order of their bytes
 * and each once, "trial" before "grader", and of empty lists and limits nothing. What has an order that
 * means something (command, arguments, toolchains, git_exclude) stays as it was asked for.
 */
#define ARM_FORM 1

/*
 * The canonical form of arm, whatever order it is in, and its digest in hexadecimal: the Arm's id. The
 * buffer is initialised here, and destroyed by the caller. -EINVAL: something required is missing;
 * -ENOMEM.
 */
int arm_encode(const struct arm *arm, msgpack_sbuffer *ret_buffer, char ret_id[ARM_ID_BYTES + 1]);

/*
 * From these bytes; what it points to lives in *ret_message. -EBADMSG: they are not what id names, or
 * no Arm of a form that is known here. id NULL: they are not compared with one.
 */
int arm_decode(struct message **ret_message, const void *bytes, size_t size, const char *id,
	       struct arm *ret_arm);

/*
 * What it was asked for with, for a look at whether that is still so. A program that was found is asked
 * for by its path, of a Harness's Arm as `executable`, of a runner's in its `harnesses`: another release
 * beside it is no change. One that was absent is looked for. Its mapped files are among secret_files:
 * that they may be mapped was decided. Texts are the Arm's, lists are owned: arm_spec_done.
 */
int arm_spec_of(const struct arm *arm, struct arm_spec *ret_spec);
void arm_spec_done(struct arm_spec *spec);

/* What differs, one for each thing; owned. Beyond ARM_CHANGES_MAX they are only counted. */
struct arm_changes {
	struct arm_change_list list;
	size_t more;
};

/*
 * From a to b, both in any order: nothing differs where arm_encode makes one id of both. A value that
 * must not be shown (secret_name.h) is not; of a long one there is the part that differs.
 */
int arm_difference(const struct arm *a, const struct arm *b, struct arm_changes *ret_changes);
void arm_changes_done(struct arm_changes *changes);
/*
 * The first few, and how many more there are, in words: "harnesses.x.sha256 (PATH) was A, and is B; …",
 * where PATH is what it is of on the host, as before has it. To be freed.
 */
char *arm_changes_text(const struct arm_changes *changes, const struct arm *before);

/* A launch as an Arm makes it; points into the Arm and the launch. */
struct arm_launch {
	struct launch_request launch;
	struct pair_list environment; /* owned */
};

/*
 * The launch that is meant by one that names arm, whose id is id. defaults are the configuration's
 * limits: what the Arm does not limit stays below them. FAULT: what stands beside the Arm would widen
 * it, or does not go with one. ret_launch is good for as long as arm, id and launch are:
 * arm_launch_done.
 */
int arm_apply(const struct arm *arm, const char *id, const struct limits_spec *defaults,
	      const struct launch_request *launch, struct arm_launch *ret_launch,
	      struct fault *ret_fault);
void arm_launch_done(struct arm_launch *launch);

bool arm_has_role(const struct arm *arm, enum role role);
/* NULL: it has none of that name. */
const struct arm_harness *arm_harness_find(const struct arm *arm, const char *name);

/*
 * Its programs that were absent when it was frozen: names of Harnesses, borrowed; the list is owned
 * (free its items).
 */
int arm_absent(const struct arm *arm, struct text_list *ret_names);
