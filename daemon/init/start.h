/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* What the child writes to the start pipe when the main process cannot be executed. */
struct start_error {
	uint32_t step; /* enum control_step */
	uint32_t error;
};

/*
 * In the forked child: becomes the main process that the launch memfd describes, with stdio[0…2]
 * as its standard descriptors, or writes a start_error to report (close-on-exec) and exits.
 */
_Noreturn void start_main(int launch, const int *stdio, int report);
