/* SPDX-License-Identifier: MIT */
#pragma once

/* The exit status: an enum control_answer. arguments: the word, what is allowed, what is not. */
int ask(char *const arguments[3]);
