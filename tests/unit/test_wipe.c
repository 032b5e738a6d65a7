/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wipe.h"

static char top[] = "/tmp/trials-wipe.XXXXXX";
static int parent = -1, home = -1;

static void setup(void)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(parent, "home", 0700), 0);
	home = openat(parent, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(home, 0);
}

static void teardown(void)
{
	wipe_remove(parent, "home", NULL);
	wipe_remove(parent, "aside", NULL);
	wipe_remove(parent, "outside", NULL);
	close(home);
	close(parent);
	ck_assert_int_eq(rmdir(top), 0);
}

static void put(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int make(int folder, const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(folder, name, 0700), 0);
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static bool is_there(int folder, const char *name)
{
	return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static size_t entries(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fdopendir(fd);
	size_t found = 0;

	ck_assert_ptr_nonnull(listing);
	while (readdir(listing))
		found++;
	closedir(listing);
	return found - 2;
}

static const char *const keep[] = {"auth.json", "auth.json.lock"};

static void wipe_all(void)
{
	_Atomic uint64_t removed = 0;

	ck_assert_int_eq(wipe_set_aside(home, parent, "aside", keep, ARRAY_SIZE(keep)), 0);
	ck_assert_int_eq(wipe_remove(parent, "aside", &removed), 0);
	ck_assert_uint_gt(removed, 0);
	ck_assert(!is_there(parent, "aside"));
}

START_TEST(only_what_is_kept_stays)
{
	int folder = make(home, "sessions");

	put(folder, "auth.json", "not this one");
	close(folder);
	put(home, "auth.json", "the login");
	put(home, "auth.json.lock", "");
	put(home, ".hidden", "x");
	put(home, "auth.json.", "x");
	wipe_all();
	ck_assert_uint_eq(entries(home), 2);
	ck_assert(is_there(home, "auth.json"));
	ck_assert(is_there(home, "auth.json.lock"));
}
END_TEST

START_TEST(a_link_is_removed_and_what_it_leads_to_stays)
{
	int outside = make(parent, "outside");
	int folder = make(home, "folder");

	put(outside, "precious", "1");
	ck_assert_int_eq(symlinkat("../outside", home, "link"), 0);
	ck_assert_int_eq(symlinkat("../../outside", folder, "link"), 0);
	ck_assert_int_eq(symlinkat("/", folder, "root"), 0);
	ck_assert_int_eq(linkat(outside, "precious", folder, "hard", 0), 0);
	wipe_all();
	ck_assert_uint_eq(entries(home), 0);
	ck_assert(is_there(outside, "precious"));
	close(folder);
	close(outside);
}
END_TEST

/* Names are bytes: all that a filesystem takes, and the longest. */
START_TEST(any_name)
{
	static const char *const names[] = {"-rf", " ", "a\nb", "\x01\xff\xfe", "*", "moved.0"};
	char longest[256];
	size_t i;

	memset(longest, 'n', sizeof(longest) - 1);
	longest[255] = '\0';
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		int folder = make(home, names[i]);

		put(folder, names[i], "x");
		close(make(folder, "moved.1"));
		close(folder);
	}
	close(make(home, longest));
	ck_assert_int_eq(mkfifoat(home, "fifo", 0600), 0);
	wipe_all();
	ck_assert_uint_eq(entries(home), 0);
}
END_TEST

/* Also those that their owner may not enter, write or read. */
START_TEST(closed_folders)
{
	static const mode_t modes[] = {0, 0100, 0200, 0400, 0500, 0300};
	char name[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		int folder, below;

		snprintf(name, sizeof(name), "mode%zu", i);
		folder = make(home, name);
		below = make(folder, "below");
		put(below, "file", "x");
		ck_assert_int_eq(fchmod(below, modes[i]), 0);
		ck_assert_int_eq(fchmod(folder, modes[i]), 0);
		close(below);
		close(folder);
	}
	wipe_all();
	ck_assert_uint_eq(entries(home), 0);
}
END_TEST

/* Far deeper than a path may be long and than there are descriptors. */
START_TEST(ten_thousand_deep)
{
	const struct rlimit few = {64, 64};
	int folder = dup(home), i;

	for (i = 0; i < 10000; i++) {
		int below = make(folder, "d");

		close(folder);
		folder = below;
	}
	put(folder, "bottom", "x");
	close(folder);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	wipe_all();
	ck_assert_uint_eq(entries(home), 0);
}
END_TEST

START_TEST(many_and_wide)
{
	char name[32];
	int i, j;

	for (i = 0; i < 40; i++) {
		int folder, below;

		snprintf(name, sizeof(name), "%d", i);
		folder = make(home, name);
		below = make(folder, "below");
		for (j = 0; j < 100; j++) {
			snprintf(name, sizeof(name), "%d", j);
			put(j % 2 ? folder : below, name, "x");
		}
		close(below);
		close(folder);
	}
	wipe_all();
	ck_assert_uint_eq(entries(home), 0);
}
END_TEST

/* As a keeper is kept: it may remove, and move nothing from one folder to another. */
static void move_nothing(void)
{
	const uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);

	if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		_exit(0); /* it cannot be kept from it here */
	ck_assert_int_ge(rules, 0);
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L), 0);
	ck_assert_int_eq(syscall(SYS_landlock_restrict_self, rules, 0), 0);
	ck_assert_int_lt(renameat(home, "0/0", home, "moved"), 0);
}

/* One entry, so that the second thread has nothing to do but what is moved up to it. */
START_TEST(where_nothing_can_be_moved)
{
	int folder = make(home, "0"), status, i;
	pid_t pid;

	for (i = 0; i < 200; i++) {
		char name[16];
		int below;

		snprintf(name, sizeof(name), "%d", i);
		below = make(folder, name);
		put(below, "file", "x");
		close(below);
	}
	close(folder);
	pid = fork();
	if (pid == 0) {
		move_nothing();
		_exit(wipe_remove(parent, "home", NULL) == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(!is_there(parent, "home"));
}
END_TEST

START_TEST(what_is_there_is_not_written_over)
{
	close(make(parent, "aside"));
	put(home, "file", "x");
	ck_assert_int_eq(wipe_set_aside(home, parent, "aside", NULL, 0), -EEXIST);
	ck_assert(is_there(home, "file"));
}
END_TEST

START_TEST(only_folders)
{
	put(parent, "outside", "x");
	ck_assert_int_eq(wipe_remove(parent, "outside", NULL), -ENOTDIR);
	ck_assert_int_eq(unlinkat(parent, "outside", 0), 0);
	ck_assert_int_eq(symlinkat("home", parent, "outside"), 0);
	put(home, "file", "x");
	ck_assert_int_lt(wipe_remove(parent, "outside", NULL), 0);
	ck_assert(is_there(home, "file"));
	ck_assert_int_eq(unlinkat(parent, "outside", 0), 0);
	ck_assert_int_eq(wipe_remove(parent, "nothing", NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wipe");
	TCase *tcase = tcase_create("wipe");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, only_what_is_kept_stays);
	tcase_add_test(tcase, a_link_is_removed_and_what_it_leads_to_stays);
	tcase_add_test(tcase, any_name);
	tcase_add_test(tcase, closed_folders);
	tcase_add_test(tcase, ten_thousand_deep);
	tcase_add_test(tcase, many_and_wide);
	tcase_add_test(tcase, where_nothing_can_be_moved);
	tcase_add_test(tcase, what_is_there_is_not_written_over);
	tcase_add_test(tcase, only_folders);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
