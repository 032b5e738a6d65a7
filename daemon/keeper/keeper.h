/* SPDX-License-Identifier: MIT */
#pragma once

#include "channel.h"

/*
 * Keeps one Trial, from `start` (taken over) to the record and trialsd's `taken`. Returns when
 * there is nothing left to keep: 0, or -errno when not even a record could be left.
 */
int keeper_run(int channel, struct channel_packet *start);
