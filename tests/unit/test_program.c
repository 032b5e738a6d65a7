/* SPDX-License-Identifier: MIT */
#include "plan/program.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "plan/json_text.h"
#include "plan/program_ask.h"

static const struct {
	const char *json, *path, *text; /* NULL: see error */
	int error;
} jsons[] = {
	{"{\"version\":\"1.2.3\"}", "version", "1.2.3", 0},
	{" {\n\"a\" : [1, {\"version\": \"no\"}], \"b\": {}, \"version\" : \"1\" }", "version", "1",
	 0},
	{"{\"a\":{\"x\":\"no\",\"b\":{\"c\":\"yes\"}},\"c\":\"no\"}", "a.b.c", "yes", 0},
	{"{\"a.b\":\"no\",\"a\":{\"b\":\"yes\"}}", "a.b", "yes", 0},
	{"{\"x\":\"a\\\\\",\"version\":\"2\"}", "version", "2", 0},
	{"{\"x\":\"\\\"version\\\":\\\"no\\\"\",\"version\":\"2\"}", "version", "2", 0},
	{"{\"n\":-1.5e3,\"t\":true,\"version\":\"2\"}", "version", "2", 0},
	{"{\"version\":2}", "version", NULL, -ENOENT},
	{"{\"version\":\"1\\u002e2\"}", "version", NULL, -ENOENT},
	{"{\"version\":\"123456789\"}", "version", NULL, -ENOENT},
	{"{}", "version", NULL, -ENOENT},
	{"{\"a\":\"x\"}", "a.b", NULL, -ENOENT},
	{"{\"a\":{\"b\":\"x\"}}", "a", NULL, -ENOENT},
	{"", "a", NULL, -EBADMSG},
	{"[]", "a", NULL, -EBADMSG},
	{"{\"b\" \"x\"}", "a", NULL, -EBADMSG},
	{"{\"b\":\"x", "a", NULL, -EBADMSG},
	{"{\"b\":\"x\\", "a", NULL, -EBADMSG},
	{"{\"b\":[1,2", "a", NULL, -EBADMSG},
	{"{\"b\":,\"a\":\"x\"}", "a", NULL, -EBADMSG},
	{"{\"b\":1 \"a\":\"x\"}", "a", NULL, -EBADMSG},
};

START_TEST(a_text_of_json)
{
	size_t size = strlen(jsons[_i].json);
	char *exact = malloc(size + 1); /* without a NUL: a sanitizer sees one byte too many */
	char text[9] = "";
	int r;

	memcpy(exact, jsons[_i].json, size);
	exact = realloc(exact, size ? size : 1);
	r = json_text_find(exact, size, jsons[_i].path, text, sizeof(text));
	ck_assert_msg(r == jsons[_i].error, "%s gives %d", jsons[_i].json, r);
	if (jsons[_i].text)
		ck_assert_str_eq(text, jsons[_i].text);
	free(exact);
}
END_TEST

START_TEST(deep_json_is_refused)
{
	static char deep[4096] = "{\"b\":";
	char text[9];

	memset(deep + 5, '[', sizeof(deep) - 6);
	ck_assert_int_eq(json_text_find(deep, strlen(deep), "a", text, sizeof(text)), -EBADMSG);
}
END_TEST

static const struct {
	const char *name, *version;
} names[] = {
	{"2.1.328", "2.1.328"},
	{"grok-1.0.41-linux-x86_64", "1.0.41"},
	{"muse-bin-0.9", "0.9"},
	{"v22.19.0", "22.19.0"},
	{"node_modules", NULL},
	{"x86_64", NULL},
	{"claude", NULL},
	{"python3.11", NULL},
	{"1", NULL},
	{"release-1.2.", "1.2"},
	{"", NULL},
};

START_TEST(a_version_of_a_name)
{
	char *version = NULL;

	ck_assert_int_eq(program_version_of_name(names[_i].name, &version), 0);
	if (names[_i].version)
		ck_assert_str_eq(version, names[_i].version);
	else
		ck_assert_ptr_null(version);
	free(version);
}
END_TEST

static const struct {
	const char *text, *version;
} outputs[] = {
	{"2.1.328 (Claude Code)\n", "2.1.328"},
	{"codex-cli 0.169.0\n", "0.169.0"},
	{"warning: x is old\ngrok v1.0.41 (abc)\n", "1.0.41"},
	{"no version here 12\n", ""},
	{"", ""},
};

START_TEST(a_version_of_what_it_prints)
{
	char version[PROGRAM_VERSION_BYTES_MAX + 1];

	ck_assert_int_eq(program_version_of_text(outputs[_i].text, version), 0);
	ck_assert_str_eq(version, outputs[_i].version);
}
END_TEST

START_TEST(a_digest_is_known_by_its_stamp)
{
	char path[] = "/tmp/test_program.XXXXXX";
	struct programs_known *known = calloc(1, sizeof(*known));
	struct program_known one = {0};
	struct program_stamp other;
	int fd = mkstemp(path), path_fd;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "abc", 3), 3);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	ck_assert_int_eq(program_digest(path_fd, &one.stamp, one.digest), 0);
	ck_assert_str_eq(one.digest,
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	ck_assert_ptr_null(programs_find(known, &one.stamp));
	programs_learn(known, &one);
	ck_assert_str_eq(programs_find(known, &one.stamp)->digest, one.digest);
	ck_assert_int_eq(write(fd, "d", 1), 1);
	ck_assert_int_eq(program_stamp_of(path_fd, &other), 0);
	ck_assert_ptr_null(programs_find(known, &other));
	for (unsigned int i = 1; i <= PROGRAMS_KNOWN_MAX; i++) {
		struct program_known more = {.stamp = {.inode = i}};

		programs_learn(known, &more);
	}
	ck_assert_uint_eq(known->count, PROGRAMS_KNOWN_MAX);
	ck_assert_ptr_null(programs_find(known, &one.stamp));
	fd_close(path_fd);
	fd_close(fd);
	unlink(path);
	free(known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("program");
	TCase *cases = tcase_create("program");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(cases, a_text_of_json, 0, ARRAY_SIZE(jsons));
	tcase_add_test(cases, deep_json_is_refused);
	tcase_add_loop_test(cases, a_version_of_a_name, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(cases, a_version_of_what_it_prints, 0, ARRAY_SIZE(outputs));
	tcase_add_test(cases, a_digest_is_known_by_its_stamp);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
