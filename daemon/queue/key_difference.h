/* SPDX-License-Identifier: MIT */
#pragma once

#include "ledger/ledger.h"

/*
 * In what a launch differs from the one that its key belongs to, in words: the first few keys of the
 * launch, "model was a, and is b; …", and how many more there are. Values of variables are not told,
 * since they may be secrets. Both are as key_launch has them. Where none of it differs it is the prompt
 * that does: of that the ledger has a digest alone. Pure; to be freed. NULL: out of memory.
 */
char *key_difference(const struct launch_request *was, const struct launch_request *is);

/*
 * Why it cannot be had: the Trial of row has it, and asked (key_body.h) is the launch that would have it too.
 * Returns FAULT.
 */
int key_conflict(const char *key, const struct ledger_row *row, const struct blob *asked,
		 struct fault *ret_fault);
