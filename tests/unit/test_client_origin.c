/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>

#include "client/origin.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *message;
	const char *expected; /* NULL: unchanged */
} messages[] = {
	{"limits.tasks: 0 is too small", "--tasks: 0 is too small"},
	{"limits.taskset: no", NULL},
	{"limits.tmp and limits.home: 2.0G do not fit below limits.memory of 1.0G",
	 "--tmp and --home: 2.0G do not fit below limits.memory of 1.0G"},
	{"role: not this", "--role: not this"},
	{"the role: not this", NULL},
	{"roles: not this", NULL},
	{"role", "--role"},
	{"environment.HOME: no", "--env HOME: no"},
	{"environment.HOMER: no", NULL},
	{"environment: too many", "--env: too many"},
	{"binds[1].source: does not exist", "--bind a:/b: does not exist"},
	{"binds[1]: its destination /b is that of binds[0] too",
	 "--bind a:/b: its destination /b is that of binds[0] too"},
	{"binds[11]: no", NULL},
	{"/limits.tasks: no", NULL},
	{"grace_seconds: twice", "--grace 2: twice"},
	{"", NULL},
};

START_TEST(message)
{
	struct origins origins = {0};
	char *text;

	origins_add(&origins, "limits.tasks", "--tasks");
	origins_add(&origins, "limits.tmp", "--tmp");
	origins_add(&origins, "limits.home", "--home");
	origins_add(&origins, "role", "--role");
	origins_add(&origins, "environment", "--env");
	origins_add(&origins, "environment.HOME", "--env HOME");
	origins_add(&origins, "binds[1]", "--bind a:/b");
	origins_add(&origins, "grace_seconds", "--grace 1");
	origins_add(&origins, "grace_seconds", "--grace 2");
	text = origins_rewrite(&origins, messages[_i].message);
	ck_assert_str_eq(text,
			 messages[_i].expected ? messages[_i].expected : messages[_i].message);
	free(text);
	origins_done(&origins);
	text = origins_rewrite(&origins, messages[_i].message);
	ck_assert_str_eq(text, messages[_i].message);
	free(text);
}
END_TEST

/* Of a file that has become one key of the request. */
START_TEST(within)
{
	static const char *const pairs[][2] = {
		{"spec.votes: takes a number", "votes: takes a number"},
		{"spec.seats[0].model: takes a string", "seats[0].model: takes a string"},
		{"spec.files[1].mode: no", "files: notes: mode: no"},
		{"spec.standard: is empty", "standard_file: is empty"},
		{"spec: takes a map", "FILE: takes a map"},
		{"votes: spec.votes is said in the file", "votes: spec.votes is said in the file"},
		{"spec.: no", "spec.: no"},
		{"specs.votes: no", "specs.votes: no"},
		{"/home/spec.json: no", "/home/spec.json: no"},
	};
	struct origins origins = {.within = "spec"};

	origins_add(&origins, "spec", "FILE");
	origins_add(&origins, "standard", "standard_file");
	origins_add(&origins, "spec.files[1].mode", "files: notes: mode");
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *text = origins_rewrite(&origins, pairs[i][0]);

		ck_assert_str_eq(text, pairs[i][1]);
		free(text);
	}
	origins_done(&origins);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client origin");
	TCase *test_case = tcase_create("origin");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(test_case, message, 0, COUNT(messages));
	tcase_add_test(test_case, within);
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
