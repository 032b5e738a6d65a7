/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * Reads one .harness file as the daemon would and says so on standard output, for a person or as
 * one line of JSON; what is wrong is named with line and key. No daemon is needed. The exit code of
 * the process: 0, EX_DATAERR for a file at fault, EX_OSERR.
 */
int harness_file_check(const char *path, bool json);
