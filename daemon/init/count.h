/* SPDX-License-Identifier: MIT */
#pragma once

#include "control.h"

/*
 * Processor time, by /proc, of every process of the namespace and of those they waited for: *ret
 * with nothing but that. -errno when /proc cannot be read.
 */
int count_processor_time(struct control_usage *ret);
