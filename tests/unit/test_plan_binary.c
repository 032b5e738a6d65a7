/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Which bwrap is taken, and the filter it is given. */

static struct plan_fixture fixture;
static struct plan_bwrap bwrap;

static void setup(void)
{
	fixture_init(&fixture);
	bwrap = (struct plan_bwrap){.fd = -1};
}

static void teardown(void)
{
	plan_bwrap_done(&bwrap);
	fixture_done(&fixture);
}

static void make_fake(const char *path)
{
	make_file(path, "#!/bin/sh\necho fake; exit 0\n");
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* Configured and refused. */
static void refused(const char *path, const char *part)
{
	ck_assert_int_eq(plan_bwrap_pin(&bwrap, path, &fixture.fault), FAULT);
	ck_assert_msg(strstr(fixture.fault.message, part) != NULL, "\"%s\" is not in: %s", part,
		      fixture.fault.message);
	ck_assert_int_eq(bwrap.fd, -1);
}

static const char *installed(void)
{
	return access("/usr/bin/bwrap", X_OK) == 0 ? "/usr/bin/bwrap" : NULL;
}

START_TEST(the_installed_one)
{
	struct stat pinned, st;

	if (!installed())
		return;
	ck_assert_int_eq(setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1), 0);
	ck_assert_int_eq(plan_bwrap_pin(&bwrap, NULL, &fixture.fault), 0);
	ck_assert_str_eq(bwrap.path, "/usr/bin/bwrap");
	ck_assert_msg(!strncmp(bwrap.version, "bubblewrap ", 11), "%s", bwrap.version);
	ck_assert_int_eq(fstat(bwrap.fd, &pinned), 0);
	ck_assert_int_eq(stat("/usr/bin/bwrap", &st), 0);
	ck_assert(pinned.st_ino == st.st_ino && pinned.st_dev == st.st_dev);
	ck_assert_int_eq(fcntl(bwrap.fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

/* A fake earlier in PATH, as a repository or a home could have one. */
START_TEST(fake_in_path)
{
	make_fake(at(&fixture, "repo/bwrap"));
	ck_assert_int_eq(setenv("PATH", at(&fixture, "repo"), 1), 0);
	ck_assert_int_eq(plan_bwrap_pin(&bwrap, NULL, &fixture.fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "others than root"));
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "repo/bwrap"));
	if (!installed())
		return;
	ck_assert_int_eq(setenv("PATH", at(&fixture, "/%s/repo:.:rel:/usr/bin", fixture.root), 1),
			 0);
	ck_assert_int_eq(plan_bwrap_pin(&bwrap, NULL, &fixture.fault), 0);
	ck_assert_str_eq(bwrap.path, "/usr/bin/bwrap");
}
END_TEST

START_TEST(link_in_a_folder_of_others)
{
	if (!installed())
		return;
	make_link(at(&fixture, "repo/bwrap"), "/usr/bin/bwrap");
	refused(at(&fixture, "repo/bwrap"), "others than root");
}
END_TEST

START_TEST(none)
{
	ck_assert_int_eq(setenv("PATH", at(&fixture, "home"), 1), 0);
	ck_assert_int_eq(plan_bwrap_pin(&bwrap, NULL, &fixture.fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "there is none in PATH"));
	ck_assert_ptr_nonnull(strstr(fixture.fault.hint, "apt install bubblewrap"));
}
END_TEST

/* Programs of every system that are root's and not bwrap. */
START_TEST(configured_and_wrong)
{
	make_fake(at(&fixture, "bwrap"));
	refused(at(&fixture, "bwrap"), "others than root");
	refused(at(&fixture, "gone"), "does not exist");
	refused("bwrap", "absolute");
	refused("/usr/bin", "is not a program");
	refused("/etc/passwd", "is not a program");
	refused("/usr/bin/env", "has no option --args");
	refused("/usr/bin/false", "does not answer");
	if (access("/usr/bin/su", X_OK) == 0)
		refused("/usr/bin/su", "set-user-ID");
	ck_assert_ptr_nonnull(fixture.fault.hint);
}
END_TEST

static int ask(const char *path, const char *option, unsigned int milliseconds)
{
	int fd = open(path, O_PATH | O_CLOEXEC), r;
	char *text = NULL;

	ck_assert_int_ge(fd, 0);
	r = bwrap_ask(fd, option, milliseconds, &text);
	ck_assert_int_eq(text != NULL, r == 0);
	free(text);
	close(fd);
	return r;
}

/* A program that is not what it should be can neither fill the memory nor keep us waiting. */
START_TEST(answers_are_bounded)
{
	ck_assert_int_eq(ask("/usr/bin/yes", "--help", 5000), 0);
	ck_assert_int_eq(ask("/usr/bin/yes", "--", 60000), -EFBIG);
	ck_assert_int_eq(ask("/usr/bin/sleep", "60", 50), -ETIMEDOUT);
	ck_assert_int_eq(ask("/usr/bin/false", "--", 5000), -ENOEXEC);
	make_fake(at(&fixture, "fake"));
	ck_assert_int_eq(ask(at(&fixture, "fake"), "--help", 5000), -ENOEXEC);
}
END_TEST

START_TEST(options_in_the_help)
{
	static const char full[] =
		"usage: bwrap\n    --args FD  x\n    --unshare-all x\n --unshare-user x\n"
		" --disable-userns\n --share-net\n --new-session\n --as-pid-1\n --cap-drop CAP\n"
		" --hostname NAME\n --uid UID\n --gid GID\n --clearenv\n --seccomp FD\n"
		" --bind-fd FD DEST\n --ro-bind-fd FD DEST\n --ro-bind SRC DEST\n --size BYTES\n"
		" --perms OCTAL\n --tmpfs DEST\n --dir DEST\n --symlink SRC DEST\n --file FD DEST\n"
		" --proc DEST\n --dev DEST\n --dev-bind SRC DEST\n --remount-ro DEST\n"
		" --ro-bind-data FD DEST\n";
	char *without = strdup(full);

	ck_assert_ptr_null(bwrap_missing_option(full));
	/* As upstream's 0.8: --bind-fd is only a part of --ro-bind-fd. */
	memset(strstr(without, " --bind-fd"), '.', strlen(" --bind-fd"));
	ck_assert_str_eq(bwrap_missing_option(without), "--bind-fd");
	ck_assert_str_eq(bwrap_missing_option(""), "--args");
	ck_assert_str_eq(bwrap_missing_option(" --argsx FD\n"), "--args");
	free(without);
}
END_TEST

START_TEST(filter)
{
	struct stat st;
	int fd = -1;

	ck_assert_int_eq(plan_seccomp(_i, &fd, &fixture.fault), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_gt(st.st_size, 0);
	ck_assert_int_eq(st.st_size % (off_t)sizeof(struct sock_filter), 0);
	ck_assert_int_le(st.st_size, BPF_MAXINSNS * (off_t)sizeof(struct sock_filter));
	ck_assert_int_eq(fcntl(fd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 0);
	ck_assert_int_lt(pwrite(fd, "x", 1, 0), 0);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_binary");
	TCase *tests = tcase_create("binary");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 30);
	tcase_add_test(tests, the_installed_one);
	tcase_add_test(tests, fake_in_path);
	tcase_add_test(tests, link_in_a_folder_of_others);
	tcase_add_test(tests, none);
	tcase_add_test(tests, configured_and_wrong);
	tcase_add_test(tests, answers_are_bounded);
	tcase_add_test(tests, options_in_the_help);
	tcase_add_loop_test(tests, filter, false, true + 1);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
