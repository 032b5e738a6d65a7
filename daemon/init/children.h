/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Kills all children of the thread that is the process. By descriptors, and none can be anybody else
 * by then: only we can reap them. Also the keeper's.
 */
void children_kill(void);
