/* SPDX-License-Identifier: MIT */
/* The reader of [Toolchain NAME]: what a section means, what is refused, and that a copy says the same. */
#include "base/toolchain.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char path[] = "/tmp/test_toolchain.XXXXXX";
static struct toolchain_list list;
static struct fault fault;

static int read_text(const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	toolchain_list_done(&list);
	fault_done(&fault);
	return toolchain_list_read(&list, path, &fault);
}

static void setup(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	toolchain_list_done(&list);
	fault_done(&fault);
}

static const char all[] = "# one\n"
			  "[Toolchain rust]\n"
			  "ReadOnly=-~/.rustup/*|/opt/rust  '/a b'\n"
			  "Environment=HOME_OF=%h 'A=%2 %%' B=\n"
			  "[Toolchain go]\n"
			  "Programs=go\n"
			  "[Toolchain rust]\n"
			  "ReadOnly=~/third\n"
			  "Path=-%3/bin|/usr/bin %2\n";

static void expect_rust(const struct toolchain *rust)
{
	ck_assert_uint_eq(rust->line, 2);
	ck_assert_str_eq(rust->file, path);
	ck_assert_uint_eq(rust->read_only.count, 3);
	ck_assert_str_eq(rust->read_only.items[0], "-~/.rustup/*|/opt/rust");
	ck_assert_str_eq(rust->read_only.items[1], "/a b");
	ck_assert_str_eq(rust->read_only.items[2], "~/third");
	ck_assert_uint_eq(rust->path.count, 2);
	ck_assert_str_eq(rust->path.items[0], "-%3/bin|/usr/bin");
	ck_assert_str_eq(rust->path.items[1], "%2");
	ck_assert_uint_eq(rust->programs.count, 0);
	ck_assert_str_eq(pair_list_get(&rust->environment, "HOME_OF"), "%h");
	ck_assert_str_eq(pair_list_get(&rust->environment, "A"), "%2 %%");
	ck_assert_str_eq(pair_list_get(&rust->environment, "B"), "");
}

START_TEST(sections_are_read)
{
	ck_assert_msg(read_text(all) == 0, "%s", fault.message);
	ck_assert_uint_eq(list.count, 2);
	expect_rust(toolchain_list_find(&list, "rust"));
	ck_assert_str_eq(toolchain_list_find(&list, "go")->programs.items[0], "go");
	ck_assert_ptr_null(toolchain_list_find(&list, "r"));
	ck_assert_int_eq(read_text(""), 0);
	ck_assert_uint_eq(list.count, 0);
	ck_assert_int_eq(toolchain_list_read(&list, "/nowhere/at/all", &fault), -ENOENT);
}
END_TEST

START_TEST(a_copy_says_the_same)
{
	struct toolchain_list copy;

	ck_assert_int_eq(read_text(all), 0);
	ck_assert_int_eq(toolchain_list_copy(&list, &copy), 0);
	ck_assert_uint_eq(copy.count, 2);
	expect_rust(&copy.items[0]);
	for (size_t i = 0; i < 2; i++)
		ck_assert(toolchain_equal(&list.items[i], &copy.items[i]));
	ck_assert(!toolchain_equal(&list.items[0], &copy.items[1]));
	ck_assert(!toolchain_equal(&list.items[0], NULL));
	ck_assert_int_eq(read_text("[Toolchain rust]\nReadOnly=/other\n"), 0);
	ck_assert(!toolchain_equal(&list.items[0], &copy.items[0]));
	toolchain_list_done(&copy);
}
END_TEST

START_TEST(it_is_written_as_it_is_read)
{
	struct toolchain_list before;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	ck_assert_int_eq(read_text(all), 0);
	before = list;
	list = (struct toolchain_list){0};
	file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	toolchain_list_print(&before, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_msg(read_text(text) == 0, "%s", fault.message);
	ck_assert_uint_eq(list.count, before.count);
	for (size_t i = 0; i < list.count; i++)
		ck_assert(toolchain_equal(&list.items[i], &before.items[i]));
	toolchain_list_done(&before);
	free(text);
}
END_TEST

/* text, and what the refusal says behind the file's name. */
static const struct {
	const char *text;
	const char *part;
} wrong[] = {
	{"[Daemon]\n", ":1: [Daemon]: a toolchain is [Toolchain NAME]"},
	{"[Toolchain Rust]\n", ":1: [Toolchain Rust]: a toolchain is"},
	{"[Toolchain -a]\n", ":1: [Toolchain -a]: a toolchain is"},
	{"[Toolchain ]\n", ":1: [Toolchain ]: a toolchain is"},
	{"[Toolchain a23456789012345678901234567890123]\n", "a toolchain is"},
	{"ReadOnly=~/a\n", ":1: ReadOnly: stands before the first [Section]"},
	{"[Toolchain a]\nReadonly=~/a\n",
	 ":2: Readonly: unknown key; this section has ReadOnly Environment Path Programs"},
	{"[Toolchain a]\nReadOnly=\n", ":2: ReadOnly: \"\" is not paths"},
	{"[Toolchain a]\nReadOnly=a\n", ":2: ReadOnly: \"a\" is not paths"},
	{"[Toolchain a]\nReadOnly=~\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=/\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=~/a/../b\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=~/a|\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=~/a|-~/b\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=-\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=%1/a\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly='~/a\n", ":2: ReadOnly: "},
	{"[Toolchain a]\nReadOnly=~/a\nPath=%0\n", ":3: Path: \"%0\" is not folders"},
	{"[Toolchain a]\nReadOnly=~/a\nPath=%1bin\n", ":3: Path: "},
	{"[Toolchain a]\nReadOnly=~/a\nPath=bin\n", ":3: Path: "},
	{"[Toolchain a]\nPath=/a:/b\n", ":2: Path: "},
	{"\n[Toolchain a]\nReadOnly=~/a\nPath=/b|%2/bin\n",
	 ":2: Path: [Toolchain a]: there is no word %2 of ReadOnly=, which has 1"},
	{"[Toolchain a]\nEnvironment=A=%1\n",
	 ":1: Environment: [Toolchain a]: there is no word %1"},
	{"[Toolchain a]\nEnvironment=A\n", ":2: Environment: \"A\" is not assignments"},
	{"[Toolchain a]\nEnvironment==x\n", ":2: Environment: "},
	{"[Toolchain a]\nEnvironment=A=%x\n", ":2: Environment: "},
	{"[Toolchain a]\nEnvironment=HOME=/\n", ":2: Environment: "},
	{"[Toolchain a]\nEnvironment=PATH=/\n", ":2: Environment: "},
	{"[Toolchain a]\nPrograms=/bin/sh\n", ":2: Programs: "},
	{"[Toolchain a]\nPrograms=-x\n", ":2: Programs: "},
	{"\n[Toolchain a]\n[Toolchain b]\nPrograms=x\n", ":2: [Toolchain a]: it says nothing"},
};

START_TEST(what_is_wrong_is_named)
{
	const char *text = wrong[_i].text;

	ck_assert_msg(read_text(text) == FAULT, "accepted: %s", text);
	ck_assert_int_eq(strncmp(fault.message, path, strlen(path)), 0);
	ck_assert_msg(strstr(fault.message, wrong[_i].part) != NULL, "%s: %s", text, fault.message);
	ck_assert_ptr_nonnull(strstr(fault.hint, "trialsd.conf(5)"));
	ck_assert_uint_eq(list.count, 0);
}
END_TEST

/* start, and behind it count numbers, each between before and after. */
static int read_many(const char *start, const char *before, const char *after, size_t count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int r;

	fputs(start, file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s%zu%s", before, i, after);
	ck_assert_int_eq(fclose(file), 0);
	r = read_text(text);
	free(text);
	return r;
}

START_TEST(there_is_an_end_to_it)
{
	ck_assert_int_eq(read_many("", "[Toolchain t", "]\nPrograms=x\n", TOOLCHAINS_MAX), 0);
	ck_assert_int_eq(read_many("", "[Toolchain t", "]\nPrograms=x\n", TOOLCHAINS_MAX + 1),
			 FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "more than 64 toolchains"));
	ck_assert_int_eq(read_many("[Toolchain a]\n", "ReadOnly=~/", "\n", TOOLCHAIN_ENTRIES_MAX),
			 0);
	ck_assert_int_eq(read_many("[Toolchain a]\n", "ReadOnly=~/", "\n",
				   TOOLCHAIN_ENTRIES_MAX + 1),
			 FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, ":34: ReadOnly: more than 32 entries"));
	ck_assert_int_eq(read_many("[Toolchain a]\n", "Environment=A", "=\n",
				   TOOLCHAIN_ENTRIES_MAX + 1),
			 FAULT);
	ck_assert_int_eq(read_many("[Toolchain a]\nReadOnly=/x", "|/", "",
				   TOOLCHAIN_ALTERNATIVES_MAX - 1),
			 0);
	ck_assert_int_eq(read_many("[Toolchain a]\nReadOnly=/x", "|/", "",
				   TOOLCHAIN_ALTERNATIVES_MAX),
			 FAULT);
}
END_TEST

START_TEST(those_that_are_shipped_are_right)
{
	static const char *const names[] = {"rust", "node", "python", "go", "java"};
	const char *top = getenv("TOP");
	char file[4096];

	snprintf(file, sizeof(file), "%s/daemon/toolchains.conf", top ? top : ".");
	ck_assert_msg(toolchain_list_read(&list, file, &fault) == 0, "%s: %s", file,
		      fault.message ? fault.message : "not there");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct toolchain *toolchain = toolchain_list_find(&list, names[i]);

		ck_assert_ptr_nonnull(toolchain);
		ck_assert_uint_gt(toolchain->programs.count, 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("toolchain");
	TCase *cases = tcase_create("reader");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, sections_are_read);
	tcase_add_test(cases, a_copy_says_the_same);
	tcase_add_test(cases, it_is_written_as_it_is_read);
	tcase_add_loop_test(cases, what_is_wrong_is_named, 0, (int)ARRAY_SIZE(wrong));
	tcase_add_test(cases, there_is_an_end_to_it);
	tcase_add_test(cases, those_that_are_shipped_are_right);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
