/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/*
 * What holds the queue, of a Trial, a status or a queue event: "pause: new login (trialctl 0.1, pid
 * 12, since 2025-03-01 12:00:00 +0100)", neutralised; "" when nothing does. The caller's to free().
 */
char *hold_text(const json_t *object);
