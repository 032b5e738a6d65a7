/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keeper/hello.h"

#define STREAM_BYTES (1024 * 1024)
#define NAME "api.example.com"
#define BYTES(text) text, sizeof(text) - 1

/* --- What is tried -------------------------------------------------------------------------------- */

static enum hello_result parse(const uint8_t *bytes, size_t size, char *ret_name)
{
	/* Of just that size, for the sanitizers. */
	uint8_t *copy = malloc(size ? size : 1);
	enum hello_result result;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, size);
	memset(ret_name, 'x', ALLOW_HOST_BYTES_MAX + 1);
	result = hello_parse(copy, size, ret_name);
	ck_assert(memchr(ret_name, '\0', ALLOW_HOST_BYTES_MAX + 1) != NULL);
	ck_assert((ret_name[0] != '\0') == (result == HELLO_NAME));
	free(copy);
	return result;
}

/*
 * As a whole, and as each of its beginnings: one that is not decided yet says so, and what is decided
 * stays so, whatever follows. *ret_decided is how many bytes it took.
 */
static void check_stream(const uint8_t *bytes, size_t size, enum hello_result expected,
			 const char *expected_name, size_t *ret_decided)
{
	char name[ALLOW_HOST_BYTES_MAX + 1];
	size_t step = size > 4096 ? 509 : 1, decided = size;

	ck_assert_int_eq(parse(bytes, size, name), expected);
	ck_assert_str_eq(name, expected_name);
	for (size_t part = 0; part < size; part += step) {
		enum hello_result result = parse(bytes, part, name);

		if (result == HELLO_MORE) {
			ck_assert_uint_eq(decided, size);
			continue;
		}
		decided = part < decided ? part : decided;
		ck_assert_msg(result == expected, "the first %zu of %zu bytes: %d", part, size,
			      result);
		ck_assert_str_eq(name, expected_name);
	}
	if (ret_decided)
		*ret_decided = decided;
}

/* --- A hello made by hand ------------------------------------------------------------------------- */

static uint8_t message[STREAM_BYTES / 2], stream[STREAM_BYTES];
static size_t message_size, stream_size, extensions_at;

static void put(const void *bytes, size_t size)
{
	ck_assert_uint_le(message_size + size, sizeof(message));
	memcpy(message + message_size, bytes, size);
	message_size += size;
}

static void put_number(size_t number, int bytes)
{
	while (bytes-- > 0) {
		uint8_t byte = (uint8_t)(number >> (8 * bytes));

		put(&byte, 1);
	}
}

static void set_number(size_t at, size_t number, int bytes)
{
	size_t end = message_size;

	message_size = at;
	put_number(number, bytes);
	message_size = end;
}

static void put_extension(unsigned kind, const void *bytes, size_t size)
{
	put_number(kind, 2);
	put_number(size, 2);
	put(bytes, size);
}

static void put_name_of(unsigned kind, const char *name, size_t size)
{
	put_number(kind, 1);
	put_number(size, 2);
	put(name, size);
}

static void put_server_name(const char *name, size_t size)
{
	put_number(0, 2);
	put_number(size + 5, 2);
	put_number(size + 3, 2);
	put_name_of(0, name, size);
}

/* Up to the extensions. */
static void begin_hello_of(size_t session, size_t ciphers, size_t compression)
{
	static const uint8_t zeros[64];

	message_size = 0;
	put_number(1, 1);
	put_number(0, 3);
	put_number(0x0303, 2);
	for (size_t i = 0; i < 32; i++)
		put_number(i * 7 + 16, 1);
	put_number(session, 1);
	put(zeros, session);
	put_number(ciphers, 2);
	put(zeros, ciphers);
	put_number(compression, 1);
	put(zeros, compression);
	extensions_at = message_size;
	put_number(0, 2);
}

static void begin_hello(void)
{
	begin_hello_of(32, 6, 1);
}

static void end_hello(void)
{
	set_number(extensions_at, message_size - extensions_at - 2, 2);
	set_number(1, message_size - 4, 3);
}

/* The message in records of so many bytes. */
static void make_records(size_t bytes)
{
	stream_size = 0;
	for (size_t at = 0; at < message_size; at += bytes) {
		size_t here = message_size - at < bytes ? message_size - at : bytes;
		const uint8_t header[] = {22, 3, 1, (uint8_t)(here >> 8), (uint8_t)here};

		ck_assert_uint_le(stream_size + sizeof(header) + here, sizeof(stream));
		memcpy(stream + stream_size, header, sizeof(header));
		memcpy(stream + stream_size + sizeof(header), message + at, here);
		stream_size += sizeof(header) + here;
	}
}

static void check_made(size_t record, enum hello_result expected, const char *name)
{
	make_records(record);
	check_stream(stream, stream_size, expected, name, NULL);
}

static void make_usual(const char *name, size_t size)
{
	begin_hello();
	put_extension(0x000a, BYTES("\0\2\0\x1d"));
	put_server_name(name, size);
	put_extension(0x0010, BYTES("\0\3\2h2"));
	end_hello();
}

/* --- Good ones ------------------------------------------------------------------------------------ */

START_TEST(in_any_pieces)
{
	make_usual(BYTES(NAME));
	check_made(16384, HELLO_NAME, NAME);
	/* At each byte there is one split into two records, and one into more. */
	for (size_t record = 1; record < message_size; record++)
		if (message_size / record < HELLO_RECORDS_MAX)
			check_made(record, HELLO_NAME, NAME);
}
END_TEST

START_TEST(what_follows_is_not_looked_at)
{
	size_t decided, whole;

	make_usual(BYTES(NAME));
	make_records(100);
	whole = stream_size;
	/* In a record of its own, and of another kind. */
	memset(stream + stream_size, 0xff, 100);
	stream_size += 100;
	check_stream(stream, stream_size, HELLO_NAME, NAME, &decided);
	ck_assert_uint_eq(decided, whole);
	/* In the same record. */
	whole = message_size;
	put(BYTES("\2\0\0\0what the server will refuse"));
	make_records(16384);
	check_stream(stream, stream_size, HELLO_NAME, NAME, &decided);
	ck_assert_uint_eq(decided, whole + 5);
}
END_TEST

static const struct {
	const char *given;
	const char *name; /* NULL: refused */
} names[] = {
	{"a", "a"},
	{"API.Example.COM", "api.example.com"},
	{"api.example.com.", "api.example.com"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"a_b.example", "a_b.example"},
	{"127.0.0.1", "127.0.0.1"},
	{"0x7f.1", "0x7f.1"},
	{"", NULL},
	{".", NULL},
	{"..", NULL},
	{".a.example", NULL},
	{"a.example..", NULL},
	{"a.example:443", NULL},
	{"a.example ", NULL},
	{"a.example\n", NULL},
	{"a.example/", NULL},
	{"user@a.example", NULL},
	{"*.example", NULL},
	{"::1", NULL},
	{"[::1]", NULL},
	{"a\x1b[2J.example", NULL},
	{"a\x7f.example", NULL},
	{"b\xc3\xbc"
	 "cher.example",
	 NULL},
};

START_TEST(name_text)
{
	make_usual(names[_i].given, strlen(names[_i].given));
	check_made(16384, names[_i].name ? HELLO_NAME : HELLO_NOT_TLS,
		   names[_i].name ? names[_i].name : "");
}
END_TEST

START_TEST(every_byte_in_a_name)
{
	for (int byte = 0; byte < 256; byte++) {
		char name[] = "a?b.example", found[ALLOW_HOST_BYTES_MAX + 1];
		bool host = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
			    (byte >= 'A' && byte <= 'Z') || (byte && strchr("-_.", byte));

		name[1] = (char)byte;
		make_usual(name, sizeof(name) - 1);
		make_records(16384);
		ck_assert_msg(parse(stream, stream_size, found) ==
				      (host ? HELLO_NAME : HELLO_NOT_TLS),
			      "0x%02x", byte);
	}
	/* At the end, where a C string would be cut. */
	make_usual(BYTES(NAME "\0"));
	check_made(16384, HELLO_NOT_TLS, "");
	make_usual(BYTES(NAME "\0.evil.example"));
	check_made(16384, HELLO_NOT_TLS, "");
}
END_TEST

START_TEST(length_of_a_name)
{
	char name[ALLOW_HOST_BYTES_MAX + 3];

	memset(name, 'a', sizeof(name));
	make_usual(name, ALLOW_HOST_BYTES_MAX + 1);
	check_made(16384, HELLO_NOT_TLS, "");
	make_usual(name, sizeof(name));
	check_made(16384, HELLO_NOT_TLS, "");
	name[ALLOW_HOST_BYTES_MAX] = '.';
	make_usual(name, ALLOW_HOST_BYTES_MAX + 2);
	check_made(16384, HELLO_NOT_TLS, "");
	make_usual(name, ALLOW_HOST_BYTES_MAX + 1);
	name[ALLOW_HOST_BYTES_MAX] = '\0';
	check_made(16384, HELLO_NAME, name);
	make_usual(name, ALLOW_HOST_BYTES_MAX);
	check_made(16384, HELLO_NAME, name);
	name[ALLOW_HOST_BYTES_MAX - 1] = '.';
	make_usual(name, ALLOW_HOST_BYTES_MAX);
	name[ALLOW_HOST_BYTES_MAX - 1] = '\0';
	check_made(16384, HELLO_NAME, name);
}
END_TEST

/* Kinds that mean nothing (GREASE), large keys, and an encrypted hello: the name is the outer one. */
START_TEST(extensions_of_browsers)
{
	static uint8_t large[4000];

	begin_hello();
	put_extension(0x1a1a, "", 0);
	put_extension(0x0033, large, 1216 + 38);
	put_extension(0xfe0d, large, 250);
	put_server_name(BYTES("public.example"));
	put_extension(0x0015, large, sizeof(large));
	put_extension(0xeaea, "\0", 1);
	end_hello();
	check_made(16384, HELLO_NAME, "public.example");
	check_made(700, HELLO_NAME, "public.example");
}
END_TEST

START_TEST(no_name)
{
	begin_hello();
	end_hello();
	check_made(16384, HELLO_NO_NAME, "");
	/* Without the list, as before there were extensions. */
	message_size = extensions_at;
	set_number(1, message_size - 4, 3);
	check_made(16384, HELLO_NO_NAME, "");
	check_made(10, HELLO_NO_NAME, "");
	begin_hello();
	put_extension(0x000a, BYTES("\0\2\0\x1d"));
	put_extension(0x1000, BYTES("\0\3\0\0\0"));
	end_hello();
	check_made(16384, HELLO_NO_NAME, "");
}
END_TEST

/* --- Bad ones ------------------------------------------------------------------------------------- */

static const struct {
	const char *bytes; /* of the extension */
	size_t size;
} lists[] = {
	{BYTES("")},
	{BYTES("\0")},
	{BYTES("\0\0")},		     /* an empty list */
	{BYTES("\0\1\0")},		     /* a kind alone */
	{BYTES("\0\2\0\0")},		     /* a length cut */
	{BYTES("\0\3\0\0\0")},		     /* an empty name */
	{BYTES("\0\5\0\0\1a")},		     /* the list goes beyond */
	{BYTES("\0\4\0\0\2a")},		     /* the name goes beyond */
	{BYTES("\0\4\0\0\1a-")},	     /* more behind the list */
	{BYTES("\0\5\0\0\1ab")},	     /* more behind the name */
	{BYTES("\0\4\1\0\1a")},		     /* another kind of name */
	{BYTES("\0\x0a\0\0\3a.b\0\0\1c")},   /* two names */
	{BYTES("\0\x0c\0\0\3a.b\0\0\3a.b")}, /* the same one twice */
	{BYTES("\0\x0c\1\0\3a.b\0\0\3a.b")}, /* another kind first */
	{BYTES("\0\x0c\0\0\3a.b\1\0\3a.b")}, /* and behind */
	{BYTES("\xff\xff\0\0\1a")},	     /* far beyond */
	{BYTES("\0\4\0\xff\xff"
	       "a")}, /* far beyond */
};

START_TEST(list_of_names)
{
	begin_hello();
	put_extension(0, lists[_i].bytes, lists[_i].size);
	end_hello();
	check_made(16384, HELLO_NOT_TLS, "");
	/* And once more with a good one. */
	begin_hello();
	put_extension(0, lists[_i].bytes, lists[_i].size);
	put_server_name(BYTES(NAME));
	end_hello();
	check_made(16384, HELLO_NOT_TLS, "");
	begin_hello();
	put_server_name(BYTES(NAME));
	put_extension(0, lists[_i].bytes, lists[_i].size);
	end_hello();
	check_made(50, HELLO_NOT_TLS, "");
}
END_TEST

START_TEST(two_lists_of_names)
{
	begin_hello();
	put_server_name(BYTES(NAME));
	put_server_name(BYTES(NAME));
	end_hello();
	check_made(16384, HELLO_NOT_TLS, "");
}
END_TEST

/* The parts before the extensions, each of which follows its length as it must. */
START_TEST(sizes_of_parts)
{
	static const struct {
		size_t session, ciphers, compression;
		bool valid;
	} sizes[] = {
		{0, 2, 1, true},  {32, 2, 1, true}, {33, 2, 1, false}, {64, 2, 1, false},
		{0, 0, 1, false}, {0, 1, 1, false}, {0, 3, 1, false},  {0, 62, 1, true},
		{0, 2, 0, false}, {0, 2, 64, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin_hello_of(sizes[i].session, sizes[i].ciphers, sizes[i].compression);
		put_server_name(BYTES(NAME));
		end_hello();
		check_made(16384, sizes[i].valid ? HELLO_NAME : HELLO_NOT_TLS,
			   sizes[i].valid ? NAME : "");
	}
}
END_TEST

/* A good hello, but for one byte of its headers. */
START_TEST(headers)
{
	char name[ALLOW_HOST_BYTES_MAX + 1];

	make_usual(BYTES(NAME));
	make_records(16384);
	for (int byte = 0; byte < 256; byte++) {
		/* Kind and version of the record, kind of the message. */
		for (size_t at = 0; at < 6; at++) {
			uint8_t before = stream[at];
			bool valid = at == 2 || byte == before;

			if (at == 3 || at == 4) /* how long it is */
				continue;
			stream[at] = (uint8_t)byte;
			ck_assert_int_eq(parse(stream, stream_size, name),
					 valid ? HELLO_NAME : HELLO_NOT_TLS);
			stream[at] = before;
		}
	}
}
END_TEST

/* A length at this place of the message, one by one wrong. */
START_TEST(lengths)
{
	static const struct {
		size_t at;
		int bytes;
		size_t right;
	} places[] = {
		{38, 1, 32}, /* session */
		{71, 2, 6},  /* ciphers */
		{79, 1, 1},  /* compression */
	};
	char name[ALLOW_HOST_BYTES_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (size_t wrong = 0; wrong < (places[i].bytes == 1 ? 256 : 65536);
		     wrong += wrong < 600 ? 1 : 251) {
			make_usual(BYTES(NAME));
			set_number(places[i].at, wrong, places[i].bytes);
			make_records(16384);
			ck_assert_msg((parse(stream, stream_size, name) == HELLO_NAME) ==
					      (wrong == places[i].right),
				      "%zu at %zu", wrong, places[i].at);
		}
	for (size_t wrong = 0; wrong < 65536; wrong += wrong < 600 ? 1 : 251) {
		make_usual(BYTES(NAME));
		if (wrong == message_size - extensions_at - 2)
			continue;
		set_number(extensions_at, wrong, 2);
		make_records(16384);
		ck_assert_int_eq(parse(stream, stream_size, name), HELLO_NOT_TLS);
	}
}
END_TEST

/* A message that ends before its parts do: never read beyond, and never a hello. */
START_TEST(cut_messages)
{
	char name[ALLOW_HOST_BYTES_MAX + 1];
	size_t whole;

	make_usual(BYTES(NAME));
	whole = message_size;
	for (size_t size = 4; size < whole; size++) {
		message_size = size;
		set_number(1, size - 4, 3);
		make_records(16384);
		ck_assert_int_eq(parse(stream, stream_size, name),
				 size == extensions_at ? HELLO_NO_NAME : HELLO_NOT_TLS);
	}
	/* And one that goes on after them. */
	make_usual(BYTES(NAME));
	put_number(0, 1);
	set_number(1, message_size - 4, 3);
	check_made(16384, HELLO_NOT_TLS, "");
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
} others[] = {
	{BYTES("GET / HTTP/1.1\r\n\r\n")},
	{BYTES("SSH-2.0-OpenSSH_9.2\r\n")},
	{BYTES("EHLO a.example\r\n")},
	{BYTES("\0")},
	{BYTES("\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10\x01\x00\x80")}, /* SSLv2 */
	{BYTES("\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\x01\x00\x80")},
	{BYTES("\x15\x03\x01\x00\x02\x02\x28")},	 /* an alert */
	{BYTES("\x14\x03\x03\x00\x01\x01")},		 /* change of ciphers */
	{BYTES("\x17\x03\x03\x00\x01\x01")},		 /* data */
	{BYTES("\x18\x03\x03\x00\x01\x01")},		 /* a heartbeat */
	{BYTES("\x16\x02\x00\x00\x04\x01\x00\x00\x00")}, /* SSL 2 in the record's version */
	{BYTES("\x16\x04\x01\x00\x04\x01\x00\x00\x00")},
	{BYTES("\x16\xfe\xfd\x00\x00\x00\x00\x00\x00\x00\x00")}, /* DTLS */
	{BYTES("\x16\x03\x01\x00\x00")},			 /* an empty record */
	{BYTES("\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x00")}, /* and a second one */
	{BYTES("\x16\x03\x01\x40\x01")},			 /* longer than records are */
	{BYTES("\x16\x03\x01\xff\xff")},
	{BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00")},		 /* a server's hello */
	{BYTES("\x16\x03\x01\x00\x04\x00\x00\x00\x00")},		 /* a request for one */
	{BYTES("\x16\x03\x01\x00\x04\x01\x00\x00\x00")},		 /* one of no bytes */
	{BYTES("\x16\x03\x01\x00\x01\x01\x15\x03\x01\x00\x02\x02\x28")}, /* an alert within */
	{BYTES("\x16\x03\x01\x00\x01\x01\x17\x03\x01\x00\x02\x02\x28")}, /* data within */
};

START_TEST(other_protocols)
{
	check_stream((const uint8_t *)others[_i].bytes, others[_i].size, HELLO_NOT_TLS, "", NULL);
}
END_TEST

START_TEST(old_versions)
{
	make_usual(BYTES(NAME));
	set_number(4, 0x0300, 2);
	check_made(16384, HELLO_NAME, NAME);
	set_number(4, 0x0002, 2);
	check_made(16384, HELLO_NOT_TLS, "");
	set_number(4, 0xfefd, 2);
	check_made(16384, HELLO_NOT_TLS, "");
}
END_TEST

/* --- How long ------------------------------------------------------------------------------------- */

/* A hello that is just so many bytes in records of the largest kind; the name comes last. */
static void make_long(size_t size)
{
	static uint8_t filler[70000];
	size_t records = (size + 16388) / 16389;

	begin_hello();
	put_server_name(BYTES(NAME));
	put_extension(0x0015, filler, size - 5 * records - message_size - 4);
	end_hello();
	make_records(16384);
	ck_assert_uint_eq(stream_size, size);
}

START_TEST(length_of_a_hello)
{
	size_t decided;

	make_long(HELLO_BYTES_MAX);
	check_stream(stream, stream_size, HELLO_NAME, NAME, NULL);
	make_long(HELLO_BYTES_MAX - 1);
	check_stream(stream, stream_size, HELLO_NAME, NAME, NULL);
	/* Of a byte more the length alone does not tell, since that is of one record. */
	make_long(HELLO_BYTES_MAX + 1);
	check_stream(stream, stream_size, HELLO_TOO_LONG, "", NULL);
	make_long(HELLO_BYTES_MAX);
	set_number(1, HELLO_BYTES_MAX - 5 - 4 + 1, 3);
	make_records(16384);
	check_stream(stream, stream_size, HELLO_TOO_LONG, "", &decided);
	ck_assert_uint_lt(decided, 1000);
	set_number(1, 0xffffff, 3);
	make_records(1);
	check_stream(stream, 6 * 4, HELLO_TOO_LONG, "", &decided);
}
END_TEST

START_TEST(count_of_records)
{
	static const uint8_t filler[HELLO_RECORDS_MAX];
	size_t decided;

	for (size_t more = 0; more < 2; more++) {
		make_usual(BYTES(NAME));
		put_extension(0x1a1a, filler, HELLO_RECORDS_MAX + more - message_size - 4);
		end_hello();
		check_made(2, HELLO_NAME, NAME);
		if (more == 0)
			check_made(1, HELLO_NAME, NAME);
	}
	make_records(1);
	check_stream(stream, stream_size, HELLO_TOO_LONG, "", &decided);
	ck_assert_uint_eq(decided, (size_t)6 * HELLO_RECORDS_MAX + 1);
}
END_TEST

/* --- Real clients (tests/data/hello/record) ------------------------------------------------------- */

static const struct {
	const char *client;
	const char *name; /* NULL: none */
} recorded[] = {
	{"claude", "api.anthropic.com"},
	{"curl", NAME},
	{"curl-address", NULL},
	{"curl-http1.0", NAME},
	{"git", NAME},
	{"gnutls", NAME},
	{"gnutls-no-name", NULL},
	{"gnutls-tls12", NAME},
	{"go", NAME},
	{"go-address", NULL},
	{"grok", "api.x.ai"},
	{"node", NAME},
	{"openssl", NAME},
	{"openssl-long", NAME},
	{"openssl-no-name", NULL},
	{"openssl-records", NAME},
	{"openssl-tls12", NAME},
	{"openssl-upper-case", NAME},
	{"python-requests", NAME},
	{"python-urllib", NAME},
	{"wget", NAME},
};

START_TEST(of_a_real_client)
{
	const char *top = getenv("TOP"), *name = recorded[_i].name;
	size_t decided;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/data/hello/%s.hello", top ? top : ".",
		 recorded[_i].client);
	file = fopen(path, "rbe");
	ck_assert_msg(file != NULL, "%s", path);
	stream_size = fread(stream, 1, sizeof(stream), file);
	fclose(file);
	check_stream(stream, stream_size, name ? HELLO_NAME : HELLO_NO_NAME, name ? name : "",
		     &decided);
	/* What was recorded ends with its hello, and so no earlier. */
	ck_assert_uint_eq(decided, stream_size);
}
END_TEST

START_TEST(all_that_is_recorded)
{
	const char *top = getenv("TOP");
	struct dirent *entry;
	char folder[2048];
	size_t count = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/tests/data/hello", top ? top : ".");
	dir = opendir(folder);
	ck_assert_msg(dir != NULL, "%s", folder);
	while ((entry = readdir(dir)))
		count += strstr(entry->d_name, ".hello") != NULL;
	closedir(dir);
	ck_assert_uint_eq(count, ARRAY_SIZE(recorded));
}
END_TEST

static Suite *hello_suite(void)
{
	Suite *suite = suite_create("client hello");
	TCase *test_case = tcase_create("client hello");

	tcase_set_timeout(test_case, 60);
	tcase_add_test(test_case, in_any_pieces);
	tcase_add_test(test_case, what_follows_is_not_looked_at);
	tcase_add_loop_test(test_case, name_text, 0, ARRAY_SIZE(names));
	tcase_add_test(test_case, every_byte_in_a_name);
	tcase_add_test(test_case, length_of_a_name);
	tcase_add_test(test_case, extensions_of_browsers);
	tcase_add_test(test_case, no_name);
	tcase_add_loop_test(test_case, list_of_names, 0, ARRAY_SIZE(lists));
	tcase_add_test(test_case, two_lists_of_names);
	tcase_add_test(test_case, sizes_of_parts);
	tcase_add_test(test_case, headers);
	tcase_add_test(test_case, lengths);
	tcase_add_test(test_case, cut_messages);
	tcase_add_loop_test(test_case, other_protocols, 0, ARRAY_SIZE(others));
	tcase_add_test(test_case, old_versions);
	tcase_add_test(test_case, length_of_a_hello);
	tcase_add_test(test_case, count_of_records);
	tcase_add_loop_test(test_case, of_a_real_client, 0, ARRAY_SIZE(recorded));
	tcase_add_test(test_case, all_that_is_recorded);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(hello_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
