/* SPDX-License-Identifier: MIT */
#include "plan_golden.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "plan/grading.h"
static struct plan_fixture fixture;

static void setup(void)
{
	fixture_init(&fixture);
	free(fixture.host.user);
	fixture.host.user = strdup("@USER@");
	make_folder(at(&fixture, "repo/sub"));
	make_folder(at(&fixture, "build"));
	make_folder(at(&fixture, "home/skills"));
	make_folder(at(&fixture, "data"));
}

static void teardown(void)
{
	fixture_done(&fixture);
}

static void compare(const char *name)
{
	struct plan *plan = NULL;
	int r = build(&fixture, &plan);

	ck_assert_msg(r == 0, "%s", fixture.fault.message ? fixture.fault.message : "");
	plan_golden_compare(&fixture, plan, name);
	plan_free(plan);
}

START_TEST(least)
{
	compare("least");
}
END_TEST

START_TEST(trial)
{
	make_link(at(&fixture, "lnk"), at(&fixture, "repo"));
	fixture.launch.repository = at(&fixture, "lnk");
	fixture.launch.cwd = at(&fixture, "lnk/sub");
	fixture.launch.build = at(&fixture, "build");
	fixture.launch.skills = at(&fixture, "home/skills");
	add_bind(&fixture, at(&fixture, "data"), "/data", "ro");
	add_bind(&fixture, at(&fixture, "repo/sub"), NULL, "rw"); /* there already */
	add_bind(&fixture, at(&fixture, "missing"), "/opt/missing", "optional");
	fixture.variables[0] = (struct pair){"CI", "1"};
	fixture.launch.environment.count = 1;
	fixture.launch.limits.has.memory = true;
	fixture.launch.limits.memory = 1u << 30;
	fixture.command[1] = "-rf";
	fixture.launch.command.count = 2;
	compare("trial");
}
END_TEST

START_TEST(grader)
{
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.role = true;
	fixture.launch.role = ROLE_grader;
	compare("grader");
}
END_TEST

START_TEST(grader_of_a_trial)
{
	struct grading grading = {.bar = "It must build.\n", .bar_size = 15};

	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.role = fixture.launch.has.of = true;
	fixture.launch.role = ROLE_grader;
	fixture.launch.of = 7;
	fixture.launch.outputs = fixture.launch.has.outputs = true;
	/* It cannot be told another place. */
	fixture.variables[0] = (struct pair){"TRIALS_STDOUT", "mine"};
	fixture.launch.environment.count = 1;
	make_file(at(&fixture, "state/out"), "o");
	make_file(at(&fixture, "state/err"), "e");
	grading.outputs[0] = open(at(&fixture, "state/out"), O_PATH | O_CLOEXEC);
	grading.outputs[1] = open(at(&fixture, "state/err"), O_PATH | O_CLOEXEC);
	fixture.grading = &grading;
	compare("grader-of");
	fixture.grading = NULL;
	fd_close(grading.outputs[0]);
	fd_close(grading.outputs[1]);
}
END_TEST

START_TEST(network_host)
{
	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_host;
	compare("network-host");
}
END_TEST

START_TEST(allowlist)
{
	const char *hosts[] = {"registry.example", "*.cdn.example:8443"};

	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_allowlist;
	fixture.launch.hosts = (struct text_list){.count = 2, .items = hosts};
	fixture.variables[0] = (struct pair){"NO_PROXY", "mine"};
	fixture.launch.environment.count = 1;
	compare("allowlist");
}
END_TEST

START_TEST(odd_paths)
{
	make_folder(at(&fixture, "-rf"));
	make_folder(at(&fixture, "new\nline"));
	fixture.launch.repository = at(&fixture, "new\nline");
	add_bind(&fixture, at(&fixture, "-rf"), NULL, "rw");
	add_bind(&fixture, at(&fixture, "data"), "/var/tmp/-x", "ro");
	compare("odd-paths");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_golden");
	TCase *plans = tcase_create("plans");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(plans, setup, teardown);
	tcase_add_test(plans, least);
	tcase_add_test(plans, trial);
	tcase_add_test(plans, grader);
	tcase_add_test(plans, grader_of_a_trial);
	tcase_add_test(plans, network_host);
	tcase_add_test(plans, allowlist);
	tcase_add_test(plans, odd_paths);
	suite_add_tcase(suite, plans);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
