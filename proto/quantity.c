/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "protocol.h"
#include "quantity.h"

/*
 * Numbers with units. Digits are read here and not by strtod, which takes signs, hexadecimal,
 * "inf" and the locale's decimal comma.
 */

#define FRACTION_SCALE_MAX 1000000000u

struct number {
	uint64_t whole;
	uint32_t fraction; /* of scale */
	uint32_t scale;	   /* 1: no decimal point was there */
	bool overflow;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Moves *text past "12" or "12.5". */
static int read_number(const char **text, struct number *ret_number)
{
	struct number number = {.scale = 1};
	const char *at = *text;

	if (!is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (number.whole > (UINT64_MAX - digit) / 10)
			number.overflow = true;
		else
			number.whole = number.whole * 10 + digit;
	}
	if (*at == '.') {
		at++;
		if (!is_digit(*at))
			return -EINVAL;
		for (; is_digit(*at); at++) {
			if (number.scale >= FRACTION_SCALE_MAX)
				return -EINVAL;
			number.fraction = number.fraction * 10 + (uint32_t)(*at - '0');
			number.scale *= 10;
		}
	}
	*text = at;
	*ret_number = number;
	return 0;
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The power of 1024 of a prefix letter, 0 for none; moves *text past "G", "GB", "GiB" or "B". */
static unsigned int read_size_unit(const char **text)
{
	static const char prefixes[] = "kmgtp";
	const char *prefix = **text ? strchr(prefixes, lower(**text)) : NULL;
	unsigned int power = 0;

	if (prefix) {
		power = (unsigned int)(prefix - prefixes) + 1;
		(*text)++;
		if (lower((*text)[0]) == 'i' && lower((*text)[1]) == 'b')
			(*text)++;
	}
	if (lower(**text) == 'b')
		(*text)++;
	return power;
}

int quantity_size(const char *text, uint64_t *ret_bytes)
{
	struct number number;
	unsigned int power;
	uint64_t unit, bytes;
	int r;

	r = read_number(&text, &number);
	if (r < 0)
		return r;
	power = read_size_unit(&text);
	if (*text)
		return -EINVAL;
	/* There is no half a byte. */
	if (power == 0 && number.scale > 1)
		return -EINVAL;
	unit = 1ull << (10 * power);
	if (number.overflow || number.whole > LIMIT_BYTES_MAX / unit)
		return -ERANGE;
	/* scale is at most 10^9 and unit at most 2^50: by way of a double, exact enough. */
	bytes = number.whole * unit +
		(uint64_t)((double)number.fraction / number.scale * (double)unit);
	if (bytes > LIMIT_BYTES_MAX)
		return -ERANGE;
	*ret_bytes = bytes;
	return 0;
}

struct time_unit {
	const char *name;
	double seconds;
};

/* Of two that begin alike, the longer stands first. */
static const struct time_unit time_units[] = {
	{"us", 1e-6}, {"ms", 1e-3}, {"sec", 1},	 {"s", 1},     {"min", 60},
	{"m", 60},    {"hr", 3600}, {"h", 3600}, {"d", 86400}, {"w", 604800},
};

static const struct time_unit *read_time_unit(const char **text)
{
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++) {
		size_t length = strlen(time_units[i].name);

		if (strncmp(*text, time_units[i].name, length) == 0) {
			*text += length;
			return &time_units[i];
		}
	}
	return NULL;
}

int quantity_time(const char *text, double *ret_seconds)
{
	double total = 0;
	bool first = true, overflow = false;

	for (;;) {
		const struct time_unit *unit;
		struct number number;
		double value;
		int r;

		r = read_number(&text, &number);
		if (r < 0)
			return r;
		value = (double)number.whole + (double)number.fraction / number.scale;
		unit = read_time_unit(&text);
		/* A bare number is seconds only when it is all there is. */
		if (!unit && !(first && *text == '\0'))
			return -EINVAL;
		overflow |= number.overflow;
		total += unit ? value * unit->seconds : value;
		first = false;
		if (*text == '\0')
			break;
		while (*text == ' ')
			text++;
	}

	if (overflow || total > SECONDS_MAX)
		return -ERANGE;
	*ret_seconds = total;
	return 0;
}

int quantity_percent(const char *text, uint64_t *ret_percent)
{
	struct number number;
	int r;

	r = read_number(&text, &number);
	if (r < 0)
		return r;
	if (number.scale > 1)
		return -EINVAL;
	if (*text == '%')
		text++;
	if (*text)
		return -EINVAL;
	if (number.overflow)
		return -ERANGE;
	*ret_percent = number.whole;
	return 0;
}

char *quantity_format_size(uint64_t bytes, char *buffer, size_t size)
{
	static const char prefixes[] = "KMGTPE";
	double value = (double)bytes;
	size_t power = 0;

	if (bytes < 1024) {
		snprintf(buffer, size, "%lluB", (unsigned long long)bytes);
		return buffer;
	}
	/* 1023.95 would be printed as 1024.0. */
	while ((power == 0 || value >= 1023.95) && power < sizeof(prefixes) - 1) {
		value /= 1024;
		power++;
	}
	snprintf(buffer, size, "%.1f%c", value, prefixes[power - 1]);
	return buffer;
}

/* "2h 30min", or "2h" when the smaller is 0. */
static void format_two(char *buffer, size_t size, uint64_t great, const char *great_unit,
		       uint64_t small, const char *small_unit)
{
	if (small)
		snprintf(buffer, size, "%llu%s %llu%s", (unsigned long long)great, great_unit,
			 (unsigned long long)small, small_unit);
	else
		snprintf(buffer, size, "%llu%s", (unsigned long long)great, great_unit);
}

char *quantity_format_time(double seconds, char *buffer, size_t size)
{
	uint64_t whole;

	if (!isfinite(seconds) || seconds < 0 || seconds > 1e15) {
		snprintf(buffer, size, "-");
		return buffer;
	}
	if (seconds == 0 || seconds >= 59.95) {
		whole = (uint64_t)(seconds + 0.5);
		if (whole == 0)
			snprintf(buffer, size, "0s");
		else if (whole < 3600)
			format_two(buffer, size, whole / 60, "min", whole % 60, "s");
		else if (whole < 86400)
			format_two(buffer, size, whole / 3600, "h", whole % 3600 / 60, "min");
		else
			format_two(buffer, size, whole / 86400, "d", whole % 86400 / 3600, "h");
	} else if (seconds >= 0.9995) {
		snprintf(buffer, size, "%.1fs", seconds);
	} else if (seconds >= 0.0009995) {
		snprintf(buffer, size, "%.0fms", seconds * 1e3);
	} else {
		snprintf(buffer, size, "%.0fus", seconds * 1e6);
	}
	return buffer;
}
