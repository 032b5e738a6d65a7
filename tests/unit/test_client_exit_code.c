/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/exit_code.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *trial;
	int code;
} trials[] = {
	{"{\"outcome\": \"delivered\", \"exit_code\": 0}", 0},
	{"{\"outcome\": \"delivered\"}", 0},
	{"{\"outcome\": \"failed\", \"exit_code\": 1}", 1},
	{"{\"outcome\": \"failed\", \"exit_code\": 126}", 126},
	{"{\"outcome\": \"failed\", \"exit_code\": 255}", 255},
	{"{\"outcome\": \"failed\", \"exit_code\": 0}", 1},
	{"{\"outcome\": \"failed\", \"exit_signal\": 9}", 137},
	{"{\"outcome\": \"failed\", \"exit_signal\": 64}", 192},
	{"{\"outcome\": \"failed\", \"exit_signal\": 128}", 1},
	{"{\"outcome\": \"failed\"}", 1},
	{"{\"outcome\": \"timed_out\", \"exit_code\": 0}", 124},
	{"{\"outcome\": \"timed_out\", \"exit_signal\": 15}", 124},
	{"{\"outcome\": \"stalled\"}", 124},
	{"{\"outcome\": \"out_of_memory\", \"exit_signal\": 9}", 137},
	{"{\"outcome\": \"canceled\", \"exit_code\": 0}", 130},
	{"{\"outcome\": \"canceled\", \"exit_code\": 3}", 130},
	{"{\"outcome\": \"void\"}", 125},
	{"{\"outcome\": \"void\", \"exit_code\": 126}", 126},
	{"{\"outcome\": \"void\", \"exit_code\": 127}", 127},
	{"{\"outcome\": \"void\", \"exit_code\": 1}", 125},
	{"{\"outcome\": \"void\", \"exit_code\": 0}", 125},
	{"{\"outcome\": \"interrupted\", \"exit_code\": 127}", 125},
	{"{\"outcome\": \"lost\"}", 125},
	{"{\"outcome\": \"something_newer\", \"exit_code\": 0}", 125},
	{"{\"outcome\": 7}", 125},
	{"{}", 125},
};

START_TEST(trial)
{
	json_t *object = json_loads(trials[_i].trial, 0, NULL);

	ck_assert_ptr_nonnull(object);
	ck_assert_int_eq(exit_code_of_trial(object), trials[_i].code);
	json_decref(object);
}
END_TEST

static const struct {
	int number;
	const char *code;
	int exit_code;
} errors[] = {
	{-EREMOTEIO, "invalid", 77},
	{-EREMOTEIO, "not_found", 77},
	{-EREMOTEIO, "conflict", 77},
	{-EREMOTEIO, "refused", 77},
	{-EREMOTEIO, "unavailable", 77},
	{-EREMOTEIO, "something_newer", 77},
	{-EREMOTEIO, "busy", 75},
	{-EREMOTEIO, "internal", 70},
	{-EREMOTEIO, "bad_request", 76},
	{-EREMOTEIO, "unknown_verb", 76},
	{-EREMOTEIO, "unsupported_version", 76},
	{-ECONNREFUSED, "no_daemon", 69},
	{-ENOENT, "no_daemon", 69},
	{-ECONNRESET, "gone", 69},
	{-EACCES, "no_daemon", 69},
	{-EPERM, "no_daemon", 69},
	{-ENAMETOOLONG, "invalid", 69},
	{-ETIMEDOUT, "no_answer", 75},
	{-EBADMSG, "protocol", 76},
	{-EPROTONOSUPPORT, "protocol", 76},
	{-EINVAL, "usage", 64},
	{-EMSGSIZE, "invalid", 64},
	{-ENOMEM, "memory", 71},
	{-EMFILE, "invalid", 71},
};

START_TEST(error)
{
	struct trials_error told = {0};

	snprintf(told.code, sizeof(told.code), "%s", errors[_i].code);
	ck_assert_int_eq(exit_code_of_error(errors[_i].number, &told), errors[_i].exit_code);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client exit code");
	TCase *test_case = tcase_create("exit code");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(test_case, trial, 0, COUNT(trials));
	tcase_add_loop_test(test_case, error, 0, COUNT(errors));
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
