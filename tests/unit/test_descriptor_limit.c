/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/descriptor_limit.h"

/* {limit, MaxRunning, at once} */
static const unsigned int shares[][3] = {
	{64, 4, 1},   {256, 1, 1},     {360, 64, 9},	     {1024, 64, 30},
	{1024, 2, 2}, {65536, 64, 64}, {524288, 1024, 1024}, {0, 4, 1},
};

START_TEST(running)
{
	ck_assert_uint_eq(descriptor_limit_running(shares[_i][0], shares[_i][1]), shares[_i][2]);
}
END_TEST

/* With what is wanted, as many run as are wanted, and a sandbox can be built. */
START_TEST(wanted)
{
	for (unsigned int most = 1; most <= 1024; most++) {
		unsigned int limit = descriptor_limit_wanted(most);

		ck_assert_uint_eq(descriptor_limit_running(limit, most), most);
		ck_assert_uint_ge(limit, DESCRIPTORS_OF_SANDBOX);
	}
}
END_TEST

START_TEST(raised)
{
	struct rlimit limit = {.rlim_cur = 100, .rlim_max = 200};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(descriptor_limit(), 100);
	ck_assert_uint_eq(descriptor_limit_raise(), 200);
	ck_assert_uint_eq(descriptor_limit(), 200);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("descriptor_limit");
	TCase *tcase = tcase_create("descriptor_limit");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, running, 0, sizeof(shares) / sizeof(shares[0]));
	tcase_add_test(tcase, wanted);
	tcase_add_test(tcase, raised);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
