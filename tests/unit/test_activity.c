/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>

#include "keeper/activity.h"

static struct activity activity;
static struct activity_sample sample;
static struct inactivity found;

static void setup(void)
{
	activity = (struct activity){0};
	sample = (struct activity_sample){.at = 1000};
	activity_take(&activity, &sample, &found);
}

/* A part of a limit of 80 seconds passes. */
static bool pass(void)
{
	sample.at += 10;
	return activity_take(&activity, &sample, &found);
}

/* How many parts it takes until nothing has happened for a limit; a hundred at most. */
static int parts_until_stalled(void)
{
	int parts;

	for (parts = 1; parts < 100; parts++)
		if (pass())
			break;
	return parts;
}

START_TEST(nothing_at_all)
{
	ck_assert_int_eq(parts_until_stalled(), ACTIVITY_PARTS);
	ck_assert_double_eq(found.seconds, 80);
	ck_assert_double_eq(found.cpu_seconds, 0);
	/* It goes on to be so. */
	ck_assert(pass());
}
END_TEST

START_TEST(each_kind_of_activity_counts_from_when_it_was)
{
	int part;

	for (part = 1; part < 30; part++) {
		ck_assert(!pass());
		sample.output_bytes += part % 3 == 0;
		sample.proxy_bytes += part % 3 == 1;
		sample.cpu_microseconds += part % 3 == 2 ? 800000 : 0;
	}
	/* The last was seen a part after it was. */
	ck_assert_int_eq(parts_until_stalled(), ACTIVITY_PARTS + 1);
}
END_TEST

START_TEST(a_hundredth_of_a_processor)
{
	int part;

	for (part = 1; part < ACTIVITY_PARTS; part++) {
		sample.cpu_microseconds += 99000;
		ck_assert(!pass());
	}
	sample.cpu_microseconds += 99000;
	ck_assert(pass());
	ck_assert_double_eq_tol(found.cpu_seconds, 0.792, 1e-9);
	sample.cpu_microseconds += 107001;
	ck_assert(!pass());
}
END_TEST

START_TEST(processor_time_that_is_forgotten_was_used)
{
	int part;

	/* Children that nobody waits for: each is seen once and gone the next time. */
	for (part = 1; part < 30; part++) {
		sample.cpu_microseconds = part % 2 ? 5000000 : 0;
		ck_assert(!pass());
	}
}
END_TEST

START_TEST(late_samples_make_a_longer_time)
{
	sample.at += 500;
	ck_assert_int_eq(parts_until_stalled(), ACTIVITY_PARTS);
	ck_assert_double_eq(found.seconds, 580);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("activity");
	TCase *tests = tcase_create("activity");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, nothing_at_all);
	tcase_add_test(tests, each_kind_of_activity_counts_from_when_it_was);
	tcase_add_test(tests, a_hundredth_of_a_processor);
	tcase_add_test(tests, processor_time_that_is_forgotten_was_used);
	tcase_add_test(tests, late_samples_make_a_longer_time);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
