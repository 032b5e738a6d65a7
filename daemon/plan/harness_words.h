/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/words.h"

/* What of the small languages of base/words.h only a .harness file is written in. All pure. */

bool json_path_valid(const char *text, size_t length, bool claim);

/* The {group} that a word of [Session] Arguments= is, or -1; HARNESS_GROUPS for an unknown one. */
enum harness_group {
	HARNESS_GROUP_model,
	HARNESS_GROUP_effort,
	HARNESS_GROUP_resume,
	HARNESS_GROUP_web,
	HARNESS_GROUP_extra,
	HARNESS_GROUP_prompt,
	HARNESS_GROUPS,
};
int harness_group_of(const char *word);
const char *harness_group_name(int group);
