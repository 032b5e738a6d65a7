/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

/* A provider of an Arm, as the table of them has it: trialsd.providers(5). Strings are owned. */
struct arm_provider_look {
	char *variable;
	char *endpoint;
	char *family;
	char *signed_out; /* why it has no key, or NULL */
	char *warning;	  /* or NULL */
	struct text_list hosts;
};

/*
 * field names it in a fault. environment: the Arm's, which may set its endpoint: then its host is the
 * one that is needed. FAULT: there is no such provider, its endpoint is none.
 */
int arm_provider_look(struct arm_provider_look *ret_look, const struct plan_host *host,
		      const char *field, const char *name, const char *model,
		      const struct pair_list *environment, struct fault *ret_fault);
void arm_provider_look_done(struct arm_provider_look *look);
