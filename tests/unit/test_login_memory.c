/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue/login_memory.h"

static struct login_memory *memory;

static void teardown(void)
{
	memory = login_memory_free(memory);
}

static void remember(const char *harness, unsigned int serial, bool valid)
{
	struct login_known known = {.valid = valid, .serial = serial, .reason = strdup("why")};

	login_remember(&memory, harness, &known);
	/* It was taken over, or is gone. */
	ck_assert_ptr_null(known.reason);
	ck_assert(!known.valid);
}

/* 0: it is not there. */
static unsigned int recall(const char *harness)
{
	struct login_known known = {0};
	unsigned int serial;

	login_recall(memory, harness, &known);
	serial = known.valid ? known.serial : 0;
	ck_assert(known.valid == (known.reason != NULL));
	login_known_done(&known);
	return serial;
}

START_TEST(what_is_remembered_is_given_back_once)
{
	ck_assert_uint_eq(recall("codex"), 0);
	remember("codex", 7, true);
	remember("grok", 8, true);
	ck_assert_uint_eq(recall("codex"), 7);
	ck_assert_uint_eq(recall("codex"), 0);
	ck_assert_uint_eq(recall("grok"), 8);
}
END_TEST

START_TEST(the_last_word_counts)
{
	remember("codex", 7, true);
	remember("codex", 9, true);
	ck_assert_uint_eq(recall("codex"), 9);
	remember("codex", 7, true);
	/* Nothing is known by now: nor is what was. */
	remember("codex", 9, false);
	ck_assert_uint_eq(recall("codex"), 0);
	remember("codex", 7, true);
	login_forget(memory, "codex");
	login_forget(memory, "grok");
	ck_assert_uint_eq(recall("codex"), 0);
}
END_TEST

START_TEST(of_many_the_last_ones_are_remembered)
{
	char name[16];

	for (unsigned int i = 1; i <= 3 * LOGINS_REMEMBERED_MAX; i++) {
		snprintf(name, sizeof(name), "h%u", i);
		remember(name, i, true);
	}
	for (unsigned int i = 1; i <= 3 * LOGINS_REMEMBERED_MAX; i++) {
		snprintf(name, sizeof(name), "h%u", i);
		ck_assert_uint_eq(recall(name), i > 2 * LOGINS_REMEMBERED_MAX ? i : 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("login_memory");
	TCase *tests = tcase_create("login_memory");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, what_is_remembered_is_given_back_once);
	tcase_add_test(tests, the_last_word_counts);
	tcase_add_test(tests, of_many_the_last_ones_are_remembered);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
