/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/arm_claims.h"
#include "plan/arm_provider.h"
#include "plan/program_ask.h"

/*
 * A Harness of an Arm on this host: its program, the version of that, and the hosts and family that its
 * file tells. Found and finished on the loop, worked on any thread.
 */
struct arm_harness_look {
	const struct arm_harness *asked;
	struct program program; /* fd -1: absent */
	struct program_known known;
	bool digested;			  /* known before */
	struct program_known interpreter; /* that its program is run by */
	bool interpreter_digested;	  /* known before */
	int interpreter_result;
	struct program_question question; /* plan NULL: it is not asked */
	int result;
	char family[FAMILY_BYTES_MAX + 1];
	struct arm_sign_in sign_in;
	struct text_list hosts;
	char definition[65];
	struct pair_list own_paths;
	struct pair_list own_files;
	struct arm_claims claims;
	char *missing;	  /* why it is absent, or NULL */
	char *signed_out; /* why it has no login, or NULL */
	char *warning;	  /* or NULL */
};

#define ARM_HARNESS_LOOK_INIT                                                                      \
	((struct arm_harness_look){.program = PROGRAM_INIT, .question = PROGRAM_QUESTION_INIT})

struct arm_harness_options {
	const struct plan_host *host;
	const char *field;		     /* names it in a fault */
	const char *model;		     /* that of an Arm with a harness; else NULL */
	const struct pair_list *environment; /* the Arm's, which may set an endpoint */
	const struct text_list *variables;   /* the Arm's, that it leaves to its launches */
	bool own_session; /* the Arm is a session of it, signed in as any; else a runner drives it */
	int bwrap_fd;	  /* -1: it is not asked for its version */
	bool again;	  /* as of arm_provider_look */
	const struct arm *before; /* as it was frozen; NULL: it is prepared */
};

/* asked must outlive it; the Harness's file need not. */
int arm_harness_look_begin(struct arm_harness_look *look, const struct arm_harness_options *options,
			   const struct arm_harness *asked, struct fault *ret_fault);
void arm_harness_look_work(struct arm_harness_look *look);
/* ret_harness points into look. */
int arm_harness_look_finish(struct arm_harness_look *look, const struct plan_host *host,
			    struct arm_harness *ret_harness, struct fault *ret_fault);
void arm_harness_look_done(struct arm_harness_look *look);
