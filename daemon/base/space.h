/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that an ordinary user may still take where fd is, or for -1 where path is. */
uint64_t space_free(int fd, const char *path);

/*
 * Whether that is less than `least`; then reason says so, naming path and MinFree. least 0: there
 * is no guard.
 */
bool space_is_below(uint64_t least, int fd, const char *path, char *reason, size_t size);

/* What mends it, and what mends a disk with nothing left. */
#define SPACE_FULL_HINT "make room there (trialctl list --size, trialctl prune)"
#define SPACE_HINT                                                                                 \
	"make room there (trialctl list --size, trialctl prune), or set a smaller MinFree= in "    \
	"[Daemon] of trialsd.conf"
