/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "queue/hold.h"

/* What the ledger keeps gives back what was put in. */
START_TEST(there_and_back)
{
	static const struct queue_hold holds[] = {
		{HOLD_pause, "new login", "trialctl 0.1, pid 12", 1735689600000000},
		{HOLD_drain, "", "a client, pid 1", 1},
		{HOLD_pause, "two\nlines", NULL, INT64_MAX},
		{HOLD_drain, "\x1e\x1e", "x", 7},
		{HOLD_pause,
		 "a\x1e"
		 "drain\x1e"
		 "5\x1e"
		 "b",
		 "c", 9},
	};
	const struct queue_hold *hold = &holds[_i];
	char *text = hold_to_text(hold);
	struct queue_hold back;

	ck_assert_ptr_nonnull(text);
	hold_from_text(text, &back);
	ck_assert_int_eq((int)back.kind, (int)hold->kind);
	ck_assert_str_eq(back.reason, hold->reason);
	ck_assert_pstr_eq(back.by, hold->by);
	ck_assert_uint_eq(back.at, hold->at);
	free(text);
}
END_TEST

/* A client's name for itself is not trusted with the form. */
START_TEST(names_that_hold_separators)
{
	const struct queue_hold hold = {HOLD_pause, "why",
					"\x1e"
					"drain\x1e"
					"1\x1e",
					5};
	char *text = hold_to_text(&hold);
	struct queue_hold back;

	ck_assert_ptr_nonnull(text);
	hold_from_text(text, &back);
	ck_assert_int_eq((int)back.kind, HOLD_pause);
	ck_assert_str_eq(back.reason, "why");
	ck_assert_str_eq(back.by, " drain 1 ");
	ck_assert_uint_eq(back.at, 5);
	free(text);
}
END_TEST

/* As a ledger of before has it, or one that somebody has written into. */
START_TEST(reasons_alone)
{
	static const char *const texts[] = {"", "maintenance",
					    "a\x1e"
					    "b",
					    "a\x1e"
					    "b\x1e"
					    "c"};
	char *text = strdup(texts[_i]);
	struct queue_hold back;

	hold_from_text(text, &back);
	ck_assert_int_eq((int)back.kind, HOLD_pause);
	ck_assert_str_eq(back.reason, texts[_i]);
	ck_assert_ptr_null(back.by);
	ck_assert_uint_eq(back.at, 0);
	free(text);
}
END_TEST

START_TEST(an_unknown_kind_holds_as_well)
{
	char text[] = "why\x1e"
		      "eclipse\x1e"
		      "x\x1e"
		      "me";
	struct queue_hold back;

	hold_from_text(text, &back);
	ck_assert_int_eq((int)back.kind, HOLD_pause);
	ck_assert_str_eq(back.reason, "why");
	ck_assert_str_eq(back.by, "me");
	ck_assert_uint_eq(back.at, 0);
}
END_TEST

static Suite *hold_suite(void)
{
	Suite *suite = suite_create("hold");
	TCase *test_case = tcase_create("hold");

	tcase_add_loop_test(test_case, there_and_back, 0, 5);
	tcase_add_test(test_case, names_that_hold_separators);
	tcase_add_loop_test(test_case, reasons_alone, 0, 4);
	tcase_add_test(test_case, an_unknown_kind_holds_as_well);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(hold_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
