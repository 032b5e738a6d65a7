/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/command.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* What a line means, told as "name=value" for each option and the operands behind a bar. */
static void describe(const struct arguments *arguments, char *text, size_t size)
{
	size_t length = 0;

	text[0] = 0;
	for (size_t i = 0; i < arguments->given_count; i++)
		length += (size_t)snprintf(text + length, size - length, "%s=%s ",
					   arguments->given[i].option->name,
					   arguments->given[i].value);
	length += (size_t)snprintf(text + length, size - length, "|");
	for (size_t i = 0; i < arguments->operand_count; i++)
		length += (size_t)snprintf(text + length, size - length, " %s",
					   arguments->operands[i]);
}

static int parse(const char *const *words, char *text, size_t size, struct trials_error *error)
{
	struct arguments arguments;
	size_t used;
	int r;

	r = options_parse_global(words, &arguments, &used, error);
	if (r >= 0) {
		const struct command *command = command_find(words[used]);

		ck_assert_ptr_nonnull(command);
		r = options_parse(command, words + used + 1, &arguments, error);
		if (r >= 0)
			describe(&arguments, text, size);
	}
	arguments_done(&arguments);
	return r;
}

static const struct {
	const char *words[12];
	const char *expected;
} good[] = {
	{{"list"}, "|"},
	{{"show", "7"}, "| 7"},
	{{"show", "--plan", "7"}, "plan= | 7"},
	{{"show", "7", "--plan"}, "plan= | 7"},
	{{"show", "--", "7"}, "| 7"},
	{{"wait", "1", "--json", "2"}, "json= | 1 2"},
	{{"--socket", "/s", "wait", "1"}, "socket=/s | 1"},
	{{"--socket=/s", "--json", "wait", "1"}, "socket=/s json= | 1"},
	{{"wait", "1", "--socket", "--"}, "socket=-- | 1"},
	{{"logs", "-f", "3"}, "follow= | 3"},
	{{"logs", "3", "-f", "--tail", "9"}, "follow= tail=9 | 3"},
	{{"list", "--label", "a=b", "--label=c=d"}, "label=a=b label=c=d |"},
	{{"list", "--state=", "--state=queued"}, NULL},
	{{"launch", "true"}, "| true"},
	{{"launch", "--wait", "sh", "-c", "x", "--wait"}, "wait= | sh -c x --wait"},
	{{"launch", "--", "--wait", "-f"}, "| --wait -f"},
	{{"launch", "a", "--", "b"}, "| a -- b"},
	{{"launch", "-", "b"}, "| - b"},
	{{"launch", "--env", "--", "--", "x"}, "env=-- | x"},
	{{"launch", "-f", "x"}, "follow= | x"},
	{{"launch", "--prompt", "", "x"}, "prompt= | x"},
	{{"show", "-h"}, "help= |"},
	{{"help", "launch"}, "| launch"},
};

START_TEST(accepted)
{
	struct trials_error error = {0};
	char text[256];
	int r = parse(good[_i].words, text, sizeof(text), &error);

	if (!good[_i].expected) {
		ck_assert_int_eq(r, -EINVAL);
		return;
	}
	ck_assert_msg(r == 0, "%s", error.message);
	ck_assert_str_eq(text, good[_i].expected);
}
END_TEST

static const struct {
	const char *words[8];
	const char *message;
} bad[] = {
	{{"--nonsense", "list"}, "there is no option --nonsense"},
	{{"--socket"}, "--socket needs a value: --socket PATH"},
	{{"--state", "queued", "list"}, "there is no option --state"},
	{{"list", "--stat", "queued"}, "there is no option --stat"},
	{{"list", "--state"}, "--state needs a value: --state STATE"},
	{{"list", "--json=yes"}, "--json takes no value"},
	{{"list", "-x"}, "there is no option -x"},
	{{"logs", "-fx", "1"}, "there is no option -x"},
	{{"list", "--state", "dead"},
	 "--state takes one of: queued held leasing starting running ending ended; not \"dead\""},
	{{"list", "--state", "queue"},
	 "--state takes one of: queued held leasing starting running ending ended; not \"queue\""},
	{{"list", "1"}, "too many operands: \"1\""},
	{{"show", "1", "2"}, "too many operands: \"2\""},
	{{"show"}, "ID is missing"},
	{{"wait"}, "ID... is missing"},
	{{"help", "a", "b"}, "too many operands: \"b\""},
	{{"launch", "--network", "bridge", "x"},
	 "--network takes one of: none host allowlist; not \"bridge\""},
};

START_TEST(refused)
{
	struct trials_error error = {0};
	char text[256];

	ck_assert_int_eq(parse(bad[_i].words, text, sizeof(text), &error), -EINVAL);
	ck_assert_str_eq(error.message, bad[_i].message);
	ck_assert_str_eq(error.code, "usage");
}
END_TEST

START_TEST(last_value_counts)
{
	const char *const words[] = {"--limit", "1", "--limit", "2", NULL};
	struct arguments arguments = {0};
	struct trials_error error;

	ck_assert_int_eq(options_parse(command_find("list"), words, &arguments, &error), 0);
	ck_assert_str_eq(arguments_value(&arguments, "limit"), "2");
	ck_assert(!arguments_given(&arguments, "state"));
	arguments_done(&arguments);
}
END_TEST

/* The tables themselves: what parsing and help take for granted. */
START_TEST(tables)
{
	for (const struct command *const *command = commands; *command; command++) {
		ck_assert_ptr_eq(command_find((*command)->name), *command);
		ck_assert_ptr_nonnull((*command)->run);
		ck_assert_ptr_nonnull((*command)->synopsis);
		ck_assert_ptr_nonnull((*command)->summary);
		for (const struct option *option = (*command)->options; option && option->name;
		     option++) {
			ck_assert_ptr_nonnull(option->help);
			for (const struct option *other = global_options; other->name; other++) {
				ck_assert_str_ne(option->name, other->name);
				ck_assert(!option->letter || option->letter != other->letter);
			}
			for (const struct option *other = option + 1; other->name; other++)
				ck_assert_str_ne(option->name, other->name);
			if (option->words)
				ck_assert_int_eq(option->words[strlen(option->words) - 1], ' ');
		}
	}
}
END_TEST

static const struct {
	const char *text;
	uint64_t max;
	int expected;
	uint64_t value;
} numbers[] = {
	{"0", 10, 0, 0},
	{"10", 10, 0, 10},
	{"11", 10, -ERANGE, 0},
	{"5", 4, -ERANGE, 0},
	{"007", 10, 0, 7},
	{"9223372036854775807", INT64_MAX, 0, INT64_MAX},
	{"9223372036854775808", INT64_MAX, -ERANGE, 0},
	{"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
	{"18446744073709551616", UINT64_MAX, -ERANGE, 0},
	{"", 10, -EINVAL, 0},
	{"-1", 10, -EINVAL, 0},
	{"+1", 10, -EINVAL, 0},
	{" 1", 10, -EINVAL, 0},
	{"1x", 10, -EINVAL, 0},
	{"0x1", 10, -EINVAL, 0},
};

START_TEST(number)
{
	uint64_t value = 0;

	ck_assert_int_eq(parse_unsigned(numbers[_i].text, numbers[_i].max, &value),
			 numbers[_i].expected);
	if (numbers[_i].expected == 0)
		ck_assert_uint_eq(value, numbers[_i].value);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client options");
	TCase *test_case = tcase_create("options");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(test_case, accepted, 0, COUNT(good));
	tcase_add_loop_test(test_case, refused, 0, COUNT(bad));
	tcase_add_test(test_case, last_value_counts);
	tcase_add_test(test_case, tables);
	tcase_add_loop_test(test_case, number, 0, COUNT(numbers));
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
