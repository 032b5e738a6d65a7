/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

/*
 * Opens the ledger with what Trials' folders and keepers can prove as its witness: options->witness
 * is not looked at. What happened to it is logged. trials_fd and keepers_fd (RUNTIME/k) are borrowed.
 */
int queue_open_ledger(Ledger **ret_ledger, const struct ledger_options *options, int trials_fd,
		      int keepers_fd, struct fault *ret_fault);
