/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/*
 * Executes the trialsd beside this program, or the first one in PATH, for what it tells without a
 * daemon: one JSON object on its standard output, in *ret_report, or NULL there when it told none.
 * arguments: all of them, from "trialsd" to NULL. -errno when it could not be executed.
 */
int trialsd_report(const char *const *arguments, json_t **ret_report);

#define TRIALSD_REPORT_HINT "install trialsd, or put its folder into PATH"
