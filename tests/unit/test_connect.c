/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keeper/connect.h"

/*
 * Each head is tried as a whole, with bytes behind it, and as each of its beginnings: one that is not
 * decided yet says so, and what is decided stays so.
 */
static void parse(const char *bytes, size_t size, struct connect_head *ret)
{
	/* Of just that size, for the sanitizers. */
	char *copy = malloc(size ? size : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, size);
	connect_parse(copy, size, ret);
	free(copy);
}

static void check_beginnings(const char *bytes, size_t size, const struct connect_head *whole)
{
	size_t step = size > 2048 ? 97 : 1;
	struct connect_head head;

	for (size_t part = 0; part < size; part += step) {
		parse(bytes, part, &head);
		if (head.result == CONNECT_MORE)
			continue;
		ck_assert_msg(head.result == whole->result && head.status == whole->status &&
				      head.size == whole->size,
			      "the first %zu bytes of: %.*s", part, (int)size, bytes);
		/* No sooner than at its end. */
		ck_assert(head.result == CONNECT_BAD || part >= whole->size);
	}
}

/* --- Good ones ------------------------------------------------------------------------------------ */

static const struct {
	const char *head;
	enum connect_result result;
	const char *name;
	uint16_t port;
	const char *origin; /* of PLAIN */
} good[] = {
	{"CONNECT a.example:443 HTTP/1.1\r\n\r\n", CONNECT_TUNNEL, "a.example", 443, NULL},
	{"CONNECT a.example:443 HTTP/1.0\r\n\r\n", CONNECT_TUNNEL, "a.example", 443, NULL},
	{"CONNECT A.Example.:443 HTTP/1.1\r\nHost: A.Example.:443\r\n\r\n", CONNECT_TUNNEL,
	 "a.example", 443, NULL},
	{"CONNECT [2001:DB8::1]:8443 HTTP/1.1\r\nHost: x\r\n\r\n", CONNECT_TUNNEL, "2001:db8::1",
	 8443, NULL},
	{"CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", CONNECT_TUNNEL, "127.0.0.1", 443, NULL},
	/* What Host says decides nothing. */
	{"CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", CONNECT_TUNNEL,
	 "a.example", 443, NULL},
	{"CONNECT a.example:443 HTTP/1.1\r\nHost:\r\n\r\n", CONNECT_TUNNEL, "a.example", 443, NULL},
	/* Nor is there a body, whatever says so. */
	{"CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
	 CONNECT_TUNNEL, "a.example", 443, NULL},
	{"CONNECT a.example:443 HTTP/1.1\r\nX:\t\xc3\xbc \t\r\nx: y\r\nX:: z\r\n!#$%&'*+-.^_`|~: "
	 "\r\n\r\n",
	 CONNECT_TUNNEL, "a.example", 443, NULL},
	{"CONNECT a.example:443 HTTP/1.1\r\nProxy-Authorization: Basic eDp5\r\n\r\n",
	 CONNECT_TUNNEL, "a.example", 443, NULL},
	{"GET http://a.example/ HTTP/1.1\r\n\r\n", CONNECT_PLAIN, "a.example", 80,
	 "GET / HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\n\r\n"},
	{"GET http://a.example HTTP/1.0\r\n\r\n", CONNECT_PLAIN, "a.example", 80,
	 "GET / HTTP/1.0\r\nHost: a.example:80\r\nConnection: close\r\n\r\n"},
	{"get HTTP://A.Example.:8080/Path//../x?q=http://b.example/ HTTP/1.1\r\nHost: "
	 "b.example\r\n\r\n",
	 CONNECT_PLAIN, "a.example", 8080,
	 "get /Path//../x?q=http://b.example/ HTTP/1.1\r\nHost: a.example:8080\r\nConnection: "
	 "close\r\n\r\n"},
	{"POST http://a.example?q HTTP/1.1\r\nContent-Length: 3\r\n\r\n", CONNECT_PLAIN,
	 "a.example", 80,
	 "POST /?q HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\nContent-Length: "
	 "3\r\n\r\n"},
	{"OPTIONS http://a.example HTTP/1.1\r\n\r\n", CONNECT_PLAIN, "a.example", 80,
	 "OPTIONS * HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\n\r\n"},
	{"OPTIONS http://a.example/ HTTP/1.1\r\n\r\n", CONNECT_PLAIN, "a.example", 80,
	 "OPTIONS / HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\n\r\n"},
	{"GET http://[::1]:80/ HTTP/1.1\r\n\r\n", CONNECT_PLAIN, "::1", 80,
	 "GET / HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n"},
	/* What is between client and proxy stays there; what says how long the body is goes on. */
	{"PUT http://a.example/ HTTP/1.1\r\nAccept: */*\r\nHOST: x\r\nproxy-connection: x\r\n"
	 "Proxy-Authorization: Basic eDp5\r\nKeep-Alive: x\r\nTE: trailers\r\nUpgrade: h2c\r\n"
	 "Connection: close, X-one\r\nx-ONE: 1\r\nX-Two: 2\r\nX-On: 3\r\nX-Onee: 4\r\n"
	 "Connection: x-two ,Content-Length,transfer-encoding\r\nContent-Length: 1\r\n"
	 "Transfer-Encoding: chunked\r\nTrailer: x\r\n\r\n",
	 CONNECT_PLAIN, "a.example", 80,
	 "PUT / HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\nAccept: */*\r\nX-On: 3\r\n"
	 "X-Onee: 4\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n"},
};

static void check_origin(const char *bytes, const struct connect_head *head, const char *expected)
{
	char *origin = malloc(CONNECT_ORIGIN_BYTES_MAX);
	size_t size;

	ck_assert_ptr_nonnull(origin);
	size = connect_origin(bytes, head, origin);
	ck_assert_msg(size == strlen(expected) && memcmp(origin, expected, size) == 0, "%.*s",
		      (int)size, origin);
	free(origin);
}

START_TEST(good_head)
{
	static const char behind[] = "\x16\x03\x01\0\r\n\r\nCONNECT b.example:443 HTTP/1.1\r\n\r\n";
	size_t size = strlen(good[_i].head);
	struct connect_head head;
	char bytes[2048];

	parse(good[_i].head, size, &head);
	ck_assert_msg(head.result == good[_i].result, "%s: %s", good[_i].head, head.reason);
	ck_assert_str_eq(head.host.name, good[_i].name);
	ck_assert_uint_eq(head.host.port, good[_i].port);
	ck_assert_uint_eq(head.size, size);
	check_beginnings(good[_i].head, size, &head);
	if (good[_i].origin)
		check_origin(good[_i].head, &head, good[_i].origin);

	/* What follows is not looked at. */
	memcpy(bytes, good[_i].head, size);
	memcpy(bytes + size, behind, sizeof(behind));
	parse(bytes, size + sizeof(behind), &head);
	ck_assert_int_eq(head.result, good[_i].result);
	ck_assert_uint_eq(head.size, size);
	check_beginnings(bytes, size + sizeof(behind), &head);
	if (good[_i].origin)
		check_origin(bytes, &head, good[_i].origin);
}
END_TEST

/* --- Bad ones ------------------------------------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1
#define LINE "CONNECT a.example:443 HTTP/1.1\r\n"

static const struct {
	const char *head;
	size_t size;
	unsigned status;
} bad[] = {
	/* Request lines */
	{BYTES("\r\n" LINE "\r\n"), 400},
	{BYTES(" CONNECT a.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT  a.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443  HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT\ta.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.1 \r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 \r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/2.0\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.2\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.10\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/0.9\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 http/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT  HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT\r\n\r\n"), 400},
	{BYTES("HTTP/1.1\r\n\r\n"), 400},
	{BYTES(" HTTP/1.1\r\n\r\n"), 400},
	{BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400},
	{BYTES("CONNECT a\0.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443\0 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONN\0ECT a.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.1\0\r\n\r\n"), 400},
	{BYTES("CONNECT \xc3\xbc.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443\rHTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.1\r\r\n\r\n"), 400},
	/* Authorities */
	{BYTES("CONNECT a.example HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a.example: HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT :443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT user@a.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT a..example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT https://a.example:443 HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT http://a.example:443/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("CONNECT /a.example:443 HTTP/1.1\r\n\r\n"), 400},
	/* Lines' ends */
	{BYTES("CONNECT a.example:443 HTTP/1.1\n\n"), 400},
	{BYTES("CONNECT a.example:443 HTTP/1.1\n\r\n"), 400},
	{BYTES(LINE "\n"), 400},
	{BYTES(LINE "Host: a.example\n\r\n"), 400},
	{BYTES(LINE "Host: a.example\n\n"), 400},
	{BYTES(LINE "A: b\rC: d\r\n\r\n"), 400},
	{BYTES(LINE "A: b\r\r\n\r\n"), 400},
	{BYTES(LINE "\r\r\n"), 400},
	/* Fields */
	{BYTES(LINE " folded: from the request line\r\n\r\n"), 400},
	{BYTES(LINE "A: b\r\n c\r\n\r\n"), 400},
	{BYTES(LINE "A: b\r\n\tc\r\n\r\n"), 400},
	{BYTES(LINE "A: b\r\n \r\n\r\n"), 400},
	{BYTES(LINE "A : b\r\n\r\n"), 400},
	{BYTES(LINE "A\t: b\r\n\r\n"), 400},
	{BYTES(LINE ": b\r\n\r\n"), 400},
	{BYTES(LINE "A\r\n\r\n"), 400},
	{BYTES(LINE "A b: c\r\n\r\n"), 400},
	{BYTES(LINE "A(b): c\r\n\r\n"), 400},
	{BYTES(LINE "A\xc3\xbc: c\r\n\r\n"), 400},
	{BYTES(LINE "A: b\0c\r\n\r\n"), 400},
	{BYTES(LINE "A\0: c\r\n\r\n"), 400},
	{BYTES(LINE "\0\r\n\r\n"), 400},
	{BYTES(LINE "A: b\x1b[2J\r\n\r\n"), 400},
	{BYTES(LINE "A: b\x7f\r\n\r\n"), 400},
	{BYTES(LINE "Host: a.example:443\r\nHost: a.example:443\r\n\r\n"), 400},
	{BYTES(LINE "Host: a.example:443\r\nX: y\r\nhOST: b.example:443\r\n\r\n"), 400},
	{BYTES("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n"),
	 400},
	/* Absolute form */
	{BYTES("GET http:///path HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http:// HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://user@a.example/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://user:word@a.example/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example:/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example:0/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example\\@b.example/ HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example#x HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example/#x HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example /x HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example/a b HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example/\x7f HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a.example/\xc3\xbc HTTP/1.1\r\n\r\n"), 400},
	{BYTES("GET http://a..example/ HTTP/1.1\r\n\r\n"), 400},
	/* What is no proxy's to serve */
	{BYTES("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), 405},
	{BYTES("OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n"), 405},
	{BYTES("GET https://a.example/ HTTP/1.1\r\n\r\n"), 405},
	{BYTES("GET ftp://a.example/ HTTP/1.1\r\n\r\n"), 405},
	{BYTES("GET http:/a.example/ HTTP/1.1\r\n\r\n"), 405},
	{BYTES("GET a.example:80 HTTP/1.1\r\n\r\n"), 405},
	{BYTES("connect a.example:443 HTTP/1.1\r\n\r\n"), 405},
	{BYTES("CONNECTX a.example:443 HTTP/1.1\r\n\r\n"), 405},
	{BYTES("CONNEC a.example:443 HTTP/1.1\r\n\r\n"), 405},
	/* Other protocols, which say no more until they are answered */
	{BYTES("\x16\x03\x01\x02\x00\x01"), 400},
	{BYTES("SSH-2.0-OpenSSH_9.2p1\r\n"), 400},
	{BYTES("\x05\x01\x00"), 400},
	{BYTES("\x04\x01\x01\xbb"), 400},
	{BYTES("\0"), 400},
	{BYTES("\n"), 400},
	{BYTES("\r\n"), 400},
	{BYTES("EHLO a.example\r\n"), 400},
};

START_TEST(bad_head)
{
	struct connect_head head;

	parse(bad[_i].head, bad[_i].size, &head);
	ck_assert_msg(head.result == CONNECT_BAD && head.status == bad[_i].status, "%s: %d, %u",
		      bad[_i].head, head.result, head.status);
	ck_assert_ptr_nonnull(head.reason);
	ck_assert_str_eq(head.host.name, "");
	check_beginnings(bad[_i].head, bad[_i].size, &head);
}
END_TEST

START_TEST(not_whole)
{
	static const char *const parts[] = {
		"",
		"C",
		"GET",
		"\r",
		"SSH-2.0-Open",
		"CONNECT a.example:443 HTTP/1.1",
		"CONNECT a.example:443 HTTP/1.1\r",
		"CONNECT a.example:443 HTTP/1.1\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\nA",
		"CONNECT a.example:443 HTTP/1.1\r\n\r",
	};
	struct connect_head head;

	parse(parts[_i], strlen(parts[_i]), &head);
	ck_assert_int_eq(head.result, CONNECT_MORE);
	ck_assert_str_eq(head.host.name, "");
}
END_TEST

/* --- How long ------------------------------------------------------------------------------------- */

/* A head that is just so long, with more behind it. */
static char *head_of(size_t size, bool one_field, size_t more)
{
	char *bytes = malloc(size + more);
	size_t at = strlen(LINE);

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, LINE, at);
	while (!one_field && size - at > 64 + 4) {
		memcpy(bytes + at, "A: b\r\n", 6);
		at += 6;
	}
	memset(bytes + at, 'x', size - at);
	memcpy(bytes + at, "A: ", 3);
	memcpy(bytes + size - 4, "\r\n\r\n", 4);
	memset(bytes + size, 'y', more);
	return bytes;
}

START_TEST(how_long)
{
	static const struct {
		size_t size;
		bool fits;
	} sizes[] = {
		{200, true},
		{CONNECT_HEAD_BYTES_MAX - 1, true},
		{CONNECT_HEAD_BYTES_MAX, true},
		{CONNECT_HEAD_BYTES_MAX + 1, false},
		{CONNECT_HEAD_BYTES_MAX + 2, false},
		{2 * CONNECT_HEAD_BYTES_MAX, false},
	};
	static const size_t more[] = {0, 1, 20000};
	size_t size = sizes[_i].size;
	struct connect_head head;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(more); i++) {
		char *bytes = head_of(size, i % 2, more[i / 2]);

		parse(bytes, size + more[i / 2], &head);
		ck_assert_int_eq(head.result, sizes[_i].fits ? CONNECT_TUNNEL : CONNECT_BAD);
		ck_assert_uint_eq(head.status, sizes[_i].fits ? 0 : 431);
		ck_assert_uint_eq(head.size, sizes[_i].fits ? size : 0);
		check_beginnings(bytes, size + more[i / 2], &head);
		if (size >= CONNECT_HEAD_BYTES_MAX) {
			parse(bytes, CONNECT_HEAD_BYTES_MAX - 1, &head);
			ck_assert_int_eq(head.result, CONNECT_MORE);
		}
		free(bytes);
	}
}
END_TEST

START_TEST(a_request_line_without_an_end)
{
	char *bytes = malloc(CONNECT_HEAD_BYTES_MAX);
	struct connect_head head;

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, 'x', CONNECT_HEAD_BYTES_MAX);
	parse(bytes, CONNECT_HEAD_BYTES_MAX - 1, &head);
	ck_assert_int_eq(head.result, CONNECT_MORE);
	parse(bytes, CONNECT_HEAD_BYTES_MAX, &head);
	ck_assert_int_eq(head.result, CONNECT_BAD);
	ck_assert_uint_eq(head.status, 431);
	free(bytes);
}
END_TEST

/* A head of the longest kind grows by what is put before it, and no more. */
START_TEST(the_longest_origin)
{
	char *bytes = malloc(CONNECT_HEAD_BYTES_MAX), *origin = malloc(CONNECT_ORIGIN_BYTES_MAX);
	struct connect_head head;
	int size;

	ck_assert(bytes && origin);
	size = snprintf(bytes, CONNECT_HEAD_BYTES_MAX, "G http://");
	for (int i = 0; i < 126; i++)
		size += snprintf(bytes + size, 3, "a.");
	size += snprintf(bytes + size, 64, "a:65535 HTTP/1.1\r\n");
	memset(bytes + size, 'x', (size_t)(CONNECT_HEAD_BYTES_MAX - size));
	bytes[size + 1] = ':';
	memcpy(bytes + CONNECT_HEAD_BYTES_MAX - 4, "\r\n\r\n", 4);
	parse(bytes, CONNECT_HEAD_BYTES_MAX, &head);
	ck_assert_int_eq(head.result, CONNECT_PLAIN);
	ck_assert_uint_eq(head.size, CONNECT_HEAD_BYTES_MAX);
	ck_assert_uint_eq(connect_origin(bytes, &head, origin),
			  CONNECT_HEAD_BYTES_MAX - strlen("http://") + strlen("/Host: \r\n") +
				  strlen("Connection: close\r\n"));
	free(bytes);
	free(origin);
}
END_TEST

/* --- Real clients (tests/data/hello/record) ------------------------------------------------------- */

static void check_recorded(const char *folder, const char *name)
{
	static const char request[] = "CONNECT ";
	char path[4096], bytes[CONNECT_HEAD_BYTES_MAX], authority[512];
	struct connect_head head;
	size_t size, length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rbe");
	ck_assert_msg(file != NULL, "%s", path);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	parse(bytes, size, &head);
	ck_assert_msg(head.result == CONNECT_TUNNEL, "%s: %s", name, head.reason);
	ck_assert_uint_eq(head.size, size);
	allow_format(head.host.name, head.host.port, authority);
	length = strlen(authority);
	ck_assert_msg(memcmp(bytes + strlen(request), authority, length) == 0 &&
			      bytes[strlen(request) + length] == ' ',
		      "%s: %s", name, authority);
	check_beginnings(bytes, size, &head);
}

START_TEST(recorded)
{
	const char *top = getenv("TOP");
	struct dirent *entry;
	char folder[2048];
	int count = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/tests/data/connect", top ? top : ".");
	dir = opendir(folder);
	ck_assert_msg(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		check_recorded(folder, entry->d_name);
		count++;
	}
	closedir(dir);
	ck_assert_int_ge(count, 10);
}
END_TEST

static Suite *connect_suite(void)
{
	Suite *suite = suite_create("connect");
	TCase *test_case = tcase_create("connect");

	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, good_head, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(test_case, bad_head, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(test_case, not_whole, 0, 10);
	tcase_add_loop_test(test_case, how_long, 0, 6);
	tcase_add_test(test_case, a_request_line_without_an_end);
	tcase_add_test(test_case, the_longest_origin);
	tcase_add_test(test_case, recorded);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(connect_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
