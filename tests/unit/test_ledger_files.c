/* SPDX-License-Identifier: MIT */
/* The ledger's file: what is refused, what is kept from one life to the next. */
#include "ledger_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

START_TEST(an_id_never_comes_back)
{
	ten_trials();
	reopen();
	ck_assert_uint_eq(ledger_next_id(ledger), 11);
	close_ledger();
	edit("PRAGMA foreign_keys=ON; DELETE FROM trials WHERE id > 4");
	open_ledger();
	ck_assert_uint_eq(ledger_next_id(ledger), 11);
	/* The labels of what was pruned went with it. */
	ck_assert_str_eq(list(WANTED(.labels = LABELS({"odd", "yes"}))), "3 1");
	close_ledger();
	edit("DELETE FROM trials; DELETE FROM sqlite_sequence WHERE name = 'events'");
	open_ledger();
	ck_assert_uint_eq(ledger_next_id(ledger), 11);
}
END_TEST

static void assert_refused(const char *part, const char *other_part)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;

	ck_assert_int_eq(ledger_open(&ledger, &loop, folder, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, folder));
	ck_assert_msg(strstr(fault.message, part) && strstr(fault.message, other_part), "%s",
		      fault.message);
	ledger = NULL;
}

START_TEST(a_newer_schema_is_refused)
{
	close_ledger();
	edit("PRAGMA user_version=7");
	assert_refused("version 7", "up to 2");
	edit("PRAGMA user_version=2; PRAGMA application_id=5");
	assert_refused("not a ledger", "");
	ck_assert_str_eq(query("PRAGMA user_version"), "2");
}
END_TEST

static void write_at(const char *name, off_t offset, const void *bytes, size_t size)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, offset), (ssize_t)size);
	close(fd);
}

START_TEST(a_damaged_file_is_refused_and_kept)
{
	char noise[4096];
	struct stat st;
	char path[160];

	ten_trials();
	close_ledger();
	memset(noise, 0x5a, sizeof(noise));
	snprintf(path, sizeof(path), "%s/ledger.db", folder);
	write_at("ledger.db", 4096, noise, sizeof(noise));
	assert_refused("damaged", "");
	write_at("ledger.db", 0, noise, sizeof(noise));
	assert_refused("damaged", "");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 4096);
}
END_TEST

START_TEST(a_damaged_row_harms_only_its_own_calls)
{
	struct ledger_change to = LEDGER_CHANGE(STATE_running);
	struct ledger_new trial = new_trial();
	struct asked asked[5];

	ck_assert_int_eq(insert(&trial), 0);
	trial = new_trial();
	ck_assert_int_eq(insert(&trial), 0);
	close_ledger();
	edit("UPDATE trials SET outcome = 'nonsense' WHERE id = 1");
	open_ledger();
	trial = new_trial();
	ledger_change(ledger, &ask(&asked[0])->call, 2, ANY, &to);
	ledger_change(ledger, &ask(&asked[1])->call, 1, ANY, &to);
	ledger_get(ledger, &ask(&asked[2])->call, 1);
	ledger_insert(ledger, &ask(&asked[3])->call, &trial);
	ledger_get(ledger, &ask(&asked[4])->call, 3);
	finish();
	ck_assert_int_eq(asked[0].call.result, 0);
	ck_assert_int_eq(asked[1].call.result, -EUCLEAN);
	ck_assert_int_eq(asked[2].call.result, -EUCLEAN);
	ck_assert_int_eq(asked[3].call.result, 0);
	ck_assert_int_eq(asked[4].call.result, 0);
	for (int i = 0; i < 5; i++)
		forget(&asked[i]);
}
END_TEST

START_TEST(the_files_are_private)
{
	static const char *const names[] = {"ledger.db", "ledger.db-wal", "ledger.db-shm"};
	struct ledger_new trial = new_trial();
	struct stat st;
	char path[160];

	ck_assert_int_eq(insert(&trial), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, 0600);
	}
	close_ledger();
	snprintf(path, sizeof(path), "%s/ledger.db", folder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	assert_refused("ledger.db", "");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	assert_refused("not a file of ours", "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ledger files");
	TCase *files = tcase_create("files");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_add_test(files, an_id_never_comes_back);
	tcase_add_test(files, a_newer_schema_is_refused);
	tcase_add_test(files, a_damaged_file_is_refused_and_kept);
	tcase_add_test(files, a_damaged_row_harms_only_its_own_calls);
	tcase_add_test(files, the_files_are_private);
	suite_add_tcase(suite, files);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
