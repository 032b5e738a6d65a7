/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/mem.h"
#include "keeper/address.h"

/* A range by its first and last address, what it is, and what is right before it and right after. */
static const struct {
	const char *first, *last;
	enum address_kind kind, before, after;
} ranges[] = {
	{"0.0.0.0", "0.0.0.0", ADDRESS_UNSPECIFIED, ADDRESS_RESERVED, ADDRESS_RESERVED},
	{"0.0.0.1", "0.255.255.255", ADDRESS_RESERVED, ADDRESS_UNSPECIFIED, ADDRESS_PUBLIC},
	{"10.0.0.0", "10.255.255.255", ADDRESS_PRIVATE, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"100.64.0.0", "100.100.100.199", ADDRESS_SHARED, ADDRESS_PUBLIC, ADDRESS_METADATA},
	{"100.100.100.200", "100.100.100.200", ADDRESS_METADATA, ADDRESS_SHARED, ADDRESS_SHARED},
	{"100.100.100.201", "100.127.255.255", ADDRESS_SHARED, ADDRESS_METADATA, ADDRESS_PUBLIC},
	{"127.0.0.0", "127.255.255.255", ADDRESS_LOOPBACK, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"168.63.129.16", "168.63.129.16", ADDRESS_METADATA, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"169.254.0.0", "169.254.169.253", ADDRESS_LINK_LOCAL, ADDRESS_PUBLIC, ADDRESS_METADATA},
	{"169.254.169.254", "169.254.169.254", ADDRESS_METADATA, ADDRESS_LINK_LOCAL,
	 ADDRESS_LINK_LOCAL},
	{"169.254.170.2", "169.254.170.2", ADDRESS_METADATA, ADDRESS_LINK_LOCAL,
	 ADDRESS_LINK_LOCAL},
	{"169.254.170.23", "169.254.170.23", ADDRESS_METADATA, ADDRESS_LINK_LOCAL,
	 ADDRESS_LINK_LOCAL},
	{"169.254.170.24", "169.254.255.255", ADDRESS_LINK_LOCAL, ADDRESS_METADATA, ADDRESS_PUBLIC},
	{"172.16.0.0", "172.31.255.255", ADDRESS_PRIVATE, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"192.0.0.0", "192.0.0.191", ADDRESS_RESERVED, ADDRESS_PUBLIC, ADDRESS_METADATA},
	{"192.0.0.192", "192.0.0.192", ADDRESS_METADATA, ADDRESS_RESERVED, ADDRESS_RESERVED},
	{"192.0.0.193", "192.0.0.255", ADDRESS_RESERVED, ADDRESS_METADATA, ADDRESS_PUBLIC},
	{"192.0.2.0", "192.0.2.255", ADDRESS_RESERVED, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"192.88.99.0", "192.88.99.255", ADDRESS_TRANSLATED, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"192.168.0.0", "192.168.255.255", ADDRESS_PRIVATE, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"198.18.0.0", "198.19.255.255", ADDRESS_RESERVED, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"198.51.100.0", "198.51.100.255", ADDRESS_RESERVED, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"203.0.113.0", "203.0.113.255", ADDRESS_RESERVED, ADDRESS_PUBLIC, ADDRESS_PUBLIC},
	{"224.0.0.0", "239.255.255.255", ADDRESS_MULTICAST, ADDRESS_PUBLIC, ADDRESS_RESERVED},
	{"240.0.0.0", "255.255.255.255", ADDRESS_RESERVED, ADDRESS_MULTICAST, ADDRESS_UNSPECIFIED},

	{"::", "::", ADDRESS_UNSPECIFIED, ADDRESS_MULTICAST, ADDRESS_LOOPBACK},
	{"::1", "::1", ADDRESS_LOOPBACK, ADDRESS_UNSPECIFIED, ADDRESS_MAPPED},
	{"::2", "::255.255.255.255", ADDRESS_MAPPED, ADDRESS_LOOPBACK, ADDRESS_RESERVED},
	{"::ffff:0.0.0.0", "::ffff:255.255.255.255", ADDRESS_MAPPED, ADDRESS_RESERVED,
	 ADDRESS_RESERVED},
	{"::ffff:0:0.0.0.0", "::ffff:0:255.255.255.255", ADDRESS_TRANSLATED, ADDRESS_RESERVED,
	 ADDRESS_RESERVED},
	{"64:ff9b::0.0.0.0", "64:ff9b::255.255.255.255", ADDRESS_TRANSLATED, ADDRESS_RESERVED,
	 ADDRESS_RESERVED},
	{"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", ADDRESS_TRANSLATED, ADDRESS_RESERVED,
	 ADDRESS_RESERVED},
	{"100::", "100::ffff:ffff:ffff:ffff", ADDRESS_RESERVED, ADDRESS_RESERVED, ADDRESS_RESERVED},
	{"2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC, ADDRESS_RESERVED,
	 ADDRESS_TRANSLATED},
	{"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_TRANSLATED, ADDRESS_PUBLIC,
	 ADDRESS_RESERVED},
	{"2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED, ADDRESS_TRANSLATED,
	 ADDRESS_PUBLIC},
	{"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED, ADDRESS_PUBLIC,
	 ADDRESS_PUBLIC},
	{"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_TRANSLATED, ADDRESS_PUBLIC,
	 ADDRESS_PUBLIC},
	{"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED, ADDRESS_PUBLIC,
	 ADDRESS_PUBLIC},
	{"3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC, ADDRESS_RESERVED,
	 ADDRESS_RESERVED},
	{"4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED, ADDRESS_PUBLIC,
	 ADDRESS_UNIQUE_LOCAL},
	{"fc00::", "fd00:41:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_UNIQUE_LOCAL, ADDRESS_RESERVED,
	 ADDRESS_UNIQUE_LOCAL},
	{"fd00:42::42", "fd00:42::42", ADDRESS_METADATA, ADDRESS_UNIQUE_LOCAL,
	 ADDRESS_UNIQUE_LOCAL},
	{"fd00:ec2::254", "fd00:ec2::254", ADDRESS_METADATA, ADDRESS_UNIQUE_LOCAL,
	 ADDRESS_UNIQUE_LOCAL},
	{"fd00:ec2::23", "fd00:ec2::23", ADDRESS_METADATA, ADDRESS_UNIQUE_LOCAL,
	 ADDRESS_UNIQUE_LOCAL},
	{"fd20:ce::254", "fd20:ce::254", ADDRESS_METADATA, ADDRESS_UNIQUE_LOCAL,
	 ADDRESS_UNIQUE_LOCAL},
	{"fd20:ce::255", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_UNIQUE_LOCAL,
	 ADDRESS_METADATA, ADDRESS_RESERVED},
	{"fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED,
	 ADDRESS_UNIQUE_LOCAL, ADDRESS_LINK_LOCAL},
	{"fe80::", "fe80::a9fe:a9fd", ADDRESS_LINK_LOCAL, ADDRESS_RESERVED, ADDRESS_METADATA},
	{"fe80::a9fe:a9fe", "fe80::a9fe:a9fe", ADDRESS_METADATA, ADDRESS_LINK_LOCAL,
	 ADDRESS_LINK_LOCAL},
	{"fe80::a9fe:a9ff", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_LINK_LOCAL,
	 ADDRESS_METADATA, ADDRESS_PRIVATE},
	{"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PRIVATE, ADDRESS_LINK_LOCAL,
	 ADDRESS_MULTICAST},
	{"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MULTICAST, ADDRESS_PRIVATE,
	 ADDRESS_UNSPECIFIED},
};

/* And some within. */
static const struct {
	const char *address;
	enum address_kind kind;
} single[] = {
	{"1.1.1.1", ADDRESS_PUBLIC},
	{"8.8.8.8", ADDRESS_PUBLIC},
	{"93.184.215.14", ADDRESS_PUBLIC},
	{"223.255.255.255", ADDRESS_PUBLIC},
	{"127.0.0.1", ADDRESS_LOOPBACK},
	{"127.0.0.53", ADDRESS_LOOPBACK},
	{"172.17.0.1", ADDRESS_PRIVATE},
	{"255.255.255.255", ADDRESS_RESERVED},
	{"2606:4700:4700::1111", ADDRESS_PUBLIC},
	{"2a00:1450:4001:800::200e", ADDRESS_PUBLIC},
	{"::ffff:127.0.0.1", ADDRESS_MAPPED},
	{"::ffff:8.8.8.8", ADDRESS_MAPPED},
	{"::127.0.0.1", ADDRESS_MAPPED},
	{"::ffff:0:127.0.0.1", ADDRESS_TRANSLATED},
	{"64:ff9b::7f00:1", ADDRESS_TRANSLATED},
	{"64:ff9b:1:ff::a00:1", ADDRESS_TRANSLATED},
	{"2002:7f00:1::", ADDRESS_TRANSLATED},
	{"2001:0:4136:e378:8000:63bf:3fff:fdd2", ADDRESS_TRANSLATED},
	{"2a00:1450::5efe:7f00:1", ADDRESS_TRANSLATED},
	{"2a00:1450::200:5efe:a00:1", ADDRESS_TRANSLATED},
	{"2a00:1450::100:5efe:a00:1", ADDRESS_PUBLIC},
	{"2a00:1450::5eff:a00:1", ADDRESS_PUBLIC},
	{"5f00::1", ADDRESS_RESERVED},
};

union any_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static uint8_t *parse(const char *text, union any_address *ret, int *ret_size)
{
	bool ipv6 = strchr(text, ':') != NULL;
	uint8_t *bytes;

	*ret = (union any_address){.any.sa_family = ipv6 ? AF_INET6 : AF_INET};
	bytes = ipv6 ? ret->ipv6.sin6_addr.s6_addr : (uint8_t *)&ret->ipv4.sin_addr;
	*ret_size = ipv6 ? 16 : 4;
	ck_assert_msg(inet_pton(ret->any.sa_family, text, bytes) == 1, "%s", text);
	return bytes;
}

/* The address that is so many away from it, round the end. */
static enum address_kind kind_of(const char *text, int step)
{
	union any_address address;
	int size;
	uint8_t *bytes = parse(text, &address, &size);

	for (int i = size - 1; i >= 0 && step != 0; i--) {
		bytes[i] = (uint8_t)(bytes[i] + step);
		if (bytes[i] != (step > 0 ? 0 : 255))
			step = 0;
	}
	return address_classify(&address.any);
}

START_TEST(range)
{
	ck_assert_msg(kind_of(ranges[_i].first, 0) == ranges[_i].kind, "%s", ranges[_i].first);
	ck_assert_msg(kind_of(ranges[_i].last, 0) == ranges[_i].kind, "%s", ranges[_i].last);
	ck_assert_msg(kind_of(ranges[_i].first, -1) == ranges[_i].before, "before %s",
		      ranges[_i].first);
	ck_assert_msg(kind_of(ranges[_i].last, 1) == ranges[_i].after, "after %s", ranges[_i].last);
}
END_TEST

START_TEST(one)
{
	ck_assert_msg(kind_of(single[_i].address, 0) == single[_i].kind, "%s", single[_i].address);
}
END_TEST

START_TEST(of_another_family)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	ck_assert_int_eq(address_classify((struct sockaddr *)(void *)&local), ADDRESS_RESERVED);
	ck_assert_int_eq(address_classify(&none), ADDRESS_RESERVED);
}
END_TEST

START_TEST(has_a_text)
{
	for (int kind = 0; kind < ADDRESS_KINDS; kind++) {
		ck_assert_str_ne(address_kind_text(kind), "");
		for (int other = 0; other < kind; other++)
			ck_assert_str_ne(address_kind_text(kind), address_kind_text(other));
	}
	ck_assert_str_eq(address_kind_text(ADDRESS_KINDS), "unknown");
}
END_TEST

static Suite *address_suite(void)
{
	Suite *suite = suite_create("address");
	TCase *test_case = tcase_create("address");

	tcase_add_loop_test(test_case, range, 0, ARRAY_SIZE(ranges));
	tcase_add_loop_test(test_case, one, 0, ARRAY_SIZE(single));
	tcase_add_test(test_case, of_another_family);
	tcase_add_test(test_case, has_a_text);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(address_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
