/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "serve/descriptors.h"

static int ends[2]; /* ours, the client's */
static struct descriptors descriptors;
static char buffer[64];
static int lowest; /* the first number that is free */

static int first_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

static void setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	descriptors = (struct descriptors){0};
	lowest = first_free();
}

static void teardown(void)
{
	descriptors_done(&descriptors);
	ck_assert_uint_eq(descriptors.count, 0);
	ck_assert_int_eq(first_free(), lowest);
	close(ends[0]);
	close(ends[1]);
}

/* count times the same descriptor, beside these bytes. */
static void send_with(const char *bytes, int fd, size_t count)
{
	union {
		char bytes[CMSG_SPACE(253 * sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {.iov_base = (char *)bytes, .iov_len = strlen(bytes)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (count) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		for (size_t i = 0; i < count; i++)
			memcpy(CMSG_DATA(&control.header) + i * sizeof(fd), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(ends[1], &message, 0), (ssize_t)part.iov_len);
}

static ssize_t receive(void)
{
	return descriptors_receive(&descriptors, ends[0], buffer, sizeof(buffer));
}

static bool is_null(int fd)
{
	struct stat is, null;

	return fstat(fd, &is) == 0 && stat("/dev/null", &null) == 0 && is.st_rdev == null.st_rdev;
}

START_TEST(bytes_alone)
{
	ck_assert_int_eq(receive(), -EAGAIN);
	send_with("abc", -1, 0);
	ck_assert_int_eq(receive(), 3);
	ck_assert_mem_eq(buffer, "abc", 3);
	ck_assert_int_eq(descriptors_take(&descriptors), -1);
	shutdown(ends[1], SHUT_WR);
	ck_assert_int_eq(receive(), 0);
}
END_TEST

START_TEST(close_on_exec_from_birth)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;

	send_with("x", null, 1);
	close(null);
	ck_assert_int_eq(receive(), 1);
	fd = descriptors_take(&descriptors);
	ck_assert(is_null(fd));
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	ck_assert_int_eq(descriptors_take(&descriptors), -1);
}
END_TEST

START_TEST(in_the_order_they_came)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;
	int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	send_with("before", -1, 0);
	send_with("a", null, 1);
	send_with("b", other, 1);
	send_with("after", -1, 0);
	/* What came before may be with it; what comes after is not. */
	ck_assert_int_eq(receive(), 7);
	ck_assert_uint_eq(descriptors.count, 1);
	ck_assert_int_eq(receive(), 1);
	ck_assert_uint_eq(descriptors.count, 2);
	fd = descriptors_take(&descriptors);
	ck_assert(is_null(fd));
	close(fd);
	fd = descriptors_take(&descriptors);
	ck_assert_int_ge(fd, 0);
	ck_assert(!is_null(fd));
	close(fd);
	ck_assert_int_eq(receive(), 5);
	close(null);
	close(other);
}
END_TEST

/* Row: how many come at once. */
START_TEST(more_than_fit)
{
	static const size_t counts[] = {DESCRIPTORS_MAX + 1, DESCRIPTORS_MAX + 2, 64, 253};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	send_with("x", null, counts[_i]);
	close(null);
	ck_assert_int_eq(receive(), -EPROTO);
	ck_assert_uint_eq(descriptors.count, 0);
	ck_assert_int_eq(first_free(), lowest);
}
END_TEST

START_TEST(more_than_fit_one_by_one)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i <= DESCRIPTORS_MAX; i++)
		send_with("x", null, 1);
	close(null);
	for (int i = 0; i < DESCRIPTORS_MAX; i++)
		ck_assert_int_eq(receive(), 1);
	ck_assert_int_eq(receive(), -EPROTO);
	ck_assert_uint_eq(descriptors.count, 0);
	ck_assert_int_eq(first_free(), lowest);
}
END_TEST

START_TEST(none_left_to_receive_with)
{
	struct rlimit before, none;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	send_with("x", null, 2);
	close(null);
	none = before;
	none.rlim_cur = (rlim_t)lowest + 1; /* room for one of two */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(receive(), -EPROTO);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(first_free(), lowest);
}
END_TEST

static Suite *descriptors_suite(void)
{
	Suite *suite = suite_create("descriptors");
	TCase *test_case = tcase_create("descriptors");

	tcase_add_checked_fixture(test_case, setup, teardown);
	tcase_add_test(test_case, bytes_alone);
	tcase_add_test(test_case, close_on_exec_from_birth);
	tcase_add_test(test_case, in_the_order_they_came);
	tcase_add_loop_test(test_case, more_than_fit, 0, 4);
	tcase_add_test(test_case, more_than_fit_one_by_one);
	tcase_add_test(test_case, none_left_to_receive_with);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(descriptors_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
