/* SPDX-License-Identifier: MIT */
#include "carry_fixture.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"

/* A login is carried both ways, and what it takes for that. */

/* --- Both ways ------------------------------------------------------------------------------------ */

START_TEST(prepared)
{
	carry_begin(_i);
	ck_assert_int_eq(file_stat(LOGIN_COPY).st_mode & 07777, 0600);
	login_kept_is(LOGIN_KEPT_good, login_text(1));
	carry_looked(LOGIN_good);
	ck_assert_uint_eq(carry.carried_out + carry.carried_in, 0);
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_good);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_COPY]), 0);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_TRIAL]), 0);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
}
END_TEST

START_TEST(carried_out)
{
	carry_begin(_i / LOGIN_SAVES);
	for (int version = 2; version < 10; version++) {
		login_saves[_i % LOGIN_SAVES](LOGIN_COPY, login_text(version));
		carry_looked(LOGIN_good);
		file_holds(LOGIN_HOST, login_text(version));
		ck_assert_int_eq(file_stat(LOGIN_HOST).st_mode & 07777, 0600);
		ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
		login_kept_is(LOGIN_KEPT_good, login_text(version));
		/* What the host had of its own, not what the Trial made of it meanwhile. */
		login_kept_is(LOGIN_KEPT_previous, login_text(1));
		/* Its own echo is nothing new. */
		carry_looked(LOGIN_good);
	}
	ck_assert_uint_eq(carry.carried_out, 8);
	ck_assert_uint_eq(carry.carried_in, 0);
}
END_TEST

START_TEST(carried_in)
{
	bool in_place = _i / LOGIN_SAVES;
	struct stat before;

	carry_begin(in_place);
	before = file_stat(LOGIN_COPY);
	for (int version = 2; version < 10; version++) {
		login_saves[_i % LOGIN_SAVES](LOGIN_HOST, login_text(version));
		carry_looked(LOGIN_good);
		file_holds(LOGIN_COPY, login_text(version));
		carry_looked(LOGIN_good);
	}
	ck_assert_uint_eq(carry.carried_in, 8);
	ck_assert_uint_eq(carry.carried_out, 0);
	/* A bound file stays the one that is bound. */
	ck_assert(!in_place || file_stat(LOGIN_COPY).st_ino == before.st_ino);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_COPY]), 1);
}
END_TEST

START_TEST(newest_wins)
{
	carry_begin(_i);
	login_save_renamed(LOGIN_HOST, login_text(2));
	login_save_in_place(LOGIN_COPY, login_text(3));
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(3));
	login_save_renamed(LOGIN_HOST, login_text(5));
	login_save_in_place(LOGIN_COPY, login_text(4));
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(5));
	file_holds(LOGIN_COPY, login_text(5));
	/* It was overtaken once, so what is older may come of that. */
	login_save_in_place(LOGIN_COPY, login_text(4));
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(5));
	ck_assert(!login_is_marked());
}
END_TEST

START_TEST(signed_out_on_the_host)
{
	carry_begin(false);
	ck_assert_int_eq(unlinkat(LOGIN_HOST, 0), 0);
	login_save_renamed(LOGIN_COPY, login_text(2));
	carry_looked(LOGIN_failed);
	ck_assert_int_lt(faccessat(LOGIN_HOST, F_OK, 0), 0);
	/* What the Trial has can be put back, if that was a mistake. */
	login_kept_is(LOGIN_KEPT_good, login_text(2));
	ck_assert_int_eq(carry_restore(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
}
END_TEST

START_TEST(after_a_crash)
{
	carry_begin(false);
	login_save_renamed(LOGIN_COPY, login_text(2));
	/* Another one takes over, from what is in the folders. */
	carry_done(&carry);
	carry_make(false, false);
	if (_i)
		ck_assert_int_eq(unlinkat(carry_fds[LOGIN_FD_TRIAL], "login-fake.seen", 0), 0);
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_COPY]) +
				 folder_entries(carry_fds[LOGIN_FD_TRIAL]),
			 0);
}
END_TEST

/* --- Two at once ---------------------------------------------------------------------------------- */

static int version_on_host(void)
{
	char bytes[4096] = "", reason[GATE_REASON_BYTES];
	struct login_content content = {0};
	const char *ends;

	while (login_file_read(LOGIN_HOST, &content, reason) == -EAGAIN)
		continue;
	ck_assert_ptr_nonnull(content.data);
	memcpy(bytes, content.data, content.size < 4095 ? content.size : 4095);
	login_content_done(&content);
	ends = strstr(bytes, "\"ends\": ");
	ck_assert_msg(ends && strchr(bytes, '}'), "torn: %s", bytes);
	return (int)(strtoll(ends + 8, NULL, 10) - login_later);
}

/* The host's program renames newer and newer ones in, while the Trial makes newer ones too. */
START_TEST(host_refreshes_meanwhile)
{
	const int rounds = 300;
	int highest = 1, status;
	pid_t pid;

	carry_begin(false);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < rounds; i++) {
			int fd = openat(carry_fds[LOGIN_FD_PRODUCTION], "host.tmp",
					O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			/* As programs do: after whatever it finds. */
			const char *text = login_text(version_on_host() + 2);

			if (write(fd, text, strlen(text)) < 0 ||
			    renameat(carry_fds[LOGIN_FD_PRODUCTION], "host.tmp",
				     carry_fds[LOGIN_FD_PRODUCTION], "auth.json") < 0)
				_exit(1);
			close(fd);
		}
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		login_save_renamed(LOGIN_COPY, login_text(version_on_host() + 1));
		carry_look(&carry);
		ck_assert_msg(carry.state == LOGIN_good || carry.doubted, "%s", carry.reason);
		highest = version_on_host();
		carry_look(&carry);
		ck_assert_int_ge(version_on_host(), highest);
	}
	ck_assert_int_eq(status, 0);
	while (carry_look(&carry) == CARRY_LOOK_AGAIN)
		login_save_renamed(LOGIN_COPY, login_text(version_on_host() + 1));
	ck_assert_int_eq(carry.state, LOGIN_good);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
}
END_TEST

static bool holds(const struct login_content *content, const char *text)
{
	return content->size == strlen(text) && memcmp(content->data, text, content->size) == 0;
}

/* What came in between a comparison and the swap stays. */
START_TEST(swapped_only_for_what_was_compared)
{
	struct stat was;

	login_save_renamed(LOGIN_HOST, login_text(1));
	was = file_stat(LOGIN_HOST);
	login_saves[_i](LOGIN_HOST, login_text(2));
	ck_assert_int_eq(login_file_replace(LOGIN_HOST, "new", 3, &was, true), -EAGAIN);
	file_holds(LOGIN_HOST, login_text(2));
	ck_assert_int_eq(unlinkat(LOGIN_HOST, 0), 0);
	ck_assert_int_eq(login_file_replace(LOGIN_HOST, "new", 3, &was, true), -EAGAIN);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 0);
}
END_TEST

/* A program that replaces its file again and again, while ours comes too late each time. */
START_TEST(swapped_back_for_the_newest)
{
	enum { rounds = 400, times = 4 };
	int done[2], on[2], status;
	char byte = 0;
	struct stat was;
	pid_t pid;

	login_save_renamed(LOGIN_HOST, login_text(1));
	was = file_stat(LOGIN_HOST);
	login_save_renamed(LOGIN_HOST, login_text(0));
	ck_assert_int_eq(pipe2(done, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_eq(pipe2(on, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < rounds * times; i++) {
			login_save_renamed(LOGIN_HOST, login_text(i));
			if (i % times == times - 1 &&
			    (write(done[1], "", 1) != 1 || read(on[0], &byte, 1) != 1))
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < rounds; i++) {
		while (read(done[0], &byte, 1) < 0)
			ck_assert_int_eq(login_file_replace(LOGIN_HOST, "new", 3, &was, false),
					 -EAGAIN);
		file_holds(LOGIN_HOST, login_text(i * times + times - 1));
		ck_assert_int_eq(write(on[1], "", 1), 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Each of its versions is there whole afterwards, or the host's that came over it. */
START_TEST(overwritten_while_it_is_written)
{
	const int rounds = 5000;
	char host[256], reason[GATE_REASON_BYTES];
	int status, overwritten = 0;
	pid_t pid;

	strcpy(host, login_text(7));
	login_save_in_place(LOGIN_COPY, login_text(6));
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < rounds; i++) {
			_cleanup_login_content_ struct login_content content = {0};
			const char *own = login_text(6 + i % 2 * 3);

			login_save_in_place(LOGIN_COPY, own);
			if (login_file_read(LOGIN_COPY, &content, reason) < 0)
				continue;
			if (!holds(&content, own) && !holds(&content, host)) {
				fprintf(stderr, "torn: %.*s", (int)content.size, content.data);
				_exit(1);
			}
		}
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		_cleanup_login_content_ struct login_content content = {0};

		if (login_file_read(LOGIN_COPY, &content, reason) == 0 && !holds(&content, host) &&
		    login_file_overwrite(LOGIN_COPY, &content, host, strlen(host), false) == 0)
			overwritten++;
	}
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(overwritten, 0);
}
END_TEST

START_TEST(what_is_open_is_left_for_a_while)
{
	char text[256];
	int fd;

	carry_begin(true);
	strcpy(text, login_text(3));
	fd = openat(LOGIN_COPY, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	login_save_renamed(LOGIN_HOST, login_text(2));
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	file_holds(LOGIN_COPY, login_text(1));
	ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	close(fd);
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(3));

	/* One that never closes it does not keep the host's out. */
	fd = openat(LOGIN_COPY, O_RDONLY | O_CLOEXEC);
	login_save_renamed(LOGIN_HOST, login_text(4));
	while (carry_look(&carry) == CARRY_LOOK_AGAIN)
		nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	file_holds(LOGIN_COPY, login_text(4));
	close(fd);
}
END_TEST

static void remove_set_aside(int folder_fd)
{
	DIR *folder = fdopendir(openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	char path[300];

	while ((entry = readdir(folder))) {
		if (strncmp(entry->d_name, ".trialsd-aside-", 15) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/full", entry->d_name);
		ck_assert_int_eq(unlinkat(folder_fd, path, AT_REMOVEDIR), 0);
		ck_assert_int_eq(unlinkat(folder_fd, entry->d_name, AT_REMOVEDIR), 0);
	}
	closedir(folder);
}

/* As a Trial may leave them in a home of its own. */
START_TEST(folders_in_the_way)
{
	static const char *const folders[] = {"auth.json", ".trialsd-new-auth.json"};
	int host = carry_fds[LOGIN_FD_PRODUCTION];

	carry_begin(false);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
			unlinkat(host, folders[i], 0);
			ck_assert_int_eq(mkdirat(host, folders[i], 0700), 0);
			ck_assert_int_eq(mkdirat(carry_fds[LOGIN_FD_COPY], "full", 0700), 0);
			ck_assert_int_eq(renameat(carry_fds[LOGIN_FD_COPY], "full", host, "full"),
					 0);
			ck_assert_int_eq(renameat(host, "full", host,
						  i ? ".trialsd-new-auth.json/full"
						    : "auth.json/full"),
					 0);
		}
		ck_assert_int_eq(login_file_put(LOGIN_HOST, login_text(2), strlen(login_text(2))),
				 0);
		file_holds(LOGIN_HOST, login_text(2));
		ck_assert_int_eq(faccessat(host, folders[1], F_OK, AT_SYMLINK_NOFOLLOW), -1);
	}
	remove_set_aside(host);
}
END_TEST

START_TEST(locked)
{
	int lock;

	carry_begin(false);
	ck_assert_int_eq(
		login_lock_open(carry_fds[LOGIN_FD_LOCKS], carry.key, LOGIN_LOCK_carry, &lock), 0);
	ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	login_save_renamed(LOGIN_COPY, login_text(2));
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	file_holds(LOGIN_HOST, login_text(1));
	close(lock);
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
}
END_TEST

/* --- Watching ------------------------------------------------------------------------------------- */

static struct loop loop;
static struct carry_watch watch;

static void on_changed(struct carry_watch *of)
{
	ck_assert_ptr_eq(of, &watch);
	loop_stop(&loop);
}

static void on_patience(struct timer *timer)
{
	(void)timer;
	ck_abort_msg("nothing was noticed");
}

/* Runs until something was carried; a child does it meanwhile. */
static void run_while(void (*save)(int folder, const char *name, const char *text), int folder,
		      const char *name, const char *text)
{
	struct timer patience;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		save(folder, name, text);
		_exit(0);
	}
	ck_assert_int_eq(timer_init(&patience, &loop, on_patience), 0);
	timer_set(&patience, 20);
	ck_assert_int_eq(loop_run(&loop), 0);
	timer_done(&patience, &loop);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(watched)
{
	bool in_place = _i / LOGIN_SAVES, polling = _i >= 2 * LOGIN_SAVES;

	carry_begin(in_place);
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(carry_watch_start(&watch, &carry, &loop, on_changed), 0);
	if (polling) {
		/* As where there is no inotify instance left. */
		loop_remove(&loop, &watch.source);
		watch.inotify = fd_close(watch.inotify);
		watch.polling = true;
		timer_set(&watch.timer, 0.01);
	}
	for (int version = 2; version < 6; version += 2) {
		run_while(login_saves[_i % LOGIN_SAVES], LOGIN_COPY, login_text(version));
		file_holds(LOGIN_HOST, login_text(version));
		run_while(login_saves[_i % LOGIN_SAVES], LOGIN_HOST, login_text(version + 1));
		file_holds(LOGIN_COPY, login_text(version + 1));
	}
	carry_watch_done(&watch);
	loop_done(&loop);
}
END_TEST

static Suite *carry_suite(void)
{
	Suite *suite = suite_create("carry");
	TCase *test_case = tcase_create("carry");

	tcase_add_checked_fixture(test_case, carry_setup, carry_teardown);
	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, prepared, 0, 2);
	tcase_add_loop_test(test_case, carried_out, 0, 2 * LOGIN_SAVES);
	tcase_add_loop_test(test_case, carried_in, 0, 2 * LOGIN_SAVES);
	tcase_add_loop_test(test_case, newest_wins, 0, 2);
	tcase_add_test(test_case, signed_out_on_the_host);
	tcase_add_loop_test(test_case, after_a_crash, 0, 2);
	tcase_add_test(test_case, host_refreshes_meanwhile);
	tcase_add_loop_test(test_case, swapped_only_for_what_was_compared, 0, LOGIN_SAVES);
	tcase_add_test(test_case, swapped_back_for_the_newest);
	tcase_add_test(test_case, overwritten_while_it_is_written);
	tcase_add_test(test_case, what_is_open_is_left_for_a_while);
	tcase_add_test(test_case, folders_in_the_way);
	tcase_add_test(test_case, locked);
	tcase_add_loop_test(test_case, watched, 0, 3 * LOGIN_SAVES);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(carry_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
