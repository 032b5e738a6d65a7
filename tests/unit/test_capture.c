/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "keeper/capture.h"
#include "keeper/record.h"

/* What is captured and what a reader then sees, and the exit record beside it. */

#define CAP (64u * 1024u)
#define SEGMENT (CAP / 16)

static char folder[64];
static int folder_fd = -1;

static void set_up(void)
{
	strcpy(folder, "/tmp/test-capture.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder_fd, 0);
}

static void remove_files(enum stream stream)
{
	struct record_stream files;
	char name[RECORD_NAME_BYTES];

	ck_assert_int_eq(record_stream_open(&files, folder_fd, stream), 0);
	for (size_t i = 0; i < files.count; i++)
		unlinkat(folder_fd, record_segment_name(stream, files.segments[i].offset, name), 0);
}

static void tear_down(void)
{
	static const char *const names[] = {"outcome", "outcome.new", "stdout.1", "stdoutx"};

	remove_files(STREAM_stdout);
	remove_files(STREAM_stderr);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(folder_fd, names[i], 0);
	close(folder_fd);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* Every byte says where it belongs, with a period that fits no size in use. */
static char byte_at(uint64_t offset)
{
	return (char)(offset % 251);
}

static void produce(struct capture *capture, uint64_t size, size_t piece)
{
	char bytes[8192];

	while (size > 0) {
		size_t length = size < piece ? (size_t)size : piece;

		for (size_t i = 0; i < length; i++)
			bytes[i] = byte_at(capture->bytes + i);
		capture_store(capture, bytes, length);
		size -= length;
	}
}

/* Reads everything; *ret_gaps counts the holes, *ret_data the bytes. Returns where it ended. */
static uint64_t read_all(struct record_stream *stream, uint64_t from, size_t piece,
			 unsigned int *ret_gaps, uint64_t *ret_data)
{
	char bytes[8192];
	uint64_t gap_end;
	size_t size;
	int r;

	*ret_gaps = 0;
	*ret_data = 0;
	while ((r = record_stream_read(stream, from, bytes, piece, &size, &gap_end)) == 1) {
		if (size == 0) {
			ck_assert_uint_gt(gap_end, from);
			from = gap_end;
			(*ret_gaps)++;
			continue;
		}
		for (size_t i = 0; i < size; i++)
			ck_assert_int_eq(bytes[i], byte_at(from + i));
		from += size;
		*ret_data += size;
	}
	ck_assert_int_eq(r, 0);
	return from;
}

static const struct {
	uint64_t size;
	unsigned int gaps;
	uint64_t kept;
} amounts[] = {
	{0, 0, 0},
	{1, 0, 1},
	{CAP / 2 - 1, 0, CAP / 2 - 1},
	{CAP / 2, 0, CAP / 2},
	{CAP / 2 + 1, 0, CAP / 2 + 1},
	{CAP - 1, 0, CAP - 1},
	{CAP, 0, CAP},
	{CAP + 1, 1, CAP - SEGMENT + 1},
	{CAP + SEGMENT, 1, CAP},
	{100 * CAP + 77, 1, CAP - SEGMENT + 77},
};

static void check_amount(uint64_t amount, unsigned int gaps, uint64_t kept, size_t piece)
{
	struct record_stream stream;
	struct capture capture;
	uint64_t last = amount / 2 < SEGMENT ? amount / 2 : SEGMENT;
	unsigned int seen;
	uint64_t data;

	ck_assert_int_eq(capture_init(&capture, folder_fd, STREAM_stdout, CAP), 0);
	produce(&capture, amount, piece);
	ck_assert_uint_eq(capture.bytes, amount);
	ck_assert_uint_eq(capture.kept, kept);
	ck_assert_uint_eq(capture.unstored, 0);

	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	ck_assert_uint_eq(stream.bytes, amount);
	ck_assert_uint_eq(stream.kept, kept);
	ck_assert_uint_eq(read_all(&stream, 0, 1000, &seen, &data), amount);
	ck_assert_uint_eq(seen, gaps);
	ck_assert_uint_eq(data, kept);
	/* From within the tail, and from within the hole. */
	ck_assert_uint_eq(read_all(&stream, amount - last, 1000, &seen, &data), amount);
	ck_assert_uint_eq(seen, 0);
	ck_assert_uint_eq(data, last);
	if (gaps) {
		read_all(&stream, CAP / 2 + 1, 1000, &seen, &data);
		ck_assert_uint_eq(seen, 1);
	}
	capture_done(&capture);
	remove_files(STREAM_stdout);
}

START_TEST(head_and_tail)
{
	check_amount(amounts[_i].size, amounts[_i].gaps, amounts[_i].kept, 4096);
	check_amount(amounts[_i].size, amounts[_i].gaps, amounts[_i].kept, 8191);
	if (amounts[_i].size <= 2 * CAP)
		check_amount(amounts[_i].size, amounts[_i].gaps, amounts[_i].kept, 1);
}
END_TEST

START_TEST(streams_apart)
{
	struct record_stream stream;
	struct capture out, err;

	ck_assert_int_eq(capture_init(&out, folder_fd, STREAM_stdout, CAP), 0);
	ck_assert_int_eq(capture_init(&err, folder_fd, STREAM_stderr, CAP), 0);
	produce(&out, CAP, 4096);
	produce(&err, 5, 5);
	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stderr), 0);
	ck_assert_uint_eq(stream.count, 1);
	ck_assert_uint_eq(stream.bytes, 5);
	capture_done(&out);
	capture_done(&err);
	/* A second capture would mix with the first. */
	ck_assert_int_eq(capture_init(&out, folder_fd, STREAM_stdout, CAP), -EEXIST);
}
END_TEST

/* A reader that looked long ago, while the writer went on and removed what it saw. */
START_TEST(reader_overtaken)
{
	struct record_stream stream;
	struct capture capture;
	uint64_t gap_end, data;
	unsigned int gaps;
	char bytes[100];
	size_t size;

	ck_assert_int_eq(capture_init(&capture, folder_fd, STREAM_stdout, CAP), 0);
	produce(&capture, CAP / 2 + SEGMENT + 10, 4096);
	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	produce(&capture, 3 * CAP, 4096);
	/* Its first segment is gone now. */
	ck_assert_int_eq(
		record_stream_read(&stream, CAP / 2 + 5, bytes, sizeof(bytes), &size, &gap_end), 1);
	ck_assert_uint_eq(size, 0);
	ck_assert_uint_gt(gap_end, 2 * CAP);
	ck_assert_uint_eq(read_all(&stream, 0, 1000, &gaps, &data), capture.bytes);
	ck_assert_uint_eq(gaps, 1);
	ck_assert_uint_eq(data, capture.kept);
	/* At the end, and a byte more. */
	ck_assert_int_eq(record_stream_read(&stream, capture.bytes, bytes, 1, &size, &gap_end), 0);
	produce(&capture, 1, 1);
	ck_assert_int_eq(record_stream_read(&stream, capture.bytes - 1, bytes, 1, &size, &gap_end),
			 1);
	ck_assert_uint_eq(size, 1);
	capture_done(&capture);
}
END_TEST

/* Followed all the way, in steps that fit nothing: no byte missed or doubled. */
START_TEST(follower)
{
	struct record_stream stream;
	struct capture capture;
	uint64_t offset = 0, data;
	unsigned int gaps;

	ck_assert_int_eq(capture_init(&capture, folder_fd, STREAM_stdout, CAP), 0);
	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	while (offset < 5 * CAP) {
		uint64_t before = offset;

		produce(&capture, 1777, 1777);
		offset = read_all(&stream, offset, 999, &gaps, &data);
		ck_assert_uint_eq(gaps, 0);
		ck_assert_uint_eq(offset, before + data);
		ck_assert_uint_eq(offset, capture.bytes);
	}
	capture_done(&capture);
}
END_TEST

/*
 * A full disk, by way of the limit on a file's size: the writes fail as they would, at a place
 * that no segment ends at. The stream goes on, and says what it lost.
 */
START_TEST(files_cannot_be_written)
{
	const struct rlimit little = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	const struct rlimit enough = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	struct record_stream stream;
	struct capture capture;
	unsigned int gaps;
	uint64_t data;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(capture_init(&capture, folder_fd, STREAM_stdout, CAP), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	produce(&capture, 3000, 3000);
	ck_assert_uint_eq(capture.kept, 1000);
	ck_assert_uint_eq(capture.unstored, 2000);
	ck_assert_int_eq(capture.error, -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	produce(&capture, 30 * CAP, 8192);
	ck_assert_uint_eq(capture.kept, 1000);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &enough), 0);
	produce(&capture, 500, 500);
	ck_assert_uint_eq(capture.bytes, 3500 + 30 * CAP);
	ck_assert_uint_eq(capture.kept, 1500);
	ck_assert_uint_eq(capture.unstored, 2000 + 30 * CAP);

	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	ck_assert_uint_eq(stream.count, 2); /* no file for what could not be written */
	ck_assert_uint_eq(read_all(&stream, 0, 1000, &gaps, &data), capture.bytes);
	ck_assert_uint_eq(gaps, 1);
	ck_assert_uint_eq(data, 1500);
	capture_done(&capture);
}
END_TEST

START_TEST(names_of_others)
{
	static const char *const names[] = {"stdout.1", "stdoutx"};
	struct record_stream stream;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		close(openat(folder_fd, names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	ck_assert_uint_eq(stream.count, 0);
	ck_assert_uint_eq(stream.bytes, 0);
}
END_TEST

/* The pipe is drained of what it holds, though somebody keeps it open and writing. */
START_TEST(drain)
{
	struct record_stream stream;
	struct capture capture;
	struct loop loop;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(capture_init(&capture, folder_fd, STREAM_stdout, CAP), 0);
	ck_assert_int_eq(capture_start(&capture, &loop, &ends[0]), 0);
	ck_assert_int_eq(ends[0], -1);
	ck_assert_int_eq(write(ends[1], "left over", 9), 9);
	capture_drain(&capture);
	ck_assert_uint_eq(capture.bytes, 9);
	ck_assert_int_lt(capture.source.fd, 0);
	ck_assert_int_eq(record_stream_open(&stream, folder_fd, STREAM_stdout), 0);
	ck_assert_uint_eq(stream.bytes, 9);
	capture_done(&capture);
	loop_done(&loop);
	close(ends[1]);
}
END_TEST

static struct outcome_record sample_record(void)
{
	struct outcome_record record = {
		.has = {.outcome = true, .ended_at = true, .exit_code = true, .message = true},
		.outcome = OUTCOME_failed,
		.ended_at = 1234567,
		.exit_code = 3,
		.message = "why",
	};

	return record;
}

START_TEST(record_round)
{
	struct outcome_record record = sample_record(), got;
	struct record_file none = RECORD_FILE_INIT;
	struct message *message = NULL;

	ck_assert_int_eq(record_read(folder_fd, &message, &got), -ENOENT);
	for (int durable = 0; durable < 2; durable++) {
		struct record_file file = RECORD_FILE_INIT;

		record.exit_code++;
		ck_assert_int_eq(record_write(&file, folder_fd, &record, durable), 0);
		record_file_done(&file, folder_fd);
		ck_assert_int_eq(record_read(folder_fd, &message, &got), 0);
		ck_assert_int_eq(got.outcome, OUTCOME_failed);
		ck_assert_uint_eq(got.exit_code, record.exit_code);
		ck_assert_str_eq(got.message, "why");
		message = message_free(message);
	}
	ck_assert_int_lt(faccessat(folder_fd, "outcome.new", F_OK, 0), 0);
	record.has.outcome = false;
	ck_assert_int_eq(record_write(&none, folder_fd, &record, false), -EINVAL);
	ck_assert_int_lt(none.fd, 0);
}
END_TEST

/* The room is there from the start, and what the record does not need of it goes back. */
START_TEST(record_reserved)
{
	struct outcome_record record = sample_record(), got;
	struct record_file file = RECORD_FILE_INIT;
	struct message *message = NULL;
	struct stat st;
	ino_t reserved;

	ck_assert_int_eq(record_reserve(&file, folder_fd), 0);
	ck_assert_int_eq(fstatat(folder_fd, "outcome.new", &st, 0), 0);
	ck_assert_int_eq(st.st_size, RECORD_BYTES_RESERVED);
	ck_assert_int_ge(st.st_blocks * 512, RECORD_BYTES_RESERVED);
	reserved = st.st_ino;
	ck_assert_int_eq(record_read(folder_fd, &message, &got), -ENOENT);
	ck_assert_int_eq(record_write(&file, folder_fd, &record, false), 0);
	/* Once more, to make it durable: it is the same. */
	ck_assert_int_eq(record_write(&file, folder_fd, &record, true), 0);
	record_file_done(&file, folder_fd);
	ck_assert_int_lt(faccessat(folder_fd, "outcome.new", F_OK, 0), 0);
	ck_assert_int_eq(fstatat(folder_fd, "outcome", &st, 0), 0);
	ck_assert_uint_eq(st.st_ino, reserved);
	ck_assert_int_lt(st.st_size, 1000);
	ck_assert_int_eq(record_read(folder_fd, &message, &got), 0);
	ck_assert_uint_eq(got.exit_code, 3);
	message_free(message);
}
END_TEST

/* Cut at any byte: absent, never half a truth. */
START_TEST(record_torn)
{
	struct outcome_record record = sample_record(), got;
	struct record_file file = RECORD_FILE_INIT;
	struct message *message = NULL;
	struct stat st;
	int fd;

	ck_assert_int_eq(record_write(&file, folder_fd, &record, false), 0);
	record_file_done(&file, folder_fd);
	fd = openat(folder_fd, "outcome", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &st), 0);
	while (st.st_size > 0) {
		ck_assert_int_eq(ftruncate(fd, --st.st_size), 0);
		ck_assert_int_eq(record_read(folder_fd, &message, &got), -ENOENT);
	}
	ck_assert_int_eq(ftruncate(fd, RECORD_BYTES_MAX + 1), 0);
	ck_assert_int_eq(record_read(folder_fd, &message, &got), -ENOENT);
	close(fd);
	unlinkat(folder_fd, "outcome", 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", folder_fd, "outcome"), 0);
	ck_assert_int_eq(record_read(folder_fd, &message, &got), -ENOENT);
}
END_TEST

static Suite *capture_suite(void)
{
	Suite *suite = suite_create("capture");
	TCase *test_case = tcase_create("capture");

	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_loop_test(test_case, head_and_tail, 0, (int)ARRAY_SIZE(amounts));
	tcase_add_test(test_case, streams_apart);
	tcase_add_test(test_case, reader_overtaken);
	tcase_add_test(test_case, follower);
	tcase_add_test(test_case, files_cannot_be_written);
	tcase_add_test(test_case, names_of_others);
	tcase_add_test(test_case, drain);
	suite_add_tcase(suite, test_case);
	test_case = tcase_create("record");
	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_test(test_case, record_round);
	tcase_add_test(test_case, record_reserved);
	tcase_add_test(test_case, record_torn);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(capture_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
