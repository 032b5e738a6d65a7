/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Sizes and times as people write them, for trialctl's options and trialsd.conf alike.
 * Whole string or nothing: -EINVAL for anything else, -ERANGE when it overflows or is above the
 * protocol's LIMIT_BYTES_MAX / SECONDS_MAX.
 */

/*
 * "4G", "512m", "64K", "1048576", "1T": powers of 1024; a trailing B or iB is allowed. Upper and
 * lower case mean the same.
 */
int quantity_size(const char *text, uint64_t *ret_bytes);

/* "90", "90s", "1.5h", "2h 30min", "500ms", "1d": seconds when there is no unit. */
int quantity_time(const char *text, double *ret_seconds);

/* "20%" or "20"; also above 100. */
#define CPU_PERCENT_PLAIN_LEAST                                                                    \
	10 /* less is only meant as a percentage when it is written as one */
int quantity_percent(const char *text, uint64_t *ret_percent);

/* "4.0G", "2h 30min", "310ms": for people, into a buffer of at least 32 bytes; returns it. */
char *quantity_format_size(uint64_t bytes, char *buffer, size_t size);
char *quantity_format_time(double seconds, char *buffer, size_t size);
