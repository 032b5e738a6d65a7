/* SPDX-License-Identifier: MIT */
#include "carry_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "keeper/confine.h"

/*
 * What a Trial must never do to a login, and what is done about it; where a login is; and what a task
 * is left with.
 */

/* --- Damage --------------------------------------------------------------------------------------- */

static void put_truncated(void)
{
	char text[256];

	snprintf(text, sizeof(text), "%.40s", login_text(2));
	login_save_in_place(LOGIN_COPY, text);
}

static void put_ending_at_zero(void)
{
	login_save_in_place(LOGIN_COPY, "{\"account\": \"me\", \"token\": \"x\", \"ends\": 0}");
}

static const char *changed(const char *account, const char *more)
{
	static char text[256];

	snprintf(text, sizeof(text), "{\"account\": \"%s\", \"token\": \"x\", \"ends\": %lld%s}",
		 account, login_later + 9, more);
	return text;
}

static void put_of_another(void)
{
	login_save_renamed(LOGIN_COPY, changed("you", ""));
}

static void put_changed(void)
{
	login_save_renamed(LOGIN_COPY, changed("me", ", \"y\": 1"));
}

static void put_braces(void)
{
	login_save_in_place(LOGIN_COPY, "{}");
}

static void put_nothing(void)
{
	login_save_in_place(LOGIN_COPY, "");
}

static void put_older(void)
{
	login_save_renamed(LOGIN_COPY, login_text(0));
}

static void put_link(void)
{
	login_save_renamed(carry_fds[LOGIN_FD_COPY], "mine.json", login_text(5));
	unlinkat(LOGIN_COPY, 0);
	ck_assert_int_eq(symlinkat("mine.json", LOGIN_COPY), 0);
}

static void put_dangling(void)
{
	unlinkat(LOGIN_COPY, 0);
	ck_assert_int_eq(symlinkat("/proc/self/mem", LOGIN_COPY), 0);
}

static void put_fifo(void)
{
	unlinkat(LOGIN_COPY, 0);
	ck_assert_int_eq(mkfifoat(LOGIN_COPY, 0600), 0);
}

static void put_folder(void)
{
	unlinkat(LOGIN_COPY, 0);
	ck_assert_int_eq(mkdirat(LOGIN_COPY, 0700), 0);
}

static void put_hard_link(void)
{
	login_save_renamed(LOGIN_COPY, login_text(5));
	ck_assert_int_eq(linkat(LOGIN_COPY, carry_fds[LOGIN_FD_COPY], "second", 0), 0);
}

static void put_large(void)
{
	int fd = openat(LOGIN_COPY, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, 50 << 20), 0);
	close(fd);
}

static void put_nowhere(void)
{
	unlinkat(LOGIN_COPY, 0);
}

static const struct {
	void (*put)(void);
	const char *reason;
} damages[] = {
	{put_braces, "empty"},
	{put_truncated, "cut off"},
	{put_ending_at_zero, "is gone"},
	{put_older, "older"},
	{put_of_another, "another account"},
	{put_changed, "did not have"},
	{put_nothing, "empty"},
	{put_link, "symbolic link"},
	{put_dangling, "symbolic link"},
	{put_fifo, "FIFO"},
	{put_folder, "folder"},
	{put_hard_link, "second name"},
	{put_large, "over 256 KiB"},
	{put_nowhere, "gone"},
};

START_TEST(damage)
{
	struct login_result result;
	struct stat before, after;

	carry_begin(false);
	before = file_stat(LOGIN_HOST);
	damages[_i].put();
	/* Half written, maybe. */
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	ck_assert_int_eq(carry.state, LOGIN_good);
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	ck_assert(!login_is_marked());
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_suspect);
	ck_assert_msg(strstr(carry.reason, damages[_i].reason) != NULL, "%s", carry.reason);
	carry_fill(&carry, &result);
	ck_assert_str_eq(result.state, "suspect");
	ck_assert_uint_eq(result.trial, 7);
	ck_assert(login_is_marked());
	file_holds(LOGIN_HOST, login_text(1));
	after = file_stat(LOGIN_HOST);
	ck_assert(login_stat_same(&before, &after));
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
	/* The next Trial does not get it before somebody looked. */
	ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_suspect);
}
END_TEST

START_TEST(kept_aside)
{
	carry_begin(false);
	put_of_another();
	carry_finish(&carry);
	login_kept_is(LOGIN_KEPT_damaged, changed("you", ""));
	ck_assert_int_eq(carry_check(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_suspect);
}
END_TEST

START_TEST(large_is_not_read)
{
	char reason[GATE_REASON_BYTES];
	struct login_content content;

	carry_begin(false);
	put_large();
	ck_assert_int_eq(login_file_read(LOGIN_COPY, &content, reason), -EBADMSG);
	ck_assert_ptr_null(content.data);
}
END_TEST

START_TEST(suspect_after_a_while)
{
	carry_begin(false);
	put_braces();
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	ck_assert(carry.pause > 1 && carry.pause < CARRY_SETTLE_SECONDS + 1);
	/* As if the time had passed. */
	carry.doubted_since -= CARRY_SETTLE_SECONDS + 1;
	carry_looked(LOGIN_suspect);
	ck_assert(login_is_marked());
	carry_looked(LOGIN_suspect);
	/* It mends what it did. */
	login_save_renamed(LOGIN_COPY, login_text(2));
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
	ck_assert(!login_is_marked());
}
END_TEST

/* Damage again, of another kind, is looked at anew. */
START_TEST(doubt_starts_anew)
{
	carry_begin(false);
	put_braces();
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	carry.doubted_since -= CARRY_SETTLE_SECONDS + 1;
	put_truncated();
	ck_assert_int_eq(carry_look(&carry), CARRY_LOOK_AGAIN);
	ck_assert_int_eq(carry.state, LOGIN_good);
}
END_TEST

START_TEST(signing_in_mends)
{
	carry_begin(false);
	put_braces();
	carry_finish(&carry);
	ck_assert(login_is_marked());
	/* The clock of file times is coarse. */
	while (file_stat(LOGIN_HOST).st_ctim.tv_sec == 0 || login_is_marked()) {
		login_save_renamed(LOGIN_HOST, login_text(3));
		ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	}
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_COPY, login_text(3));
}
END_TEST

START_TEST(restored)
{
	carry_begin(false);
	login_save_renamed(LOGIN_COPY, login_text(2));
	carry_looked(LOGIN_good);
	/* The host's own program breaks it: the last one that was good. */
	login_save_in_place(LOGIN_HOST, "{}");
	ck_assert_int_eq(carry_restore(&carry), CARRY_LOOK_DONE);
	file_holds(LOGIN_HOST, login_text(2));
	/* Or that one was forged: the one before. */
	ck_assert_int_eq(carry_restore(&carry), CARRY_LOOK_DONE);
	file_holds(LOGIN_HOST, login_text(1));
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
}
END_TEST

/* What a Trial damages is its copy: what the host has is the newest, and what came before is spent. */
START_TEST(restored_where_the_host_is_unharmed)
{
	carry_begin(false);
	login_save_renamed(LOGIN_COPY, login_text(2));
	carry_looked(LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
	login_save_in_place(LOGIN_COPY, "{}");
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_suspect);
	ck_assert_int_eq(carry_restore(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
	ck_assert_int_eq(carry_check(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_good);
}
END_TEST

START_TEST(nothing_to_begin_with)
{
	carry_make(false, false);
	ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_absent);
	ck_assert_int_eq(carry_restore(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_absent);
	login_save_renamed(LOGIN_HOST, "{\"token\": \"\"}");
	ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_damaged);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_COPY]), 0);
}
END_TEST

/* --- A home --------------------------------------------------------------------------------------- */

static void begin_home(void)
{
	login_save_renamed(LOGIN_HOST, login_text(1));
	carry_make(false, true);
	ck_assert_int_eq(carry_prepare(&carry), CARRY_LOOK_DONE);
	ck_assert_int_eq(carry.state, LOGIN_good);
	ck_assert_int_eq(folder_entries(carry_fds[LOGIN_FD_PRODUCTION]), 1);
}

START_TEST(home_refreshed)
{
	begin_home();
	login_saves[_i](LOGIN_HOST, login_text(2));
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_good);
	file_holds(LOGIN_HOST, login_text(2));
	ck_assert(carry.refreshed_at > 0);
}
END_TEST

START_TEST(home_damaged)
{
	begin_home();
	if (_i == 0)
		login_save_in_place(LOGIN_HOST, "{}");
	else if (_i == 1)
		login_save_renamed(LOGIN_HOST, login_text(0));
	else if (_i >= 2)
		unlinkat(LOGIN_HOST, 0);
	if (_i == 3)
		ck_assert_int_eq(mkdirat(LOGIN_HOST, 0700), 0);
	else if (_i == 4)
		ck_assert_int_eq(symlinkat("/etc/passwd", LOGIN_HOST), 0);
	carry_finish(&carry);
	ck_assert_int_eq(carry.state, LOGIN_suspect);
	ck_assert(login_is_marked());
	file_holds(LOGIN_HOST, login_text(1));
}
END_TEST

/* --- Where it is ---------------------------------------------------------------------------------- */

static int find(const char *name, struct login_place *ret, char **ret_message)
{
	struct fault fault = FAULT_INIT;
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s/%s", carry_top, name);
	r = login_place_find(path, ret, &fault);
	*ret_message = r == FAULT ? strdup(fault.message) : NULL;
	fault_done(&fault);
	return r;
}

static void refused(const char *name, const char *why)
{
	struct login_place place;
	char *message;

	ck_assert_int_eq(find(name, &place, &message), FAULT);
	ck_assert_msg(strstr(message, why) != NULL, "%s", message);
	ck_assert_int_eq(place.folder_fd, -1);
	free(message);
}

START_TEST(places)
{
	char first[LOGIN_KEY_BYTES], second[LOGIN_KEY_BYTES];
	struct login_place place;
	char *message;

	login_save_renamed(LOGIN_HOST, login_text(1));
	ck_assert_int_eq(find("host/auth.json", &place, &message), 0);
	ck_assert_str_eq(place.name, "auth.json");
	ck_assert(place.there);
	ck_assert_int_eq(login_key(place.folder_fd, place.name, first), 0);
	close(place.folder_fd);
	/* By way of two links it is the same one. */
	ck_assert_int_eq(symlinkat("../state/second", carry_fds[LOGIN_FD_COPY], "first"), 0);
	ck_assert_int_eq(symlinkat("../host/auth.json", carry_fds[LOGIN_FD_STATE], "second"), 0);
	ck_assert_int_eq(find("copy/first", &place, &message), 0);
	ck_assert_str_eq(place.name, "auth.json");
	ck_assert_int_eq(login_key(place.folder_fd, place.name, second), 0);
	ck_assert_str_eq(first, second);
	close(place.folder_fd);
	ck_assert_int_eq(find("host/none.json", &place, &message), 0);
	ck_assert(!place.there);
	close(place.folder_fd);
	ck_assert_int_eq(login_key(carry_fds[LOGIN_FD_COPY], "auth.json", second), 0);
	ck_assert_str_ne(first, second);
	ck_assert_int_eq(find("nowhere/auth.json", &place, &message), 0);
	ck_assert(!place.there && place.folder_fd == -1);
	ck_assert_int_eq(symlinkat("nothing", carry_fds[LOGIN_FD_COPY], "dangling"), 0);
	refused("copy/dangling", "leads nowhere");
	ck_assert_int_eq(mkfifoat(carry_fds[LOGIN_FD_COPY], "fifo", 0600), 0);
	refused("copy/fifo", "not a regular file");
	ck_assert_int_eq(linkat(LOGIN_HOST, carry_fds[LOGIN_FD_COPY], "hard", 0), 0);
	refused("host/auth.json", "second name");
}
END_TEST

/* --- The filter ----------------------------------------------------------------------------------- */

/* The sanitizer's own calls are not in the filter: it ends the process over them. */
#ifdef __SANITIZE_ADDRESS__
#define CONFINED_TIMES 0
#else
#define CONFINED_TIMES 1
#endif

/* What fails is what a task has no use for; the number of the first thing that was allowed, or 0. */
static int escape(int folder)
{
	struct stat st;
	int fd;

	if (confine(folder, folder) < 0)
		return 1;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != ENOSYS)
		return 2;
	if (fork() >= 0 || errno != ENOSYS)
		return 3;
	if (execl("/bin/true", "true", NULL) >= 0 || errno != ENOSYS)
		return 4;
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != ENOSYS)
		return 5;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED ||
	    errno != ENOSYS)
		return 6;
	if (kill(getppid(), 0) >= 0)
		return 7;
	if (symlinkat("a", folder, "b") >= 0 || linkat(folder, "x", folder, "y", 0) >= 0)
		return 8;
	if (openat(carry_fds[LOGIN_FD_LOCKS], "other", O_RDONLY | O_CREAT, 0600) >= 0 ||
	    errno != ENOSYS)
		return 9;
	fd = openat(folder, "new", O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0 || fstat(fd, &st) < 0 ||
	    renameat2(folder, "new", folder, "renamed", RENAME_NOREPLACE) < 0 ||
	    unlinkat(folder, "renamed", 0) < 0)
		return 10;
	return 0;
}

START_TEST(confined)
{
	int status, folder = fcntl(carry_fds[LOGIN_FD_PRODUCTION], F_DUPFD_CLOEXEC, 50);
	pid_t pid = fork();

	if (pid == 0)
		_exit(escape(folder));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(folder);
}
END_TEST

static Suite *carry_damage_suite(void)
{
	Suite *suite = suite_create("carry_damage");
	TCase *test_case = tcase_create("carry_damage");

	tcase_add_checked_fixture(test_case, carry_setup, carry_teardown);
	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, damage, 0, (int)ARRAY_SIZE(damages));
	tcase_add_test(test_case, kept_aside);
	tcase_add_test(test_case, large_is_not_read);
	tcase_add_test(test_case, suspect_after_a_while);
	tcase_add_test(test_case, doubt_starts_anew);
	tcase_add_test(test_case, signing_in_mends);
	tcase_add_test(test_case, restored);
	tcase_add_test(test_case, restored_where_the_host_is_unharmed);
	tcase_add_test(test_case, nothing_to_begin_with);
	tcase_add_loop_test(test_case, home_refreshed, 0, LOGIN_SAVES);
	tcase_add_loop_test(test_case, home_damaged, 0, 5);
	tcase_add_test(test_case, places);
	tcase_add_loop_test(test_case, confined, 0, CONFINED_TIMES);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(carry_damage_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
