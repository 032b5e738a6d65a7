/* SPDX-License-Identifier: MIT */
#include "plan/grading.h"

#include <check.h>
#include <stdlib.h>

#include "plan_fixture.h"

/* What a launch may say that judges a Trial's result. */

static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
	make_folder(at(&fixture, "data"));
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.role = fixture.launch.has.of = true;
	fixture.launch.role = ROLE_grader;
	fixture.launch.of = 7;
}

static void teardown(void)
{
	fixture_done(&fixture);
}

START_TEST(who_judges)
{
	struct launch_request launch = {0};

	ck_assert(!launch_judges(&launch));
	launch.has.of = true;
	launch.of = 1;
	ck_assert(!launch_judges(&launch));
	launch.has.role = true;
	launch.role = ROLE_trial;
	ck_assert(!launch_judges(&launch));
	launch.role = ROLE_grader;
	ck_assert(launch_judges(&launch));
	launch.has.of = false;
	ck_assert(!launch_judges(&launch));
}
END_TEST

START_TEST(a_plan_that_judges)
{
	struct plan *plan = NULL;

	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert(plan->judges && !plan->repository_writable && plan->answers.count == 0);
	plan_free(plan);
	fixture.launch.has.of = false;
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert(!plan->judges);
	plan_free(plan);
}
END_TEST

START_TEST(what_is_refused)
{
	fixture.launch.has.repository_mode = true;
	fixture.launch.repository_mode = MODE_rw;
	expect_refusal(&fixture, ERROR_refused, "repository_mode", "read-only");
	fixture.launch.repository_mode = MODE_ro;
	expect_plan(&fixture);
	fixture.launch.share_repository = true;
	expect_refusal(&fixture, ERROR_refused, "share_repository", "others write");
	fixture.launch.share_repository = false;
	fixture.launch.resume = "x";
	fixture.launch.harness = "codex";
	fixture.launch.has.command = false;
	expect_refusal(&fixture, ERROR_refused, "resume", "anew");
	fixture.launch.resume = fixture.launch.harness = NULL;
	fixture.launch.has.command = true;
	add_bind(&fixture, at(&fixture, "data"), NULL, "ro");
	expect_plan(&fixture);
	add_bind(&fixture, at(&fixture, "data"), "/data", "rw");
	expect_refusal(&fixture, ERROR_refused, "binds", "writes to nothing");
}
END_TEST

START_TEST(what_only_it_has)
{
	fixture.launch.has.outputs = fixture.launch.outputs = true;
	expect_plan(&fixture);
	fixture.launch.has.role = false;
	fixture.launch.has.of = false;
	expect_refusal(&fixture, ERROR_invalid, "outputs", "grader");
	fixture.launch.outputs = false;
	expect_plan(&fixture);
	fixture.launch.has.of = true;
	expect_refusal(&fixture, ERROR_invalid, "of", "session");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("grading");
	TCase *cases = tcase_create("launches");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, who_judges);
	tcase_add_test(cases, a_plan_that_judges);
	tcase_add_test(cases, what_is_refused);
	tcase_add_test(cases, what_only_it_has);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
