/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wipe.h"
#include "plan/plan.h"
#include "queue/home_group.h"
#include "queue/home_holder.h"
#include "queue/home_wipe.h"

/* --- /proc/locks ---------------------------------------------------------------------------------- */

static const char locks[] = "1: POSIX  ADVISORY  READ 11 08:01:100 128 128\n"
			    "2: OFDLCK ADVISORY  WRITE -1 08:01:100 0 EOF\n"
			    "3: FLOCK  ADVISORY  WRITE 33 08:01:1000 0 EOF\n"
			    "4: FLOCK  ADVISORY  WRITE 44 08:02:100 0 EOF\n"
			    "5: FLOCK  ADVISORY  WRITE 55 fd:1f:100 0 EOF\n"
			    "5: -> FLOCK  ADVISORY  WRITE 66 08:01:100 0 EOF\n"
			    "6: FLOCK  ADVISORY  READ 77 08:01:101 0 EOF\n"
			    "7: FLOCK  ADVISORY  WRITE 0 08:01:102 0 EOF\n"
			    "8: LEASE  ACTIVE    READ 88 08:01:100 0 EOF\n";

static int parse(const char *given, unsigned int major, unsigned int minor, ino_t inode, pid_t *pid)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", given);
	return home_holder_parse(text, major, minor, inode, pid);
}

START_TEST(who_holds_it)
{
	pid_t pid = -1;

	/* Neither other kinds of lock nor who waits. */
	ck_assert_int_eq(parse(locks, 8, 1, 100, &pid), 0);
	ck_assert_int_eq(parse(locks, 8, 2, 100, &pid), 1);
	ck_assert_int_eq(pid, 44);
	ck_assert_int_eq(parse(locks, 0xfd, 0x1f, 100, &pid), 1);
	ck_assert_int_eq(pid, 55);
	/* A shared one keeps us out as well. */
	ck_assert_int_eq(parse(locks, 8, 1, 101, &pid), 1);
	ck_assert_int_eq(pid, 77);
	ck_assert_int_eq(parse(locks, 8, 1, 102, &pid), 1);
	ck_assert_int_eq(pid, 0);
	/* An overlay: its locks name another device. */
	ck_assert_int_eq(parse(locks, 0, 45, 1000, &pid), 1);
	ck_assert_int_eq(pid, 33);
}
END_TEST

START_TEST(locks_that_are_none)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    "1: FLOCK",
					    "x: FLOCK A W 1 08:01:100 0 EOF",
					    "1: FLOCK ADVISORY WRITE x 08:01:100 0 EOF",
					    "1: FLOCK ADVISORY WRITE 1 08:01 0 EOF"};
	pid_t pid = -1;

	ck_assert_int_eq(parse(texts[_i], 8, 1, 100, &pid), 0);
	ck_assert_int_eq(pid, -1);
}
END_TEST

/* --- Names of what is set aside ------------------------------------------------------------------- */

START_TEST(a_name_and_back)
{
	char name[HOME_ASIDE_BYTES], other[HOME_ASIDE_BYTES];
	ino_t inode = 0;

	home_aside_name((ino_t)0xfedcba9876543210, name);
	ck_assert(home_aside_parse(name, &inode));
	ck_assert_uint_eq(inode, (ino_t)0xfedcba9876543210);
	home_aside_name((ino_t)0xfedcba9876543210, other);
	ck_assert_str_ne(name, other);
}
END_TEST

START_TEST(names_that_are_not_ours)
{
	static const char *const names[] = {
		"",
		"auth.json",
		".trialsd-wipe-",
		".trialsd-wipe-1",
		".trialsd-wipe--0123456789abcdef0123456789abcdef",
		".trialsd-wipe-1-0123456789abcdef0123456789abcde",
		".trialsd-wipe-1-0123456789abcdef0123456789abcdef0",
		".trialsd-wipe-1-0123456789abcdef0123456789abcdeg",
		".trialsd-wipe-1-0123456789ABCDEF0123456789abcdef",
		".trialsd-wipe-0x1-0123456789abcdef0123456789abcdef",
		".trialsd-wipe-12345678123456781-0123456789abcdef0123456789abcdef",
		".trialsd-wip",
	};
	ino_t inode;

	ck_assert(!home_aside_parse(names[_i], &inode));
}
END_TEST

/* --- With folders --------------------------------------------------------------------------------- */

static char top[64];
static int top_fd = -1;

static void setup(void)
{
	strcpy(top, "/tmp/trials-home.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	char name[80];

	snprintf(name, sizeof(name), "rm -rf '%s'", top);
	ck_assert_int_eq(system(name), 0);
	close(top_fd);
}

static const struct home_folder somewhere = {.device = 0x801, .inode = 12};

START_TEST(a_group_that_is_gone_is_empty)
{
	char long_one[5000] = "/";

	ck_assert(!home_group_is_populated(top_fd, &somewhere));
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, "/user.slice/no-such.scope"), 0);
	ck_assert(!home_group_is_populated(top_fd, &somewhere));
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, "/another.scope"), 0);
	/* What does not come from /proc/PID/cgroup is not looked up. */
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, "relative"), -EINVAL);
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, "/a/../../etc"), -EINVAL);
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, "/a\n/b"), -EINVAL);
	memset(long_one + 1, 'a', sizeof(long_one) - 2);
	ck_assert_int_eq(home_group_note(top_fd, &somewhere, long_one), -EINVAL);
}
END_TEST

START_TEST(only_one_deletes)
{
	int fd;

	ck_assert_int_eq(mkdirat(top_fd, "aside", 0700), 0);
	fd = openat(top_fd, "aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(fd, "in it", 0700), 0);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(home_wipe_remove(top_fd, "aside", NULL), -EWOULDBLOCK);
	ck_assert_int_eq(faccessat(fd, "in it", F_OK, 0), 0);
	close(fd);
	ck_assert_int_eq(home_wipe_remove(top_fd, "aside", NULL), 0);
	ck_assert_int_eq(home_wipe_remove(top_fd, "aside", NULL), 0);
	ck_assert_int_eq(symlinkat("/tmp", top_fd, "aside"), 0);
	ck_assert_int_lt(home_wipe_remove(top_fd, "aside", NULL), 0);
}
END_TEST

START_TEST(a_copy_of_where)
{
	const char *apart[] = {"/a", "/b"};
	const char *keep[] = {"auth.json"};
	const struct home_where where = {
		.product = "Grok Build",
		.sign_in = "grok login",
		.path = "/home/x",
		.production = "/home/y",
		.home = "/home",
		.state_folder = "/state",
		.runtime_folder = "/run",
		.apart = apart,
		.apart_count = 2,
		.login = "auth.json",
		.keep = keep,
		.keep_count = 1,
	};
	struct home_where *copy;

	ck_assert_int_eq(home_where_copy(&copy, &where), 0);
	ck_assert_str_eq(copy->path, "/home/x");
	ck_assert_str_eq(copy->login, "auth.json");
	ck_assert_ptr_null(copy->config_folder);
	ck_assert_str_eq(copy->apart[1], "/b");
	ck_assert_str_eq(copy->keep[0], "auth.json");
	ck_assert_ptr_ne(copy->keep[0], keep[0]);
	ck_assert_ptr_null(home_where_free(copy));
	ck_assert_ptr_null(home_where_free(NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("home");
	TCase *pure = tcase_create("pure"), *folders = tcase_create("folders");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(pure, who_holds_it);
	tcase_add_loop_test(pure, locks_that_are_none, 0, 6);
	tcase_add_test(pure, a_name_and_back);
	tcase_add_loop_test(pure, names_that_are_not_ours, 0, 12);
	tcase_add_test(pure, a_copy_of_where);
	suite_add_tcase(suite, pure);
	tcase_add_checked_fixture(folders, setup, teardown);
	tcase_add_test(folders, a_group_that_is_gone_is_empty);
	tcase_add_test(folders, only_one_deletes);
	suite_add_tcase(suite, folders);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
