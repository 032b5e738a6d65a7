/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The fuzz targets, one for each parser of untrusted bytes: each takes one input, aborts on what
 * must not be, and returns 0. fuzz_NAME.c makes a program of fuzz_NAME for libFuzzer or replay.c;
 * tests/unit/test_corpus.c calls them all.
 */
int fuzz_frame(const uint8_t *data, size_t size);
int fuzz_message(const uint8_t *data, size_t size);

/* The name that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
