/* SPDX-License-Identifier: MIT */

/* What is in a folder of ours, and files that come into it whole. */
#include "base/file.h"
#include "base/folder.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"

static char folder[64];
static int folder_fd;

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/test_folder.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder_fd, 0);
}

static void teardown(void)
{
	char command[256];

	close(folder_fd);
	snprintf(command, sizeof(command), "chmod -R u+w '%s'; rm -rf '%s'", folder, folder);
	ck_assert_int_eq(system(command), 0);
}

static int take(void *context, const char *name)
{
	struct text_list *names = context;

	return names->count == 3 ? 7 : text_list_add(names, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "name name", in order. */
static const char *listed(int wanted)
{
	struct text_list names = {0};
	static char text[256];
	size_t at = 0;
	int r;

	errno = 0;
	r = folder_each(folder_fd, take, &names);
	ck_assert_int_eq(r, wanted);
	if (names.count > 0)
		qsort(names.items, names.count, sizeof(*names.items), by_name);
	text[0] = '\0';
	for (size_t i = 0; i < names.count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
				       names.items[i]);
	text_list_done(&names);
	return text;
}

static void expect_file(const char *name, const char *bytes, mode_t mode)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	char buffer[64] = "";
	struct stat st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(read(fd, buffer, sizeof(buffer) - 1), 0);
	ck_assert_str_eq(buffer, bytes);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
	close(fd);
}

START_TEST(names)
{
	ck_assert_str_eq(listed(0), "");
	ck_assert_int_eq(mkdirat(folder_fd, "b", 0700), 0);
	ck_assert_int_eq(symlinkat("nowhere", folder_fd, "...a"), 0);
	ck_assert_str_eq(listed(0), "...a b");
	ck_assert_int_eq(mkdirat(folder_fd, "c", 0700), 0);
	ck_assert_str_eq(listed(0), "...a b c");
	/* Once more from the start, and what take returns ends it. */
	ck_assert_int_eq(mkdirat(folder_fd, "d", 0700), 0);
	ck_assert_uint_gt(strlen(listed(7)), 0);
	ck_assert_int_eq(folder_each(-1, take, NULL), -EBADF);
}
END_TEST

START_TEST(put_whole)
{
	ck_assert_int_eq(file_put(folder_fd, "file", "one", 3, 0400), 0);
	expect_file("file", "one", 0400);
	ck_assert_int_eq(file_put(folder_fd, "file", "", 0, 0600), 0);
	expect_file("file", "", 0600);
	ck_assert_str_eq(listed(0), "file");
	/* What cannot take its place leaves nothing behind. */
	ck_assert_int_eq(mkdirat(folder_fd, "taken", 0700), 0);
	ck_assert_int_eq(file_put(folder_fd, "taken", "two", 3, 0400), -EISDIR);
	ck_assert_str_eq(listed(0), "file taken");
	/* A link is replaced, and what it leads to is not. */
	ck_assert_int_eq(symlinkat("file", folder_fd, "link"), 0);
	ck_assert_int_eq(file_put(folder_fd, "link", "three", 5, 0400), 0);
	expect_file("file", "", 0600);
	expect_file("link", "three", 0400);
}
END_TEST

START_TEST(what_a_crash_left)
{
	char new[FILE_NEW_BYTES];
	int fd;

	ck_assert_int_eq(file_new_open(folder_fd, new, &fd), 0);
	ck_assert_int_eq(strncmp(new, FILE_NEW, strlen(FILE_NEW)), 0);
	ck_assert_int_eq(file_write(fd, "half", 4), 0);
	close(fd);
	ck_assert_int_eq(file_put(folder_fd, "new.kept", "one", 3, 0400), 0);
	ck_assert_int_eq(file_new_clear(folder_fd), 0);
	ck_assert_str_eq(listed(0), "new.kept");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("folder");
	TCase *tests = tcase_create("folder");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, names);
	tcase_add_test(tests, put_whole);
	tcase_add_test(tests, what_a_crash_left);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
