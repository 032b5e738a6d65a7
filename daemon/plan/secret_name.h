/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * Whether a variable is to be masked wherever a person is shown what a sandbox was made of: its name
 * has a word that such names have (KEY, TOKEN, SECRET, PASSWORD, …), or its value looks like what is
 * handed out as a key, or has a password as URLs do. A guess, on the safe side; what trialsd itself
 * takes from the credentials file is known to be a secret and needs none. Pure.
 */
bool secret_variable(const char *name, const char *value);

/* The same of a word of a command line, before which (NULL: none) another one stands. */
bool secret_word(const char *before, const char *word);
