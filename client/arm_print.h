/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/* An Arm as trialsd tells it, a line a fact. */
void arm_print(const json_t *view);

/* What a reply has of changes and of what is missing. arm: as it was frozen, or NULL. */
void arm_print_changes(const json_t *reply, const json_t *arm);
