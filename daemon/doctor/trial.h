/* SPDX-License-Identifier: MIT */
#pragma once

#include "doctor/way_out.h"
#include "keeper/limits.h"
#include "plan/plan.h"

/*
 * The launch that doctor judges by: a Trial that asks its proxy for two places, planned, launched and
 * ended as the queue would, in a folder of its own that is removed, with limits to read back.
 */
struct trial {
	bool tried;
	bool delivered; /* it ran in its sandbox, and said what it had to */
	bool unscoped;	/* what failed is the user manager's or the scope's */
	enum backend backend;
	struct fault fault; /* why it was not delivered; for -errno as well */
	bool has_boundary;
	struct boundary boundary;
	size_t limit_count;
	struct limit_state limits[LIMITS_COUNT]; /* names are constants */
	struct way_out_found way_out;
};

struct trial_order {
	const struct config *config;
	const char *home;
	const char *state_folder;   /* need not exist */
	const char *runtime_folder; /* likewise; or NULL */
	const char *config_folder;
	const char *keeper;
	const char *init;
	int bwrap_fd;
	int seccomp_fd;
};

/* Takes up to some twenty seconds; SIGTERM and SIGINT end it in order, and then this process. */
void trial_run(struct trial *ret_trial, const struct trial_order *order);
void trial_done(struct trial *trial);
