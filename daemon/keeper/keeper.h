/* SPDX-License-Identifier: MIT */
#pragma once

#include "cgroup.h"
#include "channel.h"

/*
 * Keeps one Trial, from `start` (taken over) to the record and trialsd's `taken`. Returns when
 * there is nothing left to keep: 0, or -errno when not even a record could be left. payload (taken
 * over): the control groups, where they were made while it waited for its start.
 */
int keeper_run(int channel, struct channel_packet *start, struct payload *payload);
