/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/options.h"
#include "client/since.h"
#include "fuzz.h"
#include "proto/protocol.h"
#include "proto/quantity.h"
#include "stage.h"

/*
 * Sizes, times, percentages and moments as people write them. What is accepted lies within the
 * protocol's limits, means the same when it is written plainly, and is about the same when it was
 * written for people.
 */

#define NOW 1700000000000000u /* microseconds */

static void check_size(const char *text)
{
	uint64_t bytes, again;
	char plain[64];
	int r = quantity_size(text, &bytes);

	must(r == 0 || r == -EINVAL || r == -ERANGE);
	if (r < 0)
		return;
	must(bytes <= LIMIT_BYTES_MAX);
	snprintf(plain, sizeof(plain), "%llu", (unsigned long long)bytes);
	must(quantity_size(plain, &again) == 0 && again == bytes);
	/* One digit behind the point: a twentieth of a unit, which is a thousandth at most. */
	quantity_format_size(bytes, plain, sizeof(plain));
	must(quantity_size(plain, &again) == 0);
	must(fabs((double)again - (double)bytes) <= 0.051 * (double)bytes);
}

static void check_time(const char *text)
{
	double seconds, again;
	char plain[64];
	int r = quantity_time(text, &seconds);

	must(r == 0 || r == -EINVAL || r == -ERANGE);
	if (r < 0)
		return;
	must(isfinite(seconds) && seconds >= 0 && seconds <= SECONDS_MAX);
	snprintf(plain, sizeof(plain), "%.9f", seconds);
	must(quantity_time(plain, &again) == 0 && fabs(again - seconds) <= 1e-9 + seconds * 1e-12);
	quantity_format_time(seconds, plain, sizeof(plain));
	must(quantity_time(plain, &again) == 0);
	/* Half of the last digit is lost: below a second, of the unit itself. */
	must(fabs(again - seconds) <= seconds * 0.051 + (seconds < 0.0009 ? 0.5e-6 : 0.5e-3));
}

static void check_percent(const char *text)
{
	uint64_t percent, again;
	char plain[64];

	if (quantity_percent(text, &percent) < 0)
		return;
	snprintf(plain, sizeof(plain), "%llu%%", (unsigned long long)percent);
	must(quantity_percent(plain, &again) == 0 && again == percent);
}

static void check_unsigned(const char *text)
{
	static const uint64_t most[] = {0, 9, 10, 1000, INT64_MAX, UINT64_MAX};
	uint64_t number;

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		int r = parse_unsigned(text, most[i], &number);

		must(r == 0 || r == -EINVAL || r == -ERANGE);
		if (r < 0)
			continue;
		errno = 0;
		must(number <= most[i] && number == strtoull(text, NULL, 10) && errno == 0);
	}
}

static void check_since(const char *text)
{
	uint64_t moment;
	int r = parse_since(text, NOW, &moment);

	must(r == 0 || r == -EINVAL || r == -ERANGE);
	/* The last day that has a four-digit year, and a zone. */
	must(r < 0 || moment <= 253402300800000000u + 24ull * 3600 * 1000000);
}

int fuzz_quantity(const uint8_t *data, size_t size)
{
	char *text = stage_text(data, size);

	check_size(text);
	check_time(text);
	check_percent(text);
	check_unsigned(text);
	check_since(text);
	free(text);
	return 0;
}
