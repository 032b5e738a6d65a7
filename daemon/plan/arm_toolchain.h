/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"
#include "plan/plan.h"
#include "plan/program.h"

/*
 * What the toolchains of an Arm are on this host: the section of the configuration that says so, what
 * it leads to, and its programs with their digests. Not all that is bound of them: a toolchain may be
 * some gigabytes, and is told by its programs as a Harness is by its own.
 */
struct arm_toolchain_program {
	char *key; /* TOOLCHAIN.Programs.NAME */
	struct place place;
	struct program_known known;
	bool digested;
	int result;
};

struct arm_toolchain_look {
	struct pair_list found; /* TOOLCHAIN.KEY[.…] and what that is here */
	struct arm_toolchain_program *programs;
	size_t count;
};

/*
 * On the loop. FAULT: one is not there, or not as its section says. again: of an Arm that was prepared
 * before that is no fault, but nothing is found of it.
 */
int arm_toolchain_look_begin(struct arm_toolchain_look *look, const struct plan_host *host,
			     const struct text_list *names, bool again, struct fault *ret_fault);
/* On any thread. */
void arm_toolchain_look_work(struct arm_toolchain_look *look);
/* On the loop: adds the programs to look->found. FAULT: one cannot be read. */
int arm_toolchain_look_finish(struct arm_toolchain_look *look, const struct plan_host *host,
			      struct fault *ret_fault);
void arm_toolchain_look_done(struct arm_toolchain_look *look);
