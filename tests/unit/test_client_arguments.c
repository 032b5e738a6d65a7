/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/bind.h"
#include "client/since.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *text;
	const char *expected; /* as sorted JSON; NULL: refused */
} binds[] = {
	{"/a", "{\"source\":\"/a\"}"},
	{"/a:ro", "{\"mode\":\"ro\",\"source\":\"/a\"}"},
	{"/a:rw", "{\"mode\":\"rw\",\"source\":\"/a\"}"},
	{"/a:optional", "{\"optional\":true,\"source\":\"/a\"}"},
	{"/a:rw:optional", "{\"mode\":\"rw\",\"optional\":true,\"source\":\"/a\"}"},
	{"/a:/b", "{\"destination\":\"/b\",\"source\":\"/a\"}"},
	{"/a:/b:ro:optional",
	 "{\"destination\":\"/b\",\"mode\":\"ro\",\"optional\":true,\"source\":\"/a\"}"},
	{"/a\\:b", "{\"source\":\"/a:b\"}"},
	{"/a\\:ro", "{\"source\":\"/a:ro\"}"},
	{"/a\\:ro:rw", "{\"mode\":\"rw\",\"source\":\"/a:ro\"}"},
	{"/a:/b\\:optional", "{\"destination\":\"/b:optional\",\"source\":\"/a\"}"},
	{"/a\\b", "{\"source\":\"/a\\\\b\"}"},
	{"/a b\nc", "{\"source\":\"/a b\\nc\"}"},
	{"/ro:/rw", "{\"destination\":\"/rw\",\"source\":\"/ro\"}"},
	{"-rf", "{\"source\":\"/HERE/-rf\"}"},
	{"ro", "{\"source\":\"/HERE/ro\"}"},
	{"optional:rw", "{\"mode\":\"rw\",\"source\":\"/HERE/optional\"}"},
	{".", "{\"source\":\"/HERE\"}"},
	{"./x", "{\"source\":\"/HERE/x\"}"},
	{".//./x", "{\"source\":\"/HERE/x\"}"},
	{"./", "{\"source\":\"/HERE\"}"},
	{"..", "{\"source\":\"/HERE/..\"}"},
	{".x", "{\"source\":\"/HERE/.x\"}"},
	{"\\:", "{\"source\":\"/HERE/:\"}"},
	{"/a\xff", "{\"source\":{\"base64\":\"L2H/\"}}"},
	{"", NULL},
	{":ro", NULL},
	{"/a:", NULL},
	{"/a:b", NULL},
	{"/a:RO", NULL},
	{"/a:/b:/c", NULL},
	{"/a:/b:ro:rw", NULL},
	{"/a:optional:ro", NULL},
	{"/a:/b:ro:ro", NULL},
};

/* The test's own folder stands as /HERE in the table. */
static char *expect(const char *pattern, const char *folder)
{
	const char *here = strstr(pattern, "/HERE");
	char *text;

	if (!here)
		return strdup(pattern);
	ck_assert_int_ge(asprintf(&text, "%.*s%s%s", (int)(here - pattern), pattern, folder,
				  here + strlen("/HERE")),
			 0);
	return text;
}

START_TEST(bind_text)
{
	char *folder = get_current_dir_name();
	struct trials_error error = {0};
	json_t *bind = NULL;
	int r = parse_bind(binds[_i].text, &bind, &error);

	if (!binds[_i].expected) {
		ck_assert_int_eq(r, -EINVAL);
		ck_assert_ptr_null(bind);
		ck_assert_str_ne(error.message, "");
	} else {
		char *expected = expect(binds[_i].expected, folder);
		char *text;

		ck_assert_msg(r == 0, "%s: %s", binds[_i].text, error.message);
		text = json_dumps(bind, JSON_COMPACT | JSON_SORT_KEYS);
		ck_assert_str_eq(text, expected);
		free(expected);
		free(text);
		json_decref(bind);
	}
	free(folder);
}
END_TEST

static const struct {
	const char *text, *path, *mode;
} repositories[] = {
	{"/r", "/r", NULL},
	{"/r:ro", "/r", "ro"},
	{"/r:rw", "/r", "rw"},
	{"/r\\:ro", "/r:ro", NULL},
	{"/a:b", "/a:b", NULL},
	{"/a:b:rw", "/a:b", "rw"},
	{"/r:optional", "/r:optional", NULL},
};

START_TEST(repository_text)
{
	struct trials_error error;
	const char *mode;
	char *path;

	ck_assert_int_eq(parse_repository(repositories[_i].text, &path, &mode, &error), 0);
	ck_assert_str_eq(path, repositories[_i].path);
	ck_assert_pstr_eq(mode, repositories[_i].mode);
	free(path);
}
END_TEST

START_TEST(repository_empty)
{
	struct trials_error error;
	const char *mode;
	char *path;

	ck_assert_int_eq(parse_repository("", &path, &mode, &error), -EINVAL);
	ck_assert_int_eq(parse_repository(":ro", &path, &mode, &error), -EINVAL);
}
END_TEST

#define NOW 1740823200000000ull /* 2025-03-01 10:00 UTC */
#define SECOND 1000000ull

static const struct {
	const char *text;
	int expected;
	uint64_t moment;
} moments[] = {
	{"2h", 0, NOW - 7200 * SECOND},
	{"90", 0, NOW - 90 * SECOND},
	{"0", 0, NOW},
	{"365d", 0, NOW - 365ull * 86400 * SECOND},
	{"2025-03-01", 0, NOW - 36000 * SECOND - 3600 * SECOND},
	{"2025-03-01T10:00", 0, NOW - 3600 * SECOND},
	{"2025-03-01 10:00:30", 0, NOW - 3570 * SECOND},
	{"2025-03-01T10:00Z", 0, NOW},
	{"2025-03-01 10:00:00Z", 0, NOW},
	{"2025-03-01 12:00:00 +0200", 0, NOW},
	{"2025-03-01T12:00:00+02:00", 0, NOW},
	{"2025-03-01T06:30:00-03:30", 0, NOW},
	{"2025-07-01T12:00", 0, 1751364000ull * SECOND}, /* in summer time */
	{"1970-01-01T00:00Z", 0, 0},
	{"1970-01-01T00:00+01:00", -ERANGE, 0},
	{"2025-02-30", -EINVAL, 0},
	{"2025-13-01", -EINVAL, 0},
	{"2025-03-01T24:00", -EINVAL, 0},
	{"2025-03-01T10", -EINVAL, 0},
	{"2025-03-01T10:00x", -EINVAL, 0},
	{"2025-03-01x", -EINVAL, 0},
	{"2025-3-1", -EINVAL, 0},
	{"yesterday", -EINVAL, 0},
	{"-2h", -EINVAL, 0},
	{"", -EINVAL, 0},
};

START_TEST(since)
{
	uint64_t moment = 0;

	/* An hour east of UTC, and two in summer. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	ck_assert_int_eq(parse_since(moments[_i].text, NOW, &moment), moments[_i].expected);
	if (moments[_i].expected == 0)
		ck_assert_uint_eq(moment, moments[_i].moment);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client arguments");
	TCase *test_case = tcase_create("arguments");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(test_case, bind_text, 0, COUNT(binds));
	tcase_add_loop_test(test_case, repository_text, 0, COUNT(repositories));
	tcase_add_test(test_case, repository_empty);
	tcase_add_loop_test(test_case, since, 0, COUNT(moments));
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
