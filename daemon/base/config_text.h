/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/config.h"

/*
 * A configuration as the text of a trialsd.conf with every key in it: config_read makes the same
 * one of it. Times are kept to the microsecond. The text is the caller's.
 */
int config_format(const struct config *config, char **ret_text);

/*
 * The names of the keys in which two differ, "MaxRunning, Tmp", or NULL when they are the same;
 * *ret_restart: one of them is Backend or Bwrap, which only a new start takes up. The caller's.
 */
int config_differences(const struct config *a, const struct config *b, char **ret_names,
		       bool *ret_restart);
