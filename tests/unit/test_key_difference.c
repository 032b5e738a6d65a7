/* SPDX-License-Identifier: MIT */

/* In what two launches of one key differ: each key of a launch is named, no value of a variable is told. */
#include "queue/key_difference.h"
#include "sample.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void expect(const struct launch_request *was, const struct launch_request *is,
		   const char *text)
{
	_cleanup_free_ char *told = key_difference(was, is);

	ck_assert_ptr_nonnull(told);
	ck_assert_str_eq(told, text);
}

/* Takes away the field of that number. */
static void leave_out(struct launch_request *launch, size_t i)
{
	const struct message_type *type = &launch_request_type;
	size_t from = type->fields[i].offset;
	size_t to = i + 1 < type->count ? type->fields[i + 1].offset : type->size;

	memset((char *)launch + from, 0, to - from);
	*(bool *)((char *)launch + type->fields[i].has_offset) = false;
}

START_TEST(each_key_is_named)
{
	struct sample *sample = sample_new(7);
	struct launch_request all, less;

	sample_fill(sample, &launch_request_type, true, &all);
	expect(&all, &all, "its prompt is another");
	for (size_t i = 0; i < launch_request_type.count; i++) {
		const struct field *field = &launch_request_type.fields[i];
		_cleanup_free_ char *lost = NULL, *new = NULL;

		less = all;
		leave_out(&less, i);
		lost = key_difference(&all, &less);
		new = key_difference(&less, &all);
		ck_assert_ptr_nonnull(lost);
		ck_assert_ptr_nonnull(new);
		if (field->type == FIELD_BLOB) {
			ck_assert_str_eq(lost, "its prompt is another");
			continue;
		}
		ck_assert_msg(strncmp(lost, field->name, strlen(field->name)) == 0, "%s: %s",
			      field->name, lost);
		ck_assert_msg(strncmp(new, field->name, strlen(field->name)) == 0, "%s: %s",
			      field->name, new);
		ck_assert_msg(strstr(new, "absent") || strstr(new, "was not set, and is"), "%s",
			      new);
	}
	sample_free(sample);
}
END_TEST

START_TEST(words)
{
	const char *commands[] = {"make", "a b", NULL}, *others[] = {"make", "it's", NULL};
	struct pair labels[] = {{"team", "blue"}, {"run", "1"}};
	struct pair turned[] = {{"run", "1"}, {"team", "blue"}}, red[] = {{"team", "red"}};
	struct bind_spec one = {.source = "/a"}, two = {.source = "/b", .has.optional = true};
	struct launch_request was = {
		.command = {2, commands},
		.model = "a",
		.labels = {2, labels},
		.binds = {1, &one},
		.has = {.network = true, .limits = true, .priority = true},
		.network = NETWORK_none,
		.limits = {.has.memory = true, .memory = 1024},
		.priority = -3,
	};
	struct launch_request is = was;

	is.model = "b";
	expect(&was, &is, "model was a, and is b");
	expect(&is, &was, "model was b, and is a");
	is = was, is.command.items = others;
	expect(&was, &is, "command was make 'a b', and is make 'it'\\''s'");
	is = was, is.network = NETWORK_host, is.priority = 4;
	expect(&was, &is, "network was none, and is host; priority was -3, and is 4");
	is = was, is.limits.memory = 2048, is.limits.has.wall_seconds = true;
	is.limits.wall_seconds = 0.5;
	expect(&was, &is,
	       "limits.wall_seconds was absent, and is 0.5; limits.memory was 1024, and is 2048");
	is = was, is.binds.items = &two, two.optional = true;
	expect(&was, &is,
	       "binds[0].source was /a, and is /b; binds[0].optional was absent, and is true");
	is = was, is.binds = (struct bind_list){0};
	expect(&was, &is, "binds[0] was /a, and is absent");
	is = was, is.labels = (struct pair_list){1, red};
	expect(&was, &is, "labels.team was blue, and is red; labels.run was 1, and is absent");
	is = was, is.labels.items = turned;
	expect(&was, &is, "labels is in another order");
	is = was, is.model = "b", is.effort = "low", is.key = "k", is.cwd = "/a", is.seat = "s";
	expect(&was, &is,
	       "cwd was absent, and is /a; key was absent, and is k; model was a, and is b; "
	       "and 2 more");
}
END_TEST

START_TEST(variables_are_named_alone)
{
	struct pair one[] = {{"PLAIN", "hidden-1"}, {"GONE", "hidden-2"}};
	struct pair two[] = {{"PLAIN", "hidden-3"}, {"NEW", "hidden-4"}};
	struct launch_request was = {.environment = {2, one}}, is = {.environment = {2, two}};

	expect(&was, &is,
	       "environment.PLAIN has another value; environment.GONE was set, and is not; "
	       "environment.NEW was not set, and is");
}
END_TEST

/* Of a long value it is the part that differs, bounded; nothing of it can make a line or move a cursor. */
START_TEST(long_values)
{
	char long_one[4096], long_two[4096];
	struct launch_request was = {.model = long_one}, is = {.model = long_two};
	_cleanup_free_ char *told = NULL;

	memset(long_one, 'x', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	memcpy(long_two, long_one, sizeof(long_two));
	memcpy(long_one + 3000, "HERE\n", 5);
	memcpy(long_two + 3000, "THERE", 5);
	told = key_difference(&was, &is);
	ck_assert_ptr_nonnull(told);
	ck_assert_uint_lt(strlen(told), 400);
	ck_assert_ptr_nonnull(strstr(told, "xHERE\\nx"));
	ck_assert_ptr_nonnull(strstr(told, "xTHEREx"));
	ck_assert_ptr_null(strchr(told, '\n'));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("key_difference");
	TCase *tests = tcase_create("key_difference");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, each_key_is_named);
	tcase_add_test(tests, words);
	tcase_add_test(tests, variables_are_named_alone);
	tcase_add_test(tests, long_values);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
