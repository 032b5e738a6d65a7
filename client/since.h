/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * A moment as people write it: how long ago ("2h", "1d 12h", "90"), or a date
 * ("2025-03-01", "2025-03-01 14:30[:15]", with T instead of the space, and with Z or +01:00
 * behind it; local time without). now and the result are microseconds UTC.
 * -EINVAL: none of these; -ERANGE: before 1970. Pure but for the time zone.
 */
int parse_since(const char *text, uint64_t now, uint64_t *ret_microseconds);
