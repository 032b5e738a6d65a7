/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "context.h"
#include "options.h"

/*
 * The NAME=VALUE given to a --label, into the map `labels` of a filter. -EINVAL and *ret_error: it
 * is none, or its name was given before.
 */
int label_add(json_t *filter, const struct arguments *arguments, size_t index,
	      struct trials_error *ret_error);

/* What trialsd has no index for, so that pages are looked through here; NULL: any. */
struct trial_filter {
	const char *arm;
	const char *role;
	bool matched; /* some Trial was of that Arm */
};

struct trial_filter trial_filter_of(const struct arguments *arguments);
bool trial_matches(struct trial_filter *filter, const json_t *trial);
/* That no Trial was of the Arm: it may be misspelled. */
void trial_filter_tell(const struct trial_filter *filter, struct context *context);

#define FILTER_OPTIONS                                                                             \
	{"arm",                                                                                    \
	 0,                                                                                        \
	 "ID",                                                                                     \
	 NULL,                                                                                     \
	 COMPLETE_NOTHING,                                                                         \
	 false,                                                                                    \
	 "only Trials of this Arm: its id, or what it is called"},                                 \
	{                                                                                          \
		"role", 0, "ROLE", PROTOCOL_ROLES(WORD_), COMPLETE_NOTHING, false,                 \
			"only trials, or only graders"                                             \
	}

/* The TIME given to a --since, into `since` of a filter. -EINVAL and *ret_error. */
int since_add(json_t *filter, const char *value, struct trials_error *ret_error);
