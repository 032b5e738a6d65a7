/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/lane.h"

/*
 * What looks at Arms for a client, one after the other: a build may have some gigabytes, and who starts
 * Trials does not wait behind several. A preparation has the lane from before its first file is kept until
 * its Arm is, so that whoever else has it meets no content that is not named yet.
 */
extern struct lane arms_lane;
