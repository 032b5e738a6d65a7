/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "proto/quantity.h"
#include "since.h"

/* Exactly so many digits. */
static bool take_number(const char **text, int digits, int least, int most, int *ret_number)
{
	int number = 0;

	for (int i = 0; i < digits; i++, (*text)++) {
		if (!isdigit((unsigned char)**text))
			return false;
		number = number * 10 + (**text - '0');
	}
	*ret_number = number;
	return number >= least && number <= most;
}

static bool take_character(const char **text, char character)
{
	if (**text != character)
		return false;
	(*text)++;
	return true;
}

/* "Z", "+01:00", "-0330"; seconds east of UTC. */
static bool take_zone(const char **text, long *ret_offset)
{
	int hours, minutes;
	int sign = **text == '-' ? -1 : 1;

	if (take_character(text, 'Z')) {
		*ret_offset = 0;
		return true;
	}
	if (**text != '+' && **text != '-')
		return false;
	(*text)++;
	if (!take_number(text, 2, 0, 14, &hours))
		return false;
	take_character(text, ':');
	if (!take_number(text, 2, 0, 59, &minutes))
		return false;
	*ret_offset = sign * (hours * 3600L + minutes * 60L);
	return true;
}

static bool take_clock(const char **text, struct tm *time)
{
	if (!take_number(text, 2, 0, 23, &time->tm_hour) || !take_character(text, ':') ||
	    !take_number(text, 2, 0, 59, &time->tm_min))
		return false;
	return !take_character(text, ':') || take_number(text, 2, 0, 59, &time->tm_sec);
}

static int parse_date(const char *text, time_t *ret_seconds)
{
	struct tm time = {.tm_isdst = -1};
	struct tm given;
	long offset = 0;
	bool zoned = false;

	if (!take_number(&text, 4, 1, 9999, &time.tm_year) || !take_character(&text, '-') ||
	    !take_number(&text, 2, 1, 12, &time.tm_mon) || !take_character(&text, '-') ||
	    !take_number(&text, 2, 1, 31, &time.tm_mday))
		return -EINVAL;
	time.tm_year -= 1900;
	time.tm_mon -= 1;
	if (*text == 'T' || *text == ' ') {
		text++;
		if (!take_clock(&text, &time))
			return -EINVAL;
		take_character(&text, ' ');
		zoned = *text != 0;
		if (zoned && !take_zone(&text, &offset))
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	given = time;
	*ret_seconds = zoned ? timegm(&time) - offset : mktime(&time);
	/* The 30th of February was made into March. */
	if (time.tm_mday != given.tm_mday || time.tm_mon != given.tm_mon)
		return -EINVAL;
	return *ret_seconds < 0 ? -ERANGE : 0;
}

int parse_since(const char *text, uint64_t now, uint64_t *ret_microseconds)
{
	double seconds;
	time_t moment;
	int r;

	if (strlen(text) >= 8 && text[4] == '-') {
		r = parse_date(text, &moment);
		if (r >= 0)
			*ret_microseconds = (uint64_t)moment * 1000000;
		return r;
	}
	r = quantity_time(text, &seconds);
	if (r < 0)
		return r;
	*ret_microseconds = seconds * 1e6 < (double)now ? now - (uint64_t)(seconds * 1e6) : 0;
	return 0;
}
