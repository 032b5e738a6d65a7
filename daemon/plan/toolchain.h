/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/toolchain.h"
#include "place.h"
#include "plan/plan.h"

/*
 * The toolchains that a launch names, on this host: which part of each was found where, what of
 * that is visible inside, and what it adds to the environment. plan.c calls these in this order.
 * Refusals name the toolchain and its part.
 */
struct bound_list; /* build.h */

struct toolchain_found {
	const struct toolchain *toolchain; /* the configuration's */
	bool own;			   /* of trialsd.conf, not one that came with trialsd */
	struct place *places; /* of each word of ReadOnly=; fd -1: it may be missing, and is */
	struct text_list path;
	struct text_list programs;
};

struct toolchains {
	struct toolchain_found *items;
	size_t count;
	char *path; /* PATH with theirs in front; NULL before toolchains_compose */
};

/* Finds each in the configuration, else among those that came with trialsd, and its places. */
int toolchains_open(struct toolchains *ret_toolchains, const struct plan_host *host,
		    const struct launch_request *launch, struct fault *ret_fault);
/* Adds the places that are not there yet, for the policies to judge. */
int toolchains_bounds(struct toolchains *toolchains, struct bound_list *bounds,
		      struct fault *ret_fault);
/* Once the plan holds all that will be inside: PATH, the programs, and the plan's own record. */
int toolchains_compose(struct toolchains *toolchains, struct plan *plan,
		       const struct plan_host *host, struct fault *ret_fault);
/* Their variables and PATH. Pure. */
int toolchains_environment(const struct toolchains *toolchains, struct plan *plan,
			   const struct plan_host *host);
void toolchains_done(struct toolchains *toolchains);
