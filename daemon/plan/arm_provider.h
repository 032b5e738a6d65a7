/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"
#include "plan/harness.h"
#include "plan/plan.h"

/*
 * What providers.conf says of the providers of an Arm, and of those by whose keys its Harnesses are
 * signed in. The same function says it when an Arm is prepared, verified and launched.
 */

/* A provider of an Arm on this host. */
struct arm_provider_look {
	const struct arm_provider *asked;
	bool there; /* false: there is none of the name (any more) */
	char *variable;
	char *endpoint;
	char *endpoint_variable; /* or NULL */
	struct text_list hosts;
	char family[FAMILY_BYTES_MAX + 1];
	char *signed_out; /* why its key cannot be had, or NULL */
	char *warning;	  /* or NULL */
};

/*
 * field names it in a fault. environment: the Arm's, which may set an endpoint. again: the Arm was
 * prepared before, so that what is not as it must be is no fault, but is not there. asked must outlive
 * it.
 */
int arm_provider_look(struct arm_provider_look *ret_look, const struct plan_host *host,
		      const char *field, const struct arm_provider *asked,
		      const struct pair_list *environment, bool again, struct fault *ret_fault);
/* ret_provider points into look. */
void arm_provider_tell(const struct arm_provider_look *look, struct arm_provider *ret_provider);
void arm_provider_look_done(struct arm_provider_look *look);

/*
 * Of a Harness that may be signed in by a provider's key, all owned: the provider (as asked, or the one
 * whose key its file names, where the Arm's environment sets the model or the endpoint), or NULL: its
 * own login; the model that is told by a variable; the endpoint and its hosts, where it is told one.
 */
struct arm_sign_in {
	char *provider;
	char *model;
	char *endpoint;
	struct text_list hosts;
};
int arm_sign_in_find(struct arm_sign_in *ret, const struct plan_host *host, const char *field,
		     const struct harness *harness, const struct arm_harness *asked,
		     const struct pair_list *environment, bool again, struct fault *ret_fault);
void arm_sign_in_done(struct arm_sign_in *sign_in);

/* That there is no provider of this name, and which there are. field names it. FAULT, -ENOMEM. */
int arm_provider_unknown(const struct plan_host *host, const char *field, const char *name,
			 struct fault *ret_fault);

/* Whether there is the key TABLE.KEY: 1; 0 with the reason, to be freed; -errno. */
int arm_key_look(const struct plan_host *host, const char *credential, char **ret_reason);
