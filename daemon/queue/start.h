/* SPDX-License-Identifier: MIT */
#pragma once

#include "keeper/channel.h"
#include "plan/plan.h"

/*
 * What a keeper is told of a planned Trial: everything but what launch_new fills in. Points into
 * plan and arguments (bwrap's). Without require_limits no missing limit voids the Trial.
 */
struct keeper_plan start_keeper_plan(const struct plan *plan, const struct text_list *arguments,
				     bool require_limits);
