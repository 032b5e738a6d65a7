/* SPDX-License-Identifier: MIT */
#pragma once

#include "keeper/record.h"

/*
 * What a judged Trial wrote, as one file that its Grader can have: the file in that Trial's folder
 * itself where that holds all of it; else a copy of what was kept, made in the Grader's own folder,
 * with a line "[N bytes not kept]" for each gap. Reads and writes files: for a thread.
 *
 * from: the judged Trial's folder; to: the Grader's; bytes: that there were. *ret_fd is an O_PATH
 * descriptor, the caller's. -errno.
 */
int judged_output_open(int from, int to, enum stream stream, uint64_t bytes, int *ret_fd);
/* Removes such copies. */
void judged_output_remove(int to);
