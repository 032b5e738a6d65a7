/* SPDX-License-Identifier: MIT */
/*
 * The write-ahead log: what was committed and is missing, and what a crash may leave. The logs are
 * SQLite's own, copied while they are in use, as a killed process would leave them.
 */
#include "ledger_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "ledger/wal.h"

#define HEADER 32
#define FRAME (24 + 4096)
#define COMMITS 12

static char copy[80];
static int copy_fd = -1;
static off_t log_bytes;

static void copy_file(const char *suffix)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s/ledger.db%s %s/", folder, suffix, copy);
	ck_assert_int_eq(system(command), 0);
}

/* A folder with ledger, log and index of a life in which COMMITS were made; the last of several
 * frames each. */
static void setup_log(void)
{
	struct stat st;

	setup();
	for (int i = 0; i < COMMITS; i++) {
		struct ledger_new trial = new_trial();

		ck_assert_int_eq(insert(&trial), 0);
	}
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	ck_assert_int_eq(mkdir(copy, 0700), 0);
	copy_file("");
	copy_file("-wal");
	copy_file("-shm");
	copy_fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(copy_fd, 0);
	ck_assert_int_eq(fstatat(copy_fd, "ledger.db-wal", &st, 0), 0);
	log_bytes = st.st_size;
	ck_assert_int_gt(log_bytes, HEADER + COMMITS * FRAME);
	ck_assert_int_eq((log_bytes - HEADER) % FRAME, 0);
}

static void teardown_log(void)
{
	copy_fd = fd_close(copy_fd);
	teardown();
}

static int look(const char **ret_what)
{
	struct stat st;

	ck_assert_int_eq(fstatat(copy_fd, "ledger.db", &st, 0), 0);
	return wal_check(copy_fd, "ledger.db-wal", "ledger.db-shm", st.st_size, ret_what);
}

static void assert_whole(void)
{
	const char *what;

	ck_assert_int_eq(look(&what), 0);
	ck_assert_ptr_null(what);
}

static void assert_lacking(const char *part)
{
	const char *what;

	ck_assert_int_eq(look(&what), 1);
	ck_assert_msg(strstr(what, part) != NULL, "%s", what);
}

static void write_at(const char *name, off_t offset, const void *bytes, size_t size)
{
	int fd = openat(copy_fd, name, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, offset), (ssize_t)size);
	close(fd);
}

static void flip(off_t offset)
{
	int fd = openat(copy_fd, "ledger.db-wal", O_RDWR | O_CLOEXEC);
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

static void cut(off_t bytes)
{
	int fd = openat(copy_fd, "ledger.db-wal", O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, bytes), 0);
	close(fd);
}

static void without_index(void)
{
	ck_assert_int_eq(unlinkat(copy_fd, "ledger.db-shm", 0), 0);
}

START_TEST(a_whole_log)
{
	assert_whole();
	without_index();
	assert_whole();
	/* None at all: after a clean end. */
	ck_assert_int_eq(unlinkat(copy_fd, "ledger.db-wal", 0), 0);
	assert_whole();
}
END_TEST

START_TEST(one_that_was_only_begun)
{
	char zeros[HEADER] = {0};

	cut(0);
	without_index();
	assert_whole();
	write_at("ledger.db-wal", 0, zeros, sizeof(zeros));
	assert_whole();
	cut(7);
	assert_whole();
}
END_TEST

START_TEST(each_frame_is_missed)
{
	off_t count = (log_bytes - HEADER) / FRAME;

	/* The index knows how many there were. */
	for (off_t i = 0; i < count; i++) {
		flip(HEADER + i * FRAME + 24 + 100);
		assert_lacking("lost what was committed");
		flip(HEADER + i * FRAME + 24 + 100);
		flip(HEADER + i * FRAME + 9); /* a salt */
		assert_lacking("lost what was committed");
		flip(HEADER + i * FRAME + 9);
	}
	assert_whole();
	cut(log_bytes - FRAME);
	assert_lacking("lost what was committed");
	cut(HEADER + FRAME / 2);
	assert_lacking("lost what was committed");
}
END_TEST

START_TEST(without_an_index_the_middle_is_missed)
{
	off_t count = (log_bytes - HEADER) / FRAME;

	without_index();
	flip(HEADER + 24 + 100);
	assert_lacking("in the middle");
	flip(HEADER + 24 + 100);
	flip(HEADER + count / 2 * FRAME + 8);
	assert_lacking("in the middle");
	flip(HEADER + count / 2 * FRAME + 8);
	/* The last transaction may have been cut off by a crash: nothing shows that it was not. */
	flip(HEADER + (count - 1) * FRAME + 24 + 100);
	assert_whole();
	flip(HEADER + (count - 1) * FRAME + 24 + 100);
	cut(log_bytes - FRAME);
	assert_whole();
}
END_TEST

START_TEST(an_index_that_says_nothing)
{
	char noise[32];

	/* Its two copies differ, or it is of another round. */
	memset(noise, 0x5a, sizeof(noise));
	write_at("ledger.db-shm", 16, noise, 4);
	flip(HEADER + (log_bytes - HEADER) / FRAME * FRAME - FRAME + 24 + 100);
	assert_whole();
	write_at("ledger.db-shm", 48 + 16, noise, 4);
	assert_lacking("lost what was committed");
	write_at("ledger.db-shm", 32, noise, 8);
	write_at("ledger.db-shm", 48 + 32, noise, 8);
	assert_whole();
}
END_TEST

START_TEST(its_head)
{
	for (off_t i = 0; i < HEADER; i++) {
		flip(i);
		assert_lacking("head");
		flip(i);
	}
	assert_whole();
}
END_TEST

START_TEST(an_earlier_round_behind_it)
{
	int fd = openat(copy_fd, "ledger.db-wal", O_RDWR | O_APPEND | O_CLOEXEC);
	char old[3 * FRAME];

	/* Frames with other salts, and a beginning of one: SQLite writes over them in time. */
	memset(old, 0x11, sizeof(old));
	ck_assert_int_eq(write(fd, old, sizeof(old)), (ssize_t)sizeof(old));
	assert_whole();
	ck_assert_int_eq(write(fd, old, 1000), 1000);
	close(fd);
	assert_whole();
	without_index();
	assert_whole();
}
END_TEST

START_TEST(the_log_of_an_empty_file)
{
	int fd = openat(copy_fd, "ledger.db", O_WRONLY | O_TRUNC | O_CLOEXEC);

	close(fd);
	assert_lacking("it is empty");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ledger log");
	TCase *log = tcase_create("log");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(log, setup_log, teardown_log);
	tcase_set_timeout(log, 60);
	tcase_add_test(log, a_whole_log);
	tcase_add_test(log, one_that_was_only_begun);
	tcase_add_test(log, each_frame_is_missed);
	tcase_add_test(log, without_an_index_the_middle_is_missed);
	tcase_add_test(log, an_index_that_says_nothing);
	tcase_add_test(log, its_head);
	tcase_add_test(log, an_earlier_round_behind_it);
	tcase_add_test(log, the_log_of_an_empty_file);
	suite_add_tcase(suite, log);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
