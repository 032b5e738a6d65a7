/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

/*
 * What a Grader has beside the repository that it judges, which is read-only for it: the standard that
 * it is to hold the result to, and what the judged Trial wrote. Nothing else of that Trial, or of any
 * other, is there.
 */
#define GRADING_BAR "/run/trials/bar"
#define GRADING_STDOUT "/run/trials/stdout"
#define GRADING_STDERR "/run/trials/stderr"
/* The variables that say so. */
#define GRADING_BAR_VARIABLE "TRIALS_BAR"
#define GRADING_STDOUT_VARIABLE "TRIALS_STDOUT"
#define GRADING_STDERR_VARIABLE "TRIALS_STDERR"

/* Borrowed. */
struct grading {
	const char *bar; /* NULL: there is none */
	size_t bar_size;
	int outputs[2]; /* stdout and stderr, to be bound; -1: not asked for */
};

#define GRADING_INIT ((struct grading){.outputs = {-1, -1}})

/* Whether a launch is a Grader of a Trial's result; `of` of any other is a session to go on with. */
static inline bool launch_judges(const struct launch_request *launch)
{
	return launch->has.role && launch->role == ROLE_grader && launch->has.of;
}

/* What it may not ask for: all that could change what it judges. FAULT. Pure. */
int grading_check(const struct launch_request *launch, struct fault *ret_fault);
/* Whether a session of this Harness can be one at all: its answer is told from its stream. FAULT. */
struct harness;
int grading_answers_check(const struct harness *harness, const struct launch_request *launch,
			  struct fault *ret_fault);
