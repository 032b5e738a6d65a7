/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "proto/protocol.h"
#include "proto/quantity.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *text;
	int expected;
	uint64_t bytes;
} sizes[] = {
	{"0", 0, 0},
	{"1048576", 0, 1048576},
	{"100B", 0, 100},
	{"64K", 0, 65536},
	{"64KB", 0, 65536},
	{"64KiB", 0, 65536},
	{"512M", 0, 512ull << 20},
	{"4G", 0, 4ull << 30},
	{"4.0G", 0, 4ull << 30},
	{"1.5G", 0, 3ull << 29},
	{"0.5K", 0, 512},
	{"1T", 0, 1ull << 40},
	{"1P", 0, LIMIT_BYTES_MAX},
	{"1024T", 0, LIMIT_BYTES_MAX},
	{"1125899906842624", 0, LIMIT_BYTES_MAX},
	{"1125899906842625", -ERANGE, 0},
	{"1025T", -ERANGE, 0},
	{"1.1P", -ERANGE, 0},
	{"2P", -ERANGE, 0},
	{"18446744073709551615", -ERANGE, 0},
	{"18446744073709551616", -ERANGE, 0},
	{"18446744073709551616G", -ERANGE, 0},
	{"99999999999999999999999999999999999", -ERANGE, 0},
	{"99999999999999999999999999999999999x", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"G", -EINVAL, 0},
	{"B", -EINVAL, 0},
	{"-1", -EINVAL, 0},
	{"+1", -EINVAL, 0},
	{" 1", -EINVAL, 0},
	{"1 ", -EINVAL, 0},
	{"1 G", -EINVAL, 0},
	{"512m", 0, 512ull << 20},
	{"4g", 0, 4ull << 30},
	{"1.5gb", 0, 3ull << 29},
	{"64kib", 0, 65536},
	{"64KIb", 0, 65536},
	{"1p", 0, LIMIT_BYTES_MAX},
	{"100b", 0, 100},
	{"1gi", -EINVAL, 0},
	{"1e", -EINVAL, 0},
	{"1Gi", -EINVAL, 0},
	{"1GG", -EINVAL, 0},
	{"1GBB", -EINVAL, 0},
	{"1iB", -EINVAL, 0},
	{"1.5", -EINVAL, 0},
	{"1.5B", -EINVAL, 0},
	{"1.G", -EINVAL, 0},
	{".5G", -EINVAL, 0},
	{"1,5G", -EINVAL, 0},
	{"1.1234567890G", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"1e3", -EINVAL, 0},
	{"inf", -EINVAL, 0},
	{"1E", -EINVAL, 0},
};

START_TEST(size)
{
	uint64_t bytes = 77;

	ck_assert_msg(quantity_size(sizes[_i].text, &bytes) == sizes[_i].expected, "\"%s\"",
		      sizes[_i].text);
	if (sizes[_i].expected == 0)
		ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

static const struct {
	const char *text;
	int expected;
	double seconds;
} times[] = {
	{"0", 0, 0},
	{"90", 0, 90},
	{"1.5", 0, 1.5},
	{"90s", 0, 90},
	{"90sec", 0, 90},
	{"1.5h", 0, 5400},
	{"2h 30min", 0, 9000},
	{"2h30min", 0, 9000},
	{"2h  30m 5s", 0, 9005},
	{"500ms", 0, 0.5},
	{"250us", 0, 0.00025},
	{"1d", 0, 86400},
	{"1w", 0, 604800},
	{"1hr", 0, 3600},
	{"365d", 0, SECONDS_MAX},
	{"365d 1s", -ERANGE, 0},
	{"366d", -ERANGE, 0},
	{"31536001", -ERANGE, 0},
	{"99999999999999999999999", -ERANGE, 0},
	{"", -EINVAL, 0},
	{" ", -EINVAL, 0},
	{"s", -EINVAL, 0},
	{"-1", -EINVAL, 0},
	{"+1", -EINVAL, 0},
	{"nan", -EINVAL, 0},
	{"inf", -EINVAL, 0},
	{"infinity", -EINVAL, 0},
	{"1x", -EINVAL, 0},
	{"1 s", -EINVAL, 0},
	{"1s ", -EINVAL, 0},
	{"1s  ", -EINVAL, 0},
	{" 1s", -EINVAL, 0},
	{"90 ", -EINVAL, 0},
	{"1h 30", -EINVAL, 0},
	{"30 1h", -EINVAL, 0},
	{"1e3", -EINVAL, 0},
	{"1H", -EINVAL, 0},
	{"1:30", -EINVAL, 0},
};

START_TEST(time_of)
{
	double seconds = 77;

	ck_assert_msg(quantity_time(times[_i].text, &seconds) == times[_i].expected, "\"%s\"",
		      times[_i].text);
	if (times[_i].expected == 0)
		ck_assert_double_eq_tol(seconds, times[_i].seconds, 1e-9);
}
END_TEST

static const struct {
	const char *text;
	int expected;
	uint64_t percent;
} percents[] = {
	{"20%", 0, 20},
	{"20", 0, 20},
	{"0", 0, 0},
	{"400%", 0, 400},
	{"", -EINVAL, 0},
	{"%", -EINVAL, 0},
	{"-5%", -EINVAL, 0},
	{"5%%", -EINVAL, 0},
	{"5 %", -EINVAL, 0},
	{"1.5%", -EINVAL, 0},
	{"99999999999999999999%", -ERANGE, 0},
	{"99999999999999999999x", -EINVAL, 0},
};

START_TEST(percent)
{
	uint64_t value = 77;

	ck_assert_msg(quantity_percent(percents[_i].text, &value) == percents[_i].expected,
		      "\"%s\"", percents[_i].text);
	if (percents[_i].expected == 0)
		ck_assert_uint_eq(value, percents[_i].percent);
}
END_TEST

static const struct {
	uint64_t bytes;
	const char *text;
} formatted_sizes[] = {
	{0, "0B"},
	{1023, "1023B"},
	{1024, "1.0K"},
	{1536, "1.5K"},
	{1048575, "1.0M"},
	{4ull << 30, "4.0G"},
	{LIMIT_BYTES_MAX, "1.0P"},
	{UINT64_MAX, "16.0E"},
};

START_TEST(format_size)
{
	char buffer[32];

	ck_assert_str_eq(quantity_format_size(formatted_sizes[_i].bytes, buffer, sizeof(buffer)),
			 formatted_sizes[_i].text);
}
END_TEST

static const struct {
	double seconds;
	const char *text;
} formatted_times[] = {
	{0, "0s"},	   {0.000002, "2us"}, {0.00099999, "1ms"}, {0.31, "310ms"},
	{0.99999, "1.0s"}, {12.34, "12.3s"},  {59.99, "1min"},	   {60, "1min"},
	{90, "1min 30s"},  {3599.9, "1h"},    {9000, "2h 30min"},  {86400, "1d"},
	{90000, "1d 1h"},  {-1, "-"},	      {NAN, "-"},	   {INFINITY, "-"},
	{1e300, "-"},
};

START_TEST(format_time)
{
	char buffer[32];

	ck_assert_str_eq(quantity_format_time(formatted_times[_i].seconds, buffer, sizeof(buffer)),
			 formatted_times[_i].text);
}
END_TEST

/* What is printed can be typed again, and means nearly the same. */
START_TEST(format_and_back)
{
	double seconds = 1e-6;

	while ((seconds *= 1.37) < SECONDS_MAX) {
		char buffer[32];
		double back;

		quantity_format_time(seconds, buffer, sizeof(buffer));
		ck_assert_msg(quantity_time(buffer, &back) == 0, "%s", buffer);
		ck_assert_double_eq_tol(back, seconds, seconds * 0.5);
	}
	for (uint64_t bytes = 1; bytes < LIMIT_BYTES_MAX / 2; bytes = bytes * 3 / 2 + 1) {
		char buffer[32];
		uint64_t back;

		quantity_format_size(bytes, buffer, sizeof(buffer));
		ck_assert_msg(quantity_size(buffer, &back) == 0, "%s", buffer);
		ck_assert_double_eq_tol((double)back, (double)bytes, (double)bytes * 0.06);
	}
}
END_TEST

static Suite *quantity_suite(void)
{
	Suite *suite = suite_create("quantity");
	TCase *test_case = tcase_create("quantity");

	tcase_add_loop_test(test_case, size, 0, COUNT(sizes));
	tcase_add_loop_test(test_case, time_of, 0, COUNT(times));
	tcase_add_loop_test(test_case, percent, 0, COUNT(percents));
	tcase_add_loop_test(test_case, format_size, 0, COUNT(formatted_sizes));
	tcase_add_loop_test(test_case, format_time, 0, COUNT(formatted_times));
	tcase_add_test(test_case, format_and_back);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(quantity_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
