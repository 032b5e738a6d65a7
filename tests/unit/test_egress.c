/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/egress.h"

static struct egress egress;

static void setup(void)
{
	egress = EGRESS_INIT;
}

static void teardown(void)
{
	egress_done(&egress);
}

static size_t count(const char *host, uint16_t port, enum verdict verdict, int64_t at)
{
	const struct egress_event event = {
		.opened = true,
		.host = host,
		.port = port,
		.verdict = verdict,
		.at = at,
	};

	return egress_count(&egress, &event);
}

START_TEST(each_host_port_and_verdict_is_one)
{
	ck_assert_uint_eq(count("a.example.com", 443, VERDICT_allowed, 10), 0);
	ck_assert_uint_eq(count("a.example.com", 443, VERDICT_allowed, 20), 0);
	ck_assert_uint_eq(count("a.example.com", 444, VERDICT_allowed, 30), 1);
	ck_assert_uint_eq(count("a.example.com", 443, VERDICT_unreachable, 40), 2);
	ck_assert_uint_eq(count("b.example.com", 443, VERDICT_allowed, 50), 3);
	ck_assert_uint_eq(count("", 0, VERDICT_bad_request, 60), 4);
	ck_assert_uint_eq(egress.count, 5);
	ck_assert_uint_eq(egress.entries[0].count, 2);
	ck_assert_int_eq(egress.entries[0].first_at, 10);
	ck_assert_str_eq(egress.entries[3].host, "b.example.com");
	ck_assert_uint_eq(egress.entries[1].port, 444);
	ck_assert_uint_eq(egress.entries[2].verdict, VERDICT_unreachable);
}
END_TEST

START_TEST(bytes_go_to_their_entry)
{
	size_t a = count("a", 443, VERDICT_allowed, 0), b = count("b", 443, VERDICT_allowed, 0);

	egress_add_bytes(&egress, a, 1, 2);
	egress_add_bytes(&egress, b, 10, 20);
	egress_add_bytes(&egress, a, 100, 200);
	ck_assert_uint_eq(egress.entries[a].sent_bytes, 101);
	ck_assert_uint_eq(egress.entries[a].received_bytes, 202);
	ck_assert_uint_eq(egress.entries[b].sent_bytes, 10);
	ck_assert_uint_eq(egress.entries[b].received_bytes, 20);
	ck_assert_uint_eq(egress.more_sent_bytes, 0);
}
END_TEST

START_TEST(beyond_a_thousand_all_is_summed)
{
	char host[32];
	size_t more = 0;

	for (int i = 0; i < EGRESS_ENTRIES_MAX; i++) {
		snprintf(host, sizeof(host), "h%d.example.com", i);
		ck_assert_uint_eq(count(host, 443, VERDICT_allowed, i), (size_t)i);
	}
	for (int i = 0; i < 7; i++) {
		snprintf(host, sizeof(host), "more%d.example.com", i);
		more = count(host, 443, VERDICT_allowed, 0);
		ck_assert_uint_eq(more, EGRESS_MORE);
	}
	egress_add_bytes(&egress, more, 3, 4);
	egress_add_bytes(&egress, more, 3, 4);
	/* Those of the thousand go on being counted one by one. */
	ck_assert_uint_eq(count("h5.example.com", 443, VERDICT_allowed, 0), 5);
	ck_assert_uint_eq(egress.entries[5].count, 2);
	ck_assert_uint_eq(egress.count, EGRESS_ENTRIES_MAX);
	ck_assert_uint_eq(egress.more_count, 7);
	ck_assert_uint_eq(egress.more_sent_bytes, 6);
	ck_assert_uint_eq(egress.more_received_bytes, 8);
}
END_TEST

/* So many names with that verdict. How many of them have an entry. */
static size_t count_many(const char *what, enum verdict verdict)
{
	size_t before = egress.count;
	char host[32];

	for (int i = 0; i < EGRESS_ENTRIES_MAX + 10; i++) {
		snprintf(host, sizeof(host), "%s%d.example.com", what, i);
		count(host, 443, verdict, i);
	}
	return egress.count - before;
}

START_TEST(refusals_and_failures_leave_room)
{
	size_t all = 5 * (EGRESS_ENTRIES_MAX + 10);

	ck_assert_uint_eq(count_many("a", VERDICT_not_allowed), EGRESS_REFUSED_MAX);
	ck_assert_uint_eq(count_many("b", VERDICT_plain_http), 0);
	ck_assert_uint_eq(count_many("c", VERDICT_too_many), 0);
	ck_assert_uint_eq(count_many("d", VERDICT_unresolved),
			  EGRESS_NOT_ALLOWED_MAX - EGRESS_REFUSED_MAX);
	ck_assert_uint_eq(count_many("e", VERDICT_allowed),
			  EGRESS_ENTRIES_MAX - EGRESS_NOT_ALLOWED_MAX);
	ck_assert_uint_eq(egress.count, EGRESS_ENTRIES_MAX);
	ck_assert_uint_eq(egress.more_count, all - EGRESS_ENTRIES_MAX);
}
END_TEST

START_TEST(what_failed_has_room_alone)
{
	ck_assert_uint_eq(count_many("a", VERDICT_unreachable), EGRESS_NOT_ALLOWED_MAX);
	ck_assert_uint_eq(count_many("b", VERDICT_not_allowed), 0);
	ck_assert_uint_eq(count_many("c", VERDICT_allowed),
			  EGRESS_ENTRIES_MAX - EGRESS_NOT_ALLOWED_MAX);
}
END_TEST

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage storage = {.ss_family = AF_INET};

	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)(void *)&storage)->sin_addr) != 1) {
		storage.ss_family = AF_INET6;
		ck_assert_int_eq(inet_pton(AF_INET6, text,
					   &((struct sockaddr_in6 *)(void *)&storage)->sin6_addr),
				 1);
	}
	return storage;
}

START_TEST(the_first_addresses_are_kept_once_each)
{
	static const char *const used[] = {"192.0.2.1",	  "2001:db8::1", "192.0.2.1", "192.0.2.10",
					   "2001:db8::1", "2001:db8::2", "192.0.2.99"};
	static const char *const kept[] = {"192.0.2.1", "2001:db8::1", "192.0.2.10", "2001:db8::2"};
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		struct sockaddr_storage one = address(used[i]);
		const struct egress_event event = {
			.host = "a",
			.port = 443,
			.verdict = VERDICT_allowed,
			.addresses = &one,
			.address_count = 1,
		};

		egress_count(&egress, &event);
	}
	ck_assert_uint_eq(egress.entries[0].address_count, EGRESS_ADDRESSES_MAX);
	for (size_t i = 0; i < EGRESS_ADDRESSES_MAX; i++) {
		egress_address_text(&egress.entries[0].addresses[i], text);
		ck_assert_str_eq(text, kept[i]);
	}
}
END_TEST

START_TEST(names_are_copied)
{
	char host[] = "a.example.com";

	count(host, 443, VERDICT_allowed, 0);
	memset(host, 'x', sizeof(host) - 1);
	ck_assert_str_eq(egress.entries[0].host, "a.example.com");
	ck_assert_uint_eq(count("a.example.com", 443, VERDICT_allowed, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress");
	TCase *tests = tcase_create("egress");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, each_host_port_and_verdict_is_one);
	tcase_add_test(tests, bytes_go_to_their_entry);
	tcase_add_test(tests, beyond_a_thousand_all_is_summed);
	tcase_add_test(tests, refusals_and_failures_leave_room);
	tcase_add_test(tests, what_failed_has_room_alone);
	tcase_add_test(tests, the_first_addresses_are_kept_once_each);
	tcase_add_test(tests, names_are_copied);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
