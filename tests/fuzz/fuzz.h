/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The fuzz targets, one for each parser of bytes that others made: clients, agents, a trialsd that
 * was something else, a disk after a crash, other programs of the host. Each takes one input,
 * aborts on what must not be, and returns 0; what must hold stands at its head.
 *
 * target_NAME.c holds fuzz_NAME. The makefile makes a program fuzz_NAME of it, for libFuzzer or
 * with replay.c; tests/unit/test_corpus.c calls them all, on tests/fuzz/corpus/NAME.
 */
#define FUZZ_TARGETS(X)                                                                            \
	X(bar)                                                                                     \
	X(bind)                                                                                    \
	X(cgroup)                                                                                  \
	X(channel)                                                                                 \
	X(client_hello)                                                                            \
	X(config)                                                                                  \
	X(connect)                                                                                 \
	X(control)                                                                                 \
	X(credentials)                                                                             \
	X(frame)                                                                                   \
	X(gate)                                                                                    \
	X(git)                                                                                     \
	X(harness)                                                                                 \
	X(providers)                                                                               \
	X(hold)                                                                                    \
	X(host)                                                                                    \
	X(json)                                                                                    \
	X(launch)                                                                                  \
	X(launch_file)                                                                             \
	X(listeners)                                                                               \
	X(message)                                                                                 \
	X(mounts)                                                                                  \
	X(neutralise)                                                                              \
	X(plan)                                                                                    \
	X(quantity)                                                                                \
	X(record)                                                                                  \
	X(segments)                                                                                \
	X(terminal)                                                                                \
	X(verdict)                                                                                 \
	X(version)                                                                                 \
	X(view)

#define FUZZ_DECLARE_(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE_)

/* The name that libFuzzer calls: in the program fuzz_NAME another name of fuzz_NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
