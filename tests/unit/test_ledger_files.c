/* SPDX-License-Identifier: MIT */
/* The ledger's file: what is refused, what is kept from one life to the next. */
#include "ledger_fixture.h"

#include <dirent.h>
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

/* How many files in the folder begin so, and are or are not notes. */
static int files_like(const char *prefix, bool notes)
{
	DIR *open_folder = opendir(folder);
	struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(open_folder);
	while ((entry = readdir(open_folder)))
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
			 !strstr(entry->d_name, "Z-") &&
			 notes == (strstr(entry->d_name, ".txt") != NULL);
	closedir(open_folder);
	return count;
}

START_TEST(a_damaged_file_is_set_aside)
{
	char noise[4096];
	bool news;

	ten_trials();
	ck_assert_ptr_null(ledger_note(ledger, &news));
	ck_assert(!news);
	close_ledger();
	memset(noise, 0x5a, sizeof(noise));
	/* The first page after the head: the root of trials. */
	write_at("ledger.db", 4096, noise, sizeof(noise));
	open_ledger();
	ck_assert_ptr_nonnull(strstr(ledger_note(ledger, &news), "was corrupt"));
	ck_assert(news);
	ck_assert_str_eq(list(WANTED(.limit = 20)), "");
	/* Nothing was readable but that ten ids were given. */
	ck_assert_uint_eq(ledger_next_id(ledger), 11);
	close_ledger();
	write_at("ledger.db", 0, noise, sizeof(noise));
	open_ledger();
	ck_assert_int_eq(files_like("ledger.db.corrupt-", false), 2);
	ck_assert_int_eq(files_like("ledger.db.corrupt-", true), 2);
	ck_assert_uint_gt(ledger_next_id(ledger), 11);
	reopen();
	ck_assert_ptr_nonnull(ledger_note(ledger, &news));
	ck_assert(!news);
}
END_TEST

/* Ends and starts, rows and events of what can be read, in a damaged table of many pages. */
START_TEST(what_can_be_read_is_salvaged)
{
	struct pair label = {.name = "n", .value = "v"};
	char spec[2000];
	uint64_t id, kept = 0;
	struct stat st;
	char path[160];

	memset(spec, 'x', sizeof(spec));
	for (id = 1; id <= 200; id++) {
		struct ledger_change end = LEDGER_CHANGE(STATE_ended);
		struct ledger_new trial = new_trial();

		trial.spec = (struct blob){.data = (uint8_t *)spec, .size = sizeof(spec)};
		trial.labels = (struct pair_list){.count = 1, .items = &label};
		ck_assert_int_eq(insert(&trial), 0);
		end.outcome = OUTCOME_delivered;
		ck_assert_int_eq(change(id, ANY, &end), 0);
	}
	close_ledger();
	snprintf(path, sizeof(path), "%s/ledger.db", folder);
	ck_assert_int_eq(stat(path, &st), 0);
	/* Two pages far apart, neither at an end of the table. */
	memset(spec, 0, sizeof(spec));
	write_at("ledger.db", st.st_size / 3 / 4096 * 4096, spec, 8);
	write_at("ledger.db", st.st_size / 2 / 4096 * 4096, spec, 8);
	open_ledger();
	for (id = 1; id <= 200; id++)
		kept += present(id);
	ck_assert_uint_ge(kept, 190);
	ck_assert(present(1) && present(200));
	ck_assert_uint_eq(count_ended(), kept);
	ck_assert_uint_eq(ledger_next_id(ledger), 201);
	ck_assert_str_eq(query("PRAGMA integrity_check"), "ok");
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
	ck_assert_int_eq(asked[1].call.result, -EBADMSG);
	ck_assert_int_eq(asked[2].call.result, -EBADMSG);
	ck_assert_int_eq(asked[3].call.result, 0);
	ck_assert_int_eq(asked[4].call.result, 0);
	ck_assert_str_eq(list(WANTED(.limit = 1)), "3 (3)");
	ck_assert_str_eq(list(WANTED(.limit = 9)), "3 2");
	for (int i = 0; i < 5; i++)
		forget(&asked[i]);
}
END_TEST

static void move(const char *from, const char *to)
{
	char from_path[160], to_path[160];

	snprintf(from_path, sizeof(from_path), "%s/%s", folder, from);
	snprintf(to_path, sizeof(to_path), "%s/%s", folder, to);
	ck_assert_int_eq(rename(from_path, to_path), 0);
}

START_TEST(a_file_that_was_taken_away)
{
	static const char *const names[] = {"ledger.db", "ledger.db-wal"};
	struct ledger_new trial = new_trial();

	ck_assert_int_eq(insert(&trial), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_fault_ struct fault fault = FAULT_INIT;

		move(names[i], "elsewhere");
		trial = new_trial();
		ck_assert_int_eq(insert(&trial), -ENOLINK);
		ck_assert_int_eq(ledger_fault(ledger, 0, &fault), FAULT);
		ck_assert_ptr_nonnull(strstr(fault.message, folder));
		ck_assert_ptr_nonnull(fault.hint);
		/* What it has can still be read. */
		ck_assert(present(1));
		ck_assert(!present(trial.id));
		/* Another file in its place is not it. */
		write_at(names[i], 0, "other", 5);
		ck_assert_int_eq(insert(&trial), -ENOLINK);
		move("elsewhere", names[i]);
		ck_assert_int_eq(ledger_fault(ledger, 0, &fault), 0);
		ck_assert_int_eq(insert(&trial), 0);
	}
	reopen();
	ck_assert(present(3));
}
END_TEST

START_TEST(a_ledger_of_an_earlier_version)
{
	ten_trials();
	close_ledger();
	edit("DROP TABLE settings; DROP TABLE prunes; PRAGMA user_version=1");
	open_ledger();
	ck_assert_str_eq(query("PRAGMA user_version"), "2");
	ck_assert_str_eq(query("SELECT count(*) FROM settings"), "0");
	ck_assert_str_eq(list(WANTED(.state = "ended")), "9 6 5 3");
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
	tcase_add_test(files, a_damaged_file_is_set_aside);
	tcase_add_test(files, what_can_be_read_is_salvaged);
	tcase_add_test(files, a_file_that_was_taken_away);
	tcase_add_test(files, a_ledger_of_an_earlier_version);
	tcase_add_test(files, a_damaged_row_harms_only_its_own_calls);
	tcase_add_test(files, the_files_are_private);
	suite_add_tcase(suite, files);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
