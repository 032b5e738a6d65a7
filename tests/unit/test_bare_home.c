/* SPDX-License-Identifier: MIT */

/* Orders for the home of a Trial without a sandbox: what they make, and that none leads out of it. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/wipe.h"
#include "keeper/bare_home.h"

static char top[] = "/tmp/trials-bare.XXXXXX";
static int folder = -1, copy = -1, descriptors[2] = {-1, -1};
static struct logins logins;
static struct fault fault;

static void put(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int open_folder(const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(folder, name, 0700), 0);
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void setup(void)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy = open_folder("login");
	put(copy, "auth.json", "the login");
	descriptors[0] = open_folder("source");
	put(descriptors[0], "file", "a file");
	ck_assert_int_eq(symlinkat("file", descriptors[0], "inside"), 0);
	ck_assert_int_eq(symlinkat("../login", descriptors[0], "outside"), 0);
	ck_assert_int_eq(mkfifoat(descriptors[0], "fifo", 0600), 0);
	descriptors[1] = openat(descriptors[0], "file", O_RDONLY | O_CLOEXEC);
	logins = (struct logins){.count = 1};
	logins.carries[0] = CARRY_INIT;
	logins.carries[0].login.harness = "first";
	logins.carries[0].login.copy = "auth.json";
	logins.carries[0].folders[LOGIN_FD_COPY] = copy;
	fault = FAULT_INIT;
}

static void teardown(void)
{
	static const char *const names[] = {"bare-home", "login", "source"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_int_eq(wipe_remove(folder, names[i], NULL), 0);
	close(folder);
	close(copy);
	close(descriptors[0]);
	close(descriptors[1]);
	ck_assert_int_eq(rmdir(top), 0);
	fault_done(&fault);
}

static int make(const char *const *words, size_t count)
{
	const struct text_list orders = {.count = count, .items = (const char **)words};
	const struct bare_home bare = {
		.folder = folder,
		.orders = &orders,
		.descriptors = descriptors,
		.count = ARRAY_SIZE(descriptors),
		.logins = &logins,
	};

	return bare_home_make(&bare, &fault);
}

#define MAKE(...) make((const char *[]){__VA_ARGS__}, ARRAY_SIZE(((const char *[]){__VA_ARGS__})))

static void check_file(const char *path, const char *text, unsigned int mode)
{
	char found[64] = "";
	struct stat st;
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "no %s", path);
	ck_assert_int_ge(read(fd, found, sizeof(found) - 1), 0);
	ck_assert_str_eq(found, text);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
	close(fd);
}

static bool is_there(const char *path)
{
	struct stat st;

	return fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

START_TEST(orders_make_a_home)
{
	ck_assert_int_eq(MAKE("login", "first", "", ".first", "copy", "0", "", "a/b", "copy", "1",
			      "first", "rules/one", "file", "1", "755", "", "bin/tool", "link",
			      "a/b/file", "", "link", "lock", "1", "", "lock"),
			 0);
	check_file("bare-home/a/b/file", "a file", 0400);
	check_file("bare-home/a/b/inside", "a file", 0400);
	ck_assert(!is_there("bare-home/a/b/outside"));
	ck_assert(!is_there("bare-home/a/b/fifo"));
	check_file("bare-home/.first/auth.json", "the login", 0600);
	check_file("login/rules/one", "a file", 0400);
	check_file("bare-home/bin/tool", "a file", 0755);
	check_file("bare-home/link", "a file", 0400);
	check_file("bare-home/lock", "a file", 0600);
	ck_assert(is_there("bare-home/tmp"));
	/* Another attempt finds nothing of it. */
	ck_assert_int_eq(make(NULL, 0), 0);
	ck_assert(!is_there("bare-home/a"));
	check_file("login/auth.json", "the login", 0600);
	bare_home_remove(folder);
	ck_assert(!is_there("bare-home"));
}
END_TEST

static const struct {
	const char *words[6];
	size_t count;
} refused[] = {
	{{"copy", "0", "", "../out"}, 4},
	{{"copy", "0", "", "a/../../out"}, 4},
	{{"copy", "0", "", "/out"}, 4},
	{{"copy", "0", "", "a//out"}, 4},
	{{"copy", "0", "", ""}, 4},
	{{"copy", "0", "", "."}, 4},
	{{"copy", "0", "", "a/"}, 4},
	{{"copy", "2", "", "a"}, 4},
	{{"copy", "-1", "", "a"}, 4},
	{{"copy", "x", "", "a"}, 4},
	{{"copy", "0", ""}, 3},
	{{"copy", "1", "first", "auth.json"}, 4}, /* the login itself */
	{{"copy", "1", "second", "a"}, 4},
	{{"login", "second", "", "a"}, 4},
	{{"login", "first", "", "tmp"}, 4},
	{{"file", "1", "7777", "", "a"}, 5},
	{{"file", "1", "rwx", "", "a"}, 5},
	{{"bind", "0", "", "a"}, 4},
};

START_TEST(no_order_leads_out_of_it)
{
	ck_assert_int_eq(make(refused[_i].words, refused[_i].count), FAULT);
	ck_assert(!is_there("out"));
	check_file("login/auth.json", "the login", 0600);
}
END_TEST

START_TEST(a_link_in_it_is_not_followed)
{
	/* As a Trials home is, or what an order before it has made. */
	ck_assert_int_eq(MAKE("login", "first", "", ".first", "copy", "1", "", ".first/auth.json"),
			 FAULT);
	check_file("login/auth.json", "the login", 0600);
	fault_done(&fault);
	fault = FAULT_INIT;
	logins.carries[0].login.home = true;
	ck_assert_int_eq(MAKE("copy", "1", "first", "settings"), FAULT);
	ck_assert(!is_there("login/settings"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bare_home");
	TCase *tests = tcase_create("bare_home");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, orders_make_a_home);
	tcase_add_loop_test(tests, no_order_leads_out_of_it, 0, (int)ARRAY_SIZE(refused));
	tcase_add_test(tests, a_link_in_it_is_not_followed);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
