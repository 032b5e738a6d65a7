/* SPDX-License-Identifier: MIT */
#include "plan/endpoint.h"

#include <check.h>
#include <string.h>

static const char *internal[] = {"plain.example:8080"};
static const struct config config = {.internal = {.count = 1, .items = internal}};
static const struct plan_host host = {.config = &config};

START_TEST(value_of_a_variable)
{
	struct pair pairs[] = {{"URL", "https://a.example"}, {"EMPTY", ""}};
	const struct pair_list environment = {.count = ARRAY_SIZE(pairs), .items = pairs};

	ck_assert_str_eq(endpoint_value(&environment, "URL"), "https://a.example");
	ck_assert_ptr_null(endpoint_value(&environment, "EMPTY"));
	ck_assert_ptr_null(endpoint_value(&environment, "OTHER"));
	ck_assert_ptr_null(endpoint_value(&environment, NULL));
}
END_TEST

/* What it comes to: a rule, a code with words of the message, or nothing. */
static const struct {
	const char *endpoint;
	const char *rule, *lenient_rule;
	enum error_code code;
	const char *words;
} cases[] = {
	{"https://a.example/v1", "a.example", "a.example", ERROR_internal, NULL},
	{"https://A.Example:8443", "a.example:8443", "a.example:8443", ERROR_internal, NULL},
	{"http://plain.example:8080/x", "plain.example:8080", "plain.example:8080", ERROR_internal,
	 NULL},
	{"http://plain.example/x", NULL, "plain.example:80", ERROR_refused, "Internal="},
	{"http://a.example", NULL, "a.example:80", ERROR_refused, "Internal="},
	{"a.example", NULL, NULL, ERROR_invalid, "https://"},
	{"https://", NULL, NULL, ERROR_invalid, "no host"},
	{"https://*.example", NULL, NULL, ERROR_invalid, "no host"},
	{"https://me:pass@a.example", NULL, NULL, ERROR_invalid, "password"},
};

START_TEST(hosts)
{
	for (int lenient = 0; lenient <= 1; lenient++) {
		const char *rule = lenient ? cases[_i].lenient_rule : cases[_i].rule;
		_cleanup_(text_list_done) struct text_list list = {0};
		_cleanup_fault_ struct fault fault = FAULT_INIT;
		int r = endpoint_add_host(&list, &host, "field", cases[_i].endpoint, lenient,
					  &fault);

		ck_assert_int_eq(r, rule || lenient ? 0 : FAULT);
		ck_assert_uint_eq(list.count, rule ? 1 : 0);
		if (rule)
			ck_assert_str_eq(list.items[0], rule);
		if (r == 0)
			continue;
		ck_assert_int_eq(fault.code, cases[_i].code);
		ck_assert(strncmp(fault.message, "field: ", 7) == 0);
		ck_assert(strstr(fault.message, cases[_i].words) ||
			  (fault.hint && strstr(fault.hint, cases[_i].words)));
	}
}
END_TEST

START_TEST(each_once)
{
	_cleanup_(text_list_done) struct text_list list = {0};
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(endpoint_add_host(&list, &host, "field", "https://a.example/",
						   false, &fault),
				 0);
	ck_assert_uint_eq(list.count, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("endpoint");
	TCase *all = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(all, value_of_a_variable);
	tcase_add_loop_test(all, hosts, 0, ARRAY_SIZE(cases));
	tcase_add_test(all, each_once);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
