/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keeper/allow.h"
#include "sample.h"

/* --- Authorities ---------------------------------------------------------------------------------- */

#define LABEL_63 "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-123456789"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." NAME_61
#define NAME_61 "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-1234567"

static const struct {
	const char *text;
	const char *name; /* NULL: refused */
	uint16_t port;
	bool address;
} hosts[] = {
	{"api.example.com:443", "api.example.com", 443, false},
	{"API.Example.COM:443", "api.example.com", 443, false},
	{"api.example.com.:443", "api.example.com", 443, false},
	{"a:1", "a", 1, false},
	{"a:65535", "a", 65535, false},
	{"localhost:80", "localhost", 80, false},
	{"a_b.c-d.example:443", "a_b.c-d.example", 443, false},
	{"_dmarc.example:443", "_dmarc.example", 443, false},
	{"xn--bcher-kva.example:443", "xn--bcher-kva.example", 443, false},
	{"1.example:443", "1.example", 443, false},
	{"1.2.3.4.example:443", "1.2.3.4.example", 443, false},
	{"0x7f.example:443", "0x7f.example", 443, false},
	{"a.0xg:443", "a.0xg", 443, false},
	{"a.1a:443", "a.1a", 443, false},
	{LABEL_63 ".example:443", LABEL_63 ".example", 443, false},
	{NAME_253 ":443", NAME_253, 443, false},
	{NAME_253 ".:443", NAME_253, 443, false},

	/* Ports */
	{"a", NULL, 0, false},
	{"a:", NULL, 0, false},
	{"a:0", NULL, 0, false},
	{"a:00", NULL, 0, false},
	{"a:0443", NULL, 0, false},
	{"a:65536", NULL, 0, false},
	{"a:99999", NULL, 0, false},
	{"a:4294967739", NULL, 0, false},
	{"a:+443", NULL, 0, false},
	{"a:-443", NULL, 0, false},
	{"a: 443", NULL, 0, false},
	{"a:443 ", NULL, 0, false},
	{"a:0x1bb", NULL, 0, false},
	{"a:443:443", NULL, 0, false},
	{"a:443/", NULL, 0, false},
	{"a:https", NULL, 0, false},

	/* No names */
	{"", NULL, 0, false},
	{":443", NULL, 0, false},
	{".:443", NULL, 0, false},
	{"..:443", NULL, 0, false},
	{".a:443", NULL, 0, false},
	{"a..b:443", NULL, 0, false},
	{"a..:443", NULL, 0, false},
	{"-a.example:443", NULL, 0, false},
	{"a-.example:443", NULL, 0, false},
	{"a.-:443", NULL, 0, false},
	{"*.example.com:443", NULL, 0, false},
	{LABEL_63 "x.example:443", NULL, 0, false},
	{NAME_253 "x:443", NULL, 0, false},
	{NAME_253 "..:443", NULL, 0, false},
	{"user@a.example:443", NULL, 0, false},
	{"user:password@a.example:443", NULL, 0, false},
	{"a.example:443@b.example:443", NULL, 0, false},
	{"http://a.example:443", NULL, 0, false},
	{"a.example/:443", NULL, 0, false},
	{"a.example?:443", NULL, 0, false},
	{"a.example#:443", NULL, 0, false},
	{"a%2eexample:443", NULL, 0, false},
	{"a example:443", NULL, 0, false},
	{"a.example\t:443", NULL, 0, false},
	{"a.example\r\n:443", NULL, 0, false},
	{"b\xc3\xbc"
	 "cher.example:443",
	 NULL, 0, false},
	{"a\xe3\x80\x82"
	 "example:443",
	 NULL, 0, false},			    /* the ideographic full stop */
	{"\xef\xbc\x91.2.3.4:443", NULL, 0, false}, /* a full-width digit */
	{"a\x7f.example:443", NULL, 0, false},

	/* Addresses, in any spelling */
	{"1.2.3.4:443", "1.2.3.4", 443, true},
	{"1.2.3.4.:443", "1.2.3.4", 443, true},
	{"127.0.0.1:443", "127.0.0.1", 443, true},
	{"127.1:443", "127.0.0.1", 443, true},
	{"127.0.1:443", "127.0.0.1", 443, true},
	{"0x7f.1:443", "127.0.0.1", 443, true},
	{"0X7F.0x1:443", "127.0.0.1", 443, true},
	{"0x7f000001:443", "127.0.0.1", 443, true},
	{"2130706433:443", "127.0.0.1", 443, true},
	{"017700000001:443", "127.0.0.1", 443, true},
	{"0177.0.0.1:443", "127.0.0.1", 443, true},
	{"0177.0.0.01.:443", "127.0.0.1", 443, true},
	{"00000000000000000000177.0.0.1:443", "127.0.0.1", 443, true},
	{"127.0x:443", "127.0.0.0", 443, true},
	{"0:443", "0.0.0.0", 443, true},
	{"00:443", "0.0.0.0", 443, true},
	{"0x:443", "0.0.0.0", 443, true},
	{"0x0:443", "0.0.0.0", 443, true},
	{"0.0:443", "0.0.0.0", 443, true},
	{"0.0.0.0:443", "0.0.0.0", 443, true},
	{"4294967295:443", "255.255.255.255", 443, true},
	{"255.16777215:443", "255.255.255.255", 443, true},
	{"255.255.65535:443", "255.255.255.255", 443, true},
	{"169.254.43518:443", "169.254.169.254", 443, true},
	{"0xa9fea9fe:443", "169.254.169.254", 443, true},
	{"[::1]:443", "::1", 443, true},
	{"[0:0:0:0:0:0:0:1]:443", "::1", 443, true},
	{"[0000:0000::0001]:443", "::1", 443, true},
	{"[::]:443", "::", 443, true},
	{"[::ffff:1.2.3.4]:443", "::ffff:1.2.3.4", 443, true},
	{"[::FFFF:102:304]:443", "::ffff:1.2.3.4", 443, true},
	{"[2001:DB8:0:0:0:0:0:1]:443", "2001:db8::1", 443, true},
	{"[64:ff9b::1.2.3.4]:443", "64:ff9b::102:304", 443, true},

	/* And what only looks like one */
	{"1.2.3.4", NULL, 0, false},
	{"1.2.3.4.5:443", NULL, 0, false},
	{"1.2.3.256:443", NULL, 0, false},
	{"1.2.256.4:443", NULL, 0, false},
	{"256.1:443", NULL, 0, false},
	{"1.16777216:443", NULL, 0, false},
	{"1.2.65536:443", NULL, 0, false},
	{"4294967296:443", NULL, 0, false},
	{"18446744073709551617:443", NULL, 0, false},
	{"99999999999999999999999999:443", NULL, 0, false},
	{"1.2.3.08:443", NULL, 0, false},
	{"1.2.3.09.:443", NULL, 0, false},
	{"1.2..4:443", NULL, 0, false},
	{"a.1:443", NULL, 0, false},
	{"foo.0x1:443", NULL, 0, false},
	{"foo.0x:443", NULL, 0, false},
	{"foo.0XfF:443", NULL, 0, false},
	{"foo.08:443", NULL, 0, false},
	{"a.example.1:443", NULL, 0, false},
	{"a.example.1.:443", NULL, 0, false},
	{"-1:443", NULL, 0, false},
	{"::1:443", NULL, 0, false},
	{"::1", NULL, 0, false},
	{"2001:db8::1:443", NULL, 0, false},
	{"[::1]", NULL, 0, false},
	{"[::1]443", NULL, 0, false},
	{"[::1].:443", NULL, 0, false},
	{"[::1:443", NULL, 0, false},
	{"::1]:443", NULL, 0, false},
	{"[]:443", NULL, 0, false},
	{"[", NULL, 0, false},
	{"[]", NULL, 0, false},
	{"[1.2.3.4]:443", NULL, 0, false},
	{"[a.example]:443", NULL, 0, false},
	{"[fe80::1%eth0]:443", NULL, 0, false},
	{"[fe80::1%25eth0]:443", NULL, 0, false},
	{"[v1.x]:443", NULL, 0, false},
	{"[::1 ]:443", NULL, 0, false},
	{"[[::1]]:443", NULL, 0, false},
	{"[::12345]:443", NULL, 0, false},
	{"[1:2:3:4:5:6:7:8:9]:443", NULL, 0, false},
	{"[::ffff:0x7f.1]:443", NULL, 0, false},
	{"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:1]:443", NULL, 0, false},
};

START_TEST(host_text)
{
	struct allow_host host;
	int r = allow_host_parse(hosts[_i].text, strlen(hosts[_i].text), 0, &host);

	ck_assert_msg(r == (hosts[_i].name ? 0 : -EINVAL), "\"%s\"", hosts[_i].text);
	ck_assert_str_eq(host.name, hosts[_i].name ? hosts[_i].name : "");
	ck_assert_uint_eq(host.port, hosts[_i].port);
	ck_assert_int_eq(host.address, hosts[_i].address);
}
END_TEST

START_TEST(default_port)
{
	struct allow_host host;

	ck_assert_int_eq(allow_host_parse("a.example", 9, 80, &host), 0);
	ck_assert_uint_eq(host.port, 80);
	ck_assert_int_eq(allow_host_parse("[::1]", 5, 80, &host), 0);
	ck_assert_uint_eq(host.port, 80);
	ck_assert_int_eq(allow_host_parse("a.example:81", 12, 80, &host), 0);
	ck_assert_uint_eq(host.port, 81);
	ck_assert_int_eq(allow_host_parse("a.example:", 10, 80, &host), -EINVAL);
	ck_assert_int_eq(allow_host_parse("[::1", 4, 80, &host), -EINVAL);
	ck_assert_int_eq(allow_host_parse("[::1\0x]", 7, 80, &host), -EINVAL);
}
END_TEST

/* Every byte at every place of an authority, NUL with them: only what hosts are made of passes. */
START_TEST(every_byte)
{
	static const char text[] = "aa.bb.example:443";
	static const size_t name = sizeof("aa.bb.example") - 1;

	for (size_t at = 0; at < name; at++)
		for (int byte = 0; byte < 256; byte++) {
			char changed[sizeof(text)];
			struct allow_host host;
			bool letter, separator;

			memcpy(changed, text, sizeof(text));
			changed[at] = (char)byte;
			letter = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
				 (byte >= 'A' && byte <= 'Z') || byte == '_';
			/* Between two letters, and not the last one, which would leave no end. */
			separator = (byte == '.' || byte == '-') &&
				    (text[at] == '.' ||
				     (at > 0 && text[at - 1] != '.' && text[at + 1] != '.'));
			if (byte == '.' && at == name - 1)
				separator = true;
			if (byte == '-' && at == name - 1)
				separator = false;
			ck_assert_msg(allow_host_parse(changed, sizeof(text) - 1, 0, &host) ==
					      (letter || separator ? 0 : -EINVAL),
				      "%zu: 0x%02x", at, byte);
		}
}
END_TEST

/* One number in one of its spellings. */
static void print_number(char *text, size_t size, uint32_t number, int base)
{
	switch (base) {
	case 0:
		snprintf(text, size, "%u", number);
		break;
	case 1:
	case 2:
		snprintf(text, size, "%s%o", base == 1 ? "0" : "000", number);
		break;
	case 3:
		snprintf(text, size, "0X%X", number);
		break;
	default:
		snprintf(text, size, "%s%x", base == 4 ? "0x" : "0x00", number);
	}
}

/* All 6^n spellings of n parts, for n from 1 to 4. */
START_TEST(every_spelling_of_an_address)
{
	static const uint32_t addresses[] = {0,		 0x7f000001, 0x0a000001, 0xa9fea9fe,
					     0x08080808, 0xffffffff, 0x640a0b0c};
	uint32_t address = addresses[_i];
	struct in_addr expected = {.s_addr = htonl(address)};

	for (int parts = 1; parts <= 4; parts++)
		for (int spelling = 0; spelling < 6 * 6 * 6 * 6; spelling++) {
			char text[128] = "", number[32];
			struct allow_host host;
			int bases = spelling;

			for (int part = 0; part < parts; part++, bases /= 6) {
				uint32_t value = part == parts - 1 && part == 0 ? address
						 : part == parts - 1
							 ? address & (UINT32_MAX >> (8 * part))
							 : address >> (8 * (3 - part)) & 255;

				print_number(number, sizeof(number), value, bases % 6);
				strcat(text, number);
				strcat(text, part == parts - 1 ? "" : ".");
			}
			strcat(text, spelling % 2 ? ".:443" : ":443");
			ck_assert_msg(allow_host_parse(text, strlen(text), 0, &host) == 0, "%s",
				      text);
			ck_assert(host.address);
			ck_assert_msg(strcmp(host.name, inet_ntoa(expected)) == 0, "%s: %s", text,
				      host.name);
		}
}
END_TEST

/* What the C library takes for an address must be that address here, or nothing. */
START_TEST(no_name_is_an_address_to_the_c_library)
{
	static const char alphabet[] = "0123456789xXabcdef.....00017";
	struct sample *sample = sample_new(5);
	int addresses = 0, names = 0;

	for (int i = 0; i < 200000; i++) {
		size_t size = 1 + sample_number(sample, 14);
		struct allow_host host;
		struct in_addr found;
		char text[32];
		bool is;

		for (size_t at = 0; at < size; at++)
			text[at] = alphabet[sample_number(sample, sizeof(alphabet) - 1)];
		text[size] = '\0';
		is = inet_aton(text, &found) != 0;
		if (allow_host_parse(text, size, 443, &host) < 0)
			continue;
		names += !host.address;
		addresses += is;
		ck_assert_msg(!is || host.address, "%s", text);
		ck_assert_msg(!is || strcmp(host.name, inet_ntoa(found)) == 0, "%s", text);
		ck_assert_msg(host.address || !inet_aton(host.name, &found), "%s", text);
	}
	ck_assert_int_gt(addresses, 1000);
	ck_assert_int_gt(names, 1000);
	sample_free(sample);
}
END_TEST

/* --- Rules ---------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *name;   /* or NULL */
	const char *reason; /* then */
	uint16_t port;
	bool suffix;
	bool address;
} rules[] = {
	{"api.example.com", "api.example.com", NULL, 443, false, false},
	{"api.example.com:443", "api.example.com", NULL, 443, false, false},
	{"api.example.com:8443", "api.example.com", NULL, 8443, false, false},
	{"localhost:8080", "localhost", NULL, 8080, false, false},
	{"*.example.com", "example.com", NULL, 443, true, false},
	{"*.example.com:8443", "example.com", NULL, 8443, true, false},
	{"*.a_b.example", "a_b.example", NULL, 443, true, false},
	{"192.0.2.1:8443", "192.0.2.1", NULL, 8443, false, true},
	{"192.0.2.1:443", "192.0.2.1", NULL, 443, false, true},
	{"[2001:db8::1]:443", "2001:db8::1", NULL, 443, false, true},
	{NAME_253 ":65535", NAME_253, NULL, 65535, false, false},
	{"", NULL, "no name of a host", 0, false, false},
	{"*", NULL, "a * stands", 0, false, false},
	{"*.", NULL, "no name of a host", 0, false, false},
	{"*.:443", NULL, "no name of a host", 0, false, false},
	{"*.com", NULL, "every host of a top-level domain", 0, false, false},
	{"*.com:443", NULL, "every host of a top-level domain", 0, false, false},
	{"*.localhost", NULL, "every host of a top-level domain", 0, false, false},
	{"*example.com", NULL, "a * stands", 0, false, false},
	{"**.example.com", NULL, "a * stands", 0, false, false},
	{"*.*.example.com", NULL, "a * stands", 0, false, false},
	{"a.*.example.com", NULL, "a * stands", 0, false, false},
	{"api.example.*", NULL, "a * stands", 0, false, false},
	{"api.example.com:*", NULL, "a * stands", 0, false, false},
	{"*..example.com", NULL, "no name of a host", 0, false, false},
	{"*.1.2.3.4:443", NULL, "before an address", 0, false, false},
	{"*.[::1]:443", NULL, "before an address", 0, false, false},
	{"*.3.4", NULL, "before an address", 0, false, false},
	{"API.example.com", NULL, "upper-case", 0, false, false},
	{"api.example.com.", NULL, "ends with a dot", 0, false, false},
	{"api.example.com.:443", NULL, "ends with a dot", 0, false, false},
	{"*.example.com.", NULL, "ends with a dot", 0, false, false},
	{"https://api.example.com", NULL, "a URL", 0, false, false},
	{"api.example.com/v1", NULL, "a URL", 0, false, false},
	{"user@api.example.com", NULL, "user's name", 0, false, false},
	{"b\xc3\xbc"
	 "cher.example",
	 NULL, "beyond ASCII", 0, false, false},
	{"api.example.com:", NULL, "its port", 0, false, false},
	{"api.example.com:0", NULL, "its port", 0, false, false},
	{"api.example.com:0443", NULL, "its port", 0, false, false},
	{"api.example.com:65536", NULL, "its port", 0, false, false},
	{"api.example.com:https", NULL, "its port", 0, false, false},
	{"api.example.com 443", NULL, "no name of a host", 0, false, false},
	{"-v", NULL, "no name of a host", 0, false, false},
	{"foo.0x1", NULL, "no name of a host", 0, false, false},
	{"1.2.3.4.5", NULL, "no name of a host", 0, false, false},
	{"192.0.2.1", NULL, "needs its port", 0, false, false},
	{"[2001:db8::1]", NULL, "needs its port", 0, false, false},
	{"192.0.2.1.:443", NULL, "how that address", 0, false, false},
	{"127.1:443", NULL, "how that address", 0, false, false},
	{"0x7f.1:443", NULL, "how that address", 0, false, false},
	{"2130706433:443", NULL, "how that address", 0, false, false},
	{"192.0.02.1:443", NULL, "how that address", 0, false, false},
	{"[2001:db8:0::1]:443", NULL, "how that address", 0, false, false},
	{"[2001:DB8::1]:443", NULL, "upper-case", 0, false, false},
	{"[::ffff:1.2.3.4]:443", NULL, "an IPv4 address", 0, false, false},
	{"[fe80::1%eth0]:443", NULL, "zone", 0, false, false},
	{"::1", NULL, "in brackets", 0, false, false},
	{"2001:db8::1:443", NULL, "in brackets", 0, false, false},
	{NAME_253 "x", NULL, "no name of a host", 0, false, false},
	{NAME_253 NAME_253, NULL, "longer than", 0, false, false},
};

START_TEST(rule_text)
{
	char text[ALLOW_TEXT_BYTES], again[ALLOW_TEXT_BYTES + 2];
	struct allow_rule rule, second;
	const char *reason = NULL;
	int r = allow_rule_parse(rules[_i].text, &rule, &reason);

	ck_assert_msg(r == (rules[_i].name ? 0 : -EINVAL), "\"%s\"", rules[_i].text);
	ck_assert_str_eq(rule.name, rules[_i].name ? rules[_i].name : "");
	ck_assert_uint_eq(rule.port, rules[_i].port);
	ck_assert_int_eq(rule.suffix, rules[_i].suffix);
	ck_assert_int_eq(rule.address, rules[_i].address);
	ck_assert(!rule.internal);
	if (r < 0) {
		ck_assert_msg(strstr(reason, rules[_i].reason) != NULL, "\"%s\": %s",
			      rules[_i].text, reason);
		return;
	}
	ck_assert_ptr_null(reason);
	allow_format(rule.name, rule.port, text);
	snprintf(again, sizeof(again), "%s%s", rule.suffix ? "*." : "", text);
	ck_assert_int_eq(allow_rule_parse(again, &second, &reason), 0);
	ck_assert_mem_eq(&rule, &second, sizeof(rule));
}
END_TEST

/* --- Matching ------------------------------------------------------------------------------------- */

static bool allowed(const char *const *texts, size_t count, const char *authority)
{
	struct allow_rule list[8];
	struct allow_host host;
	const char *reason;

	ck_assert_uint_le(count, ARRAY_SIZE(list));
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(allow_rule_parse(texts[i], &list[i], &reason) == 0, "%s", texts[i]);
	return allow_host_parse(authority, strlen(authority), 0, &host) == 0 &&
	       allow_match(list, count, &host) != NULL;
}

/* One list, as one Trial's, and what it allows of what a client could ask for. */
static const char *const list[] = {
	"api.example.com",   "*.cdn.example.net", "*.example.org:8443",
	"model.internal:80", "192.0.2.7:8443",	  "[2001:db8::7]:443",
};

static const struct {
	const char *authority;
	bool allowed;
} asked[] = {
	{"api.example.com:443", true},
	{"API.EXAMPLE.COM:443", true},
	{"aPi.example.com.:443", true},
	{"api.example.com..:443", false},
	{"api.example.com:80", false},
	{"api.example.com:8443", false},
	{"api.example.com", false},
	{"example.com:443", false},
	{"www.example.com:443", false},
	{"x.api.example.com:443", false},
	{"xapi.example.com:443", false},
	{"api.example.com.evil.example:443", false},
	{"api.example.comx:443", false},
	{"api.example.co:443", false},
	{"api-example.com:443", false},
	{"apiexample.com:443", false},
	{"api.example.com@evil.example:443", false},
	{"evil.example@api.example.com:443", false},
	{"evil.example#api.example.com:443", false},
	{"evil.example/api.example.com:443", false},
	{"a.cdn.example.net:443", true},
	{"a.b.c.d.e.f.cdn.example.net:443", true},
	{"A.CDN.example.NET.:443", true},
	{"cdn.example.net:443", false},
	{".cdn.example.net:443", false},
	{"..cdn.example.net:443", false},
	{"xcdn.example.net:443", false},
	{"x-cdn.example.net:443", false},
	{"example.net:443", false},
	{"a.cdn.example.net:8443", false},
	{"a.cdn.example.net.evil.example:443", false},
	{"a.cdn.example.netx:443", false},
	{"cdn.example.net.cdn.example.net:443", true},
	{"*.cdn.example.net:443", false},
	{"a.example.org:8443", true},
	{"a.example.org:443", false},
	{"example.org:8443", false},
	{"model.internal:80", true},
	{"model.internal:443", false},
	{"192.0.2.7:8443", true},
	{"192.0.519:8443", true},
	{"0xc0000207:8443", true},
	{"192.0.2.7:443", false},
	{"192.0.2.8:8443", false},
	{"[::ffff:192.0.2.7]:8443", false},
	{"[::192.0.2.7]:8443", false},
	{"[64:ff9b::192.0.2.7]:8443", false},
	{"a.192.0.2.7:8443", false},
	{"[2001:db8::7]:443", true},
	{"[2001:DB8:0:0:0:0:0:7]:443", true},
	{"[2001:db8::7]:8443", false},
	{"[2001:db8::8]:443", false},
	{"127.0.0.1:443", false},
	{"0:443", false},
	{"[::1]:443", false},
	{"localhost:443", false},
	{"169.254.169.254:80", false},
};

START_TEST(one_list)
{
	ck_assert_msg(allowed(list, ARRAY_SIZE(list), asked[_i].authority) == asked[_i].allowed,
		      "%s", asked[_i].authority);
	/* An empty list allows nothing. */
	ck_assert(!allowed(NULL, 0, asked[_i].authority));
}
END_TEST

/*
 * Rules by the dozen, and of each host what could be mistaken for it: only what is the host itself,
 * differently spelled, is allowed by its rule, only what is below it by that of its suffix.
 */
START_TEST(what_could_be_mistaken)
{
	static const char *const names[] = {"example.com",  "api.example.com",
					    "a.b",	    "xn--bcher-kva.de",
					    "1.example.io", "a_b.c-d.example",
					    "co.uk",	    "x.0xg",
					    "com.com",	    "example.com.example.com"};
	static const struct {
		const char *before, *behind;
		bool itself, below;
	} forms[] = {
		{"", ":443", true, false},	 {"", ".:443", true, false},
		{"a.", ":443", false, true},	 {"A.", ".:443", false, true},
		{"a.b.c.", ":443", false, true}, {"1.", ":443", false, true},
		{"_.", ":443", false, true},	 {"a", ":443", false, false},
		{"a-", ":443", false, false},	 {"_", ":443", false, false},
		{".", ":443", false, false},	 {"-", ":443", false, false},
		{"a..", ":443", false, false},	 {"a-.", ":443", false, false},
		{"", ".a:443", false, false},	 {"", "a:443", false, false},
		{"", "-a:443", false, false},	 {"", "..:443", false, false},
		{"", ":444", false, false},	 {"", ":80", false, false},
		{"", ":44", false, false},	 {"", ":4433", false, false},
		{"", ":0443", false, false},	 {"", "", false, false},
		{"", ":", false, false},	 {"a.", ":80", false, false},
		{"a@", ":443", false, false},	 {"", "@a.example:443", false, false},
		{"a/", ":443", false, false},	 {"a?", ":443", false, false},
		{"a#", ":443", false, false},	 {"a%00.", ":443", false, false},
		{"a\\.", ":443", false, false},	 {" ", ":443", false, false},
		{"", " :443", false, false},	 {"[", "]:443", false, false},
		{"*.", ":443", false, false},	 {"https://", ":443", false, false},
		{"", ".1:443", false, false},	 {"", ".0x7f:443", false, false},
	};

	for (size_t form = 0; form < ARRAY_SIZE(forms); form++) {
		const char *name = names[_i], *suffix;
		char authority[256], any[256];

		snprintf(any, sizeof(any), "*.%s", name);
		suffix = any;
		snprintf(authority, sizeof(authority), "%s%s%s", forms[form].before, name,
			 forms[form].behind);
		ck_assert_msg(allowed(&name, 1, authority) == forms[form].itself, "%s", authority);
		ck_assert_msg(allowed(&suffix, 1, authority) == forms[form].below, "%s %s", any,
			      authority);
	}
}
END_TEST

START_TEST(an_internal_rule_wins)
{
	struct allow_rule both[4];
	struct allow_host host;
	const char *reason;

	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		ck_assert_int_eq(allow_rule_parse(i == 1 ? "*.b.example" : "a.b.example", &both[i],
						  &reason),
				 0);
	both[2].internal = true;
	ck_assert_int_eq(allow_host_parse("a.b.example:443", 15, 0, &host), 0);
	ck_assert_ptr_eq(allow_match(both, 4, &host), &both[2]);
	ck_assert_ptr_eq(allow_match(both, 2, &host), &both[0]);
	ck_assert_ptr_eq(allow_match(both + 3, 1, &host), &both[3]);
	both[2].internal = false;
	ck_assert_ptr_eq(allow_match(both + 1, 2, &host), &both[2]);
	both[2].internal = true;
	ck_assert_int_eq(allow_host_parse("c.b.example:443", 15, 0, &host), 0);
	ck_assert_ptr_eq(allow_match(both, 4, &host), &both[1]);
}
END_TEST

static Suite *allow_suite(void)
{
	Suite *suite = suite_create("allow");
	TCase *test_case = tcase_create("allow");

	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, host_text, 0, ARRAY_SIZE(hosts));
	tcase_add_test(test_case, default_port);
	tcase_add_test(test_case, every_byte);
	tcase_add_loop_test(test_case, every_spelling_of_an_address, 0, 7);
	tcase_add_test(test_case, no_name_is_an_address_to_the_c_library);
	tcase_add_loop_test(test_case, rule_text, 0, ARRAY_SIZE(rules));
	tcase_add_loop_test(test_case, one_list, 0, ARRAY_SIZE(asked));
	tcase_add_loop_test(test_case, what_could_be_mistaken, 0, 10);
	tcase_add_test(test_case, an_internal_rule_wins);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(allow_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
