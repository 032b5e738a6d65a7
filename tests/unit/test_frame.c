/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/protocol.h"
#include "sample.h"

static struct frame_reader reader;

static void set_up(void)
{
	frame_reader_init(&reader);
}

static void tear_down(void)
{
	frame_reader_done(&reader);
}

static void put_header(uint8_t *header, uint32_t size)
{
	for (int i = 0; i < FRAME_HEADER_BYTES; i++)
		header[i] = (uint8_t)(size >> (8 * (3 - i)));
}

static const struct {
	uint32_t size;
	int expected;
} lengths[] = {
	{0, -EBADMSG},
	{1, 0},
	{FRAME_BYTES_MAX - 1, 0},
	{FRAME_BYTES_MAX, 0},
	{FRAME_BYTES_MAX + 1, -EBADMSG},
	{0x7fffffff, -EBADMSG},
	{0x80000000, -EBADMSG},
	{0xffffffff, -EBADMSG},
};

START_TEST(claimed_length)
{
	uint8_t header[FRAME_HEADER_BYTES];
	const uint8_t *body;
	size_t size;

	put_header(header, lengths[_i].size);
	/* Nothing is said before the length is whole. */
	ck_assert_int_eq(frame_reader_feed(&reader, header, 3), 0);
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 0);
	ck_assert(frame_reader_partial(&reader));

	ck_assert_int_eq(frame_reader_feed(&reader, header + 3, 1), lengths[_i].expected);
	/* A claim costs nothing. */
	ck_assert_uint_le(reader.capacity, 4096);
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), lengths[_i].expected);
	/* And a broken stream stays broken, whatever comes. */
	if (lengths[_i].expected < 0) {
		put_header(header, 1);
		ck_assert_int_eq(frame_reader_feed(&reader, header, 4), -EBADMSG);
		ck_assert_int_eq(frame_reader_next(&reader, &body, &size), -EBADMSG);
		ck_assert(!frame_reader_partial(&reader));
	}
}
END_TEST

START_TEST(largest_frame_in_pieces)
{
	uint8_t *frame = malloc(FRAME_HEADER_BYTES + FRAME_BYTES_MAX);
	size_t total = FRAME_HEADER_BYTES + FRAME_BYTES_MAX, size;
	const uint8_t *body;

	ck_assert_ptr_nonnull(frame);
	memset(frame, 'x', total);
	put_header(frame, FRAME_BYTES_MAX);
	for (size_t at = 0; at < total; at += 1000) {
		size_t piece = total - at < 1000 ? total - at : 1000;

		ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 0);
		ck_assert_int_eq(frame_reader_feed(&reader, frame + at, piece), 0);
		ck_assert_uint_le(reader.capacity, 2 * (at + piece) + 4096);
	}
	ck_assert(!frame_reader_partial(&reader));
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 1);
	ck_assert_uint_eq(size, FRAME_BYTES_MAX);
	ck_assert_mem_eq(body, frame + FRAME_HEADER_BYTES, size);
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 0);
	/* An idle client does not keep its largest frame's room. */
	ck_assert_uint_le(reader.capacity, 4096);
	free(frame);
}
END_TEST

/* Three frames: "a", "bc", "d". */
static const uint8_t three[] = {0, 0, 0, 1, 'a', 0, 0, 0, 2, 'b', 'c', 0, 0, 0, 1, 'd'};

static void expect_frame(const char *expected)
{
	const uint8_t *body;
	size_t size;

	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 1);
	ck_assert_uint_eq(size, strlen(expected));
	ck_assert_mem_eq(body, expected, size);
}

START_TEST(byte_by_byte)
{
	static const size_t ends[] = {5, 11, 16};
	static const char *const bodies[] = {"a", "bc", "d"};
	const uint8_t *body;
	size_t size, frame = 0;

	for (size_t i = 0; i < sizeof(three); i++) {
		ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 0);
		ck_assert_int_eq(frame_reader_feed(&reader, three + i, 1), 0);
		ck_assert_int_eq(frame_reader_partial(&reader), i + 1 != ends[frame]);
		if (i + 1 == ends[frame])
			expect_frame(bodies[frame++]);
	}
	ck_assert_uint_eq(frame, 3);
	ck_assert(!frame_reader_partial(&reader));
}
END_TEST

START_TEST(several_at_once)
{
	const uint8_t *body;
	size_t size;

	ck_assert_int_eq(frame_reader_feed(&reader, three, sizeof(three)), 0);
	ck_assert(!frame_reader_partial(&reader));
	expect_frame("a");
	/* More may come while frames are still to be taken. */
	ck_assert_int_eq(frame_reader_feed(&reader, three, 7), 0);
	ck_assert(frame_reader_partial(&reader));
	expect_frame("bc");
	expect_frame("d");
	expect_frame("a");
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 0);
	ck_assert(frame_reader_partial(&reader));
	ck_assert_int_eq(frame_reader_feed(&reader, three + 7, 4), 0);
	expect_frame("bc");
}
END_TEST

START_TEST(good_frames_before_a_bad_one)
{
	static const uint8_t bad[] = {0, 0, 0, 1, 'a', 0, 0, 0, 0, 'x'};
	const uint8_t *body;
	size_t size;

	ck_assert_int_eq(frame_reader_feed(&reader, bad, sizeof(bad)), 0);
	expect_frame("a");
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), -EBADMSG);
	ck_assert_int_eq(frame_reader_feed(&reader, bad, sizeof(bad)), -EBADMSG);
	ck_assert_uint_eq(reader.capacity, 0);
}
END_TEST

/* Random frames in random pieces come out as they went in. */
START_TEST(random_pieces)
{
	struct sample *sample = sample_new((uint64_t)_i);
	uint8_t stream[20000], *bodies[40];
	size_t sizes[40], total = 0, at = 0, seen = 0;

	for (size_t i = 0; i < 40; i++) {
		sizes[i] = 1 + sample_number(sample, 400);
		put_header(stream + total, (uint32_t)sizes[i]);
		bodies[i] = stream + total + FRAME_HEADER_BYTES;
		for (size_t j = 0; j < sizes[i]; j++)
			bodies[i][j] = (uint8_t)sample_number(sample, 256);
		total += FRAME_HEADER_BYTES + sizes[i];
	}
	while (at < total) {
		size_t piece = 1 + sample_number(sample, 700), size;
		const uint8_t *body;

		if (piece > total - at)
			piece = total - at;
		ck_assert_int_eq(frame_reader_feed(&reader, stream + at, piece), 0);
		at += piece;
		while (sample_number(sample, 4) && frame_reader_next(&reader, &body, &size) == 1) {
			ck_assert_uint_eq(size, sizes[seen]);
			ck_assert_mem_eq(body, bodies[seen], size);
			seen++;
		}
	}
	for (; seen < 40; seen++) {
		const uint8_t *body;
		size_t size;

		ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 1);
		ck_assert_uint_eq(size, sizes[seen]);
		ck_assert_mem_eq(body, bodies[seen], size);
	}
	ck_assert(!frame_reader_partial(&reader));
	sample_free(sample);
}
END_TEST

static Suite *frame_suite(void)
{
	Suite *suite = suite_create("frame");
	TCase *test_case = tcase_create("reader");

	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_loop_test(test_case, claimed_length, 0, sizeof(lengths) / sizeof(lengths[0]));
	tcase_add_test(test_case, largest_frame_in_pieces);
	tcase_add_test(test_case, byte_by_byte);
	tcase_add_test(test_case, several_at_once);
	tcase_add_test(test_case, good_frames_before_a_bad_one);
	tcase_add_loop_test(test_case, random_pieces, 0, 20);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(frame_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
