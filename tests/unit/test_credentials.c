/* SPDX-License-Identifier: MIT */
#include "plan/credentials.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ~/.thirdshift/credentials.toml: what of it is ours, and everything else that may stand in it. */

#define PATH "/home/x/credentials.toml"

static struct credentials *credentials;
static struct fault fault;

static void setup(void)
{
	credentials = NULL;
	fault = FAULT_INIT;
}

static void teardown(void)
{
	credentials_free(credentials);
	fault_done(&fault);
}

static int parse_bytes(const char *bytes, size_t size)
{
	/* Of just that size, for the sanitizers. */
	char *copy = malloc(size ? size : 1);
	int r;

	memcpy(copy, bytes, size);
	credentials = credentials_free(credentials);
	fault_done(&fault);
	r = credentials_parse(&credentials, PATH, copy, size, &fault);
	free(copy);
	return r;
}

static void good(const char *text)
{
	ck_assert_msg(parse_bytes(text, strlen(text)) == 0, "%s: %s", text, fault.message);
}

static const char *get(const char *name)
{
	const char *value;

	ck_assert_int_eq(credentials_get(credentials, name, &value, &fault), 0);
	return value;
}

static void bad_bytes(const char *bytes, size_t size, const char *message)
{
	ck_assert_int_eq(parse_bytes(bytes, size), FAULT);
	ck_assert_ptr_null(credentials);
	ck_assert_str_eq(fault.message, message);
	ck_assert_int_eq(fault.cause, CAUSE_session_unavailable);
}

static void bad(const char *text, const char *message)
{
	bad_bytes(text, strlen(text), message);
	ck_assert_ptr_null(strstr(fault.message, "SECRET"));
}

START_TEST(ours)
{
	good("# mine\n"
	     "[resend]\nkey = \"re_1\"\n\n"
	     "[claude] # by setup-token\n  setup_token='sk-ant'  # until spring\n"
	     "[opencode]\r\napi_key=\"oc\"\r\n"
	     "[ providers ]\nopenai = \"one\"\n\"x.ai\" = \"two\"\nmoonshot = ''\n");
	ck_assert_str_eq(get("resend.key"), "re_1");
	ck_assert_str_eq(get("claude.setup_token"), "sk-ant");
	ck_assert_str_eq(get("opencode.api_key"), "oc");
	ck_assert_str_eq(get("providers.openai"), "one");
	ck_assert_str_eq(get("providers.x.ai"), "two");
	ck_assert_ptr_null(get("providers.moonshot"));
	ck_assert_ptr_null(get("providers.none"));
	ck_assert_ptr_null(get("none.none"));
	ck_assert_ptr_null(credentials_warning(credentials));
}
END_TEST

START_TEST(dotted)
{
	good("claude.setup_token = \"a\"\nproviders . \"openai\" = 'b'\n[x]\nclaude.setup_token = 'c'");
	ck_assert_str_eq(get("claude.setup_token"), "a");
	ck_assert_str_eq(get("providers.openai"), "b");
}
END_TEST

START_TEST(strings)
{
	good("[providers]\n"
	     "a = \"\\\"\\\\\\b\\t\\n\\f\\r\\u00e9\\U0001F600\\u20AC\"\n"
	     "b = 'C:\\no\\escapes \"\"'\n"
	     "c = \"# no comment\"\n"
	     "d = \"\xc3\xa9\ttab\"\n"
	     "\"\" = 'empty key'\n");
	ck_assert_str_eq(get("providers.a"), "\"\\\b\t\n\f\r\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac");
	ck_assert_str_eq(get("providers.b"), "C:\\no\\escapes \"\"");
	ck_assert_str_eq(get("providers.c"), "# no comment");
	ck_assert_str_eq(get("providers.d"), "\xc3\xa9\ttab");
	ck_assert_str_eq(get("providers."), "empty key");
}
END_TEST

/* Other programs' own: any TOML there is. */
START_TEST(others)
{
	good("title = \"x\"\nport = 8_080\npi = -3.14e+10\nwhen = 1979-05-27 07:32:00.5-07:00\n"
	     "day = 1979-05-27\non = true\nhex = 0xdead_beef\nnothing = inf\n"
	     "list = [ 1, 'two', [\"3\", ], # comment\n\n { a = 1, b.c = [2] } , ]\n"
	     "empty = []\nnone = {}\n"
	     "long = \"\"\"\nwith \"quotes\" and \\\"\"\" and a # \\\n  more\"\"\"\"\"\n"
	     "raw = '''\nas \\it is\n''''\n"
	     "[a.\"b c\".'d']\ne = 1\n[[servers]]\nclaude.setup_token = 1\n[[servers]]\nx = 1\n"
	     "[claude]\nother = 5\nsetup_token = \"SECRET\"\nsub.setup_token = 7\n"
	     "[claude.setup]\nsetup_token = 1\n");
	ck_assert_str_eq(get("claude.setup_token"), "SECRET");
}
END_TEST

START_TEST(asked_for)
{
	const char *value;

	good("[mine]\nkey = 5\nlong = '''x'''\n");
	ck_assert_int_eq(credentials_get(credentials, "mine.key", &value, &fault), FAULT);
	ck_assert_str_eq(fault.message, PATH ":2: [mine] key: must be a string on one line");
	fault_done(&fault);
	ck_assert_int_eq(credentials_get(credentials, "mine.long", &value, &fault), FAULT);
	ck_assert_int_eq(credentials_get(credentials, "mine", &value, &fault), -EINVAL);
}
END_TEST

START_TEST(wrong_types)
{
	bad("[claude]\nsetup_token = 5\n",
	    PATH ":2: [claude] setup_token: must be a string on one line");
	bad("[claude]\n\nsetup_token = [\n'SECRET']\n",
	    PATH ":3: [claude] setup_token: must be a string on one line");
	bad("[claude]\nsetup_token = \"\"\"SECRET\"\"\"\n",
	    PATH ":2: [claude] setup_token: must be a string on one line");
	bad("[providers]\nopenai = { key = 'SECRET' }\n",
	    PATH ":2: [providers] openai: must be a string on one line");
	bad("[providers.openai]\nkey = 'SECRET'\n",
	    PATH ":2: [providers] openai: must be a string on one line");
	bad("opencode = 'SECRET'\n", PATH ":1: [opencode]: must be a table of its own");
	bad("claude = { setup_token = 'SECRET' }\n",
	    PATH ":1: [claude]: must be a table of its own");
	bad("[[claude]]\n", PATH ":1: [claude]: must be one table, not a list of them");
	bad("[opencode]\napi_key = 'SECRET'\n[x]\n[opencode]\napi_key = 'SECRET'\n",
	    PATH ":5: [opencode] api_key: is there twice");
}
END_TEST

START_TEST(no_toml)
{
	bad("[claude\n", PATH ":1: a table's name has no end");
	bad("[]\n", PATH ":1: there is no key where one should be");
	bad("[x]\nkey\n", PATH ":2: there is no = behind a key");
	bad("[x]\nkey =\n", PATH ":2: there is no value where one should be");
	bad("[x]\nkey = SECRET!\n", PATH ":2: there is something behind the value");
	bad("[x]\nkey = 'SECRET\n'\n", PATH ":2: a string has no end");
	bad("[x]\nkey = \"SECRET", PATH ":2: a string has no end");
	bad("[x]\nkey = \"SECRET\\",
	    PATH ":2: there is a backslash before something that it cannot escape");
	bad("[x]\nkey = \"SECRET\\q\"",
	    PATH ":2: there is a backslash before something that it cannot escape");
	bad("[x]\nkey = \"SECRET\\u12", PATH ":2: there is an escape that is no character");
	bad("[x]\nkey = \"\\ud800\"", PATH ":2: there is an escape that is no character");
	bad("[x]\nkey = \"\\u0000\"", PATH ":2: there is an escape that is no character");
	bad("[x]\nkey = \"\\U00110000\"", PATH ":2: there is an escape that is no character");
	bad("[x]\nkey = 'a' 'SECRET'", PATH ":2: there is something behind the value");
	bad("[x]\nkey = '''\n\n", PATH ":4: a string has no end");
	bad("[x]\nkey = [1 2]", PATH ":2: an array has no end");
	bad("[x]\nkey = [1,", PATH ":2: there is no value where one should be");
	bad("[x]\nkey = {a = 1", PATH ":2: a table in braces has no end");
	bad("[x]\nkey = {a 1}", PATH ":2: there is no = behind a key");
	bad("[x]\na = 1\na = 2", PATH ":3: a key is there twice");
	bad("# a\rb", PATH ":1: there is a control character in a comment");
	bad("a = 'SECRET\x01'", PATH ":1: there is a control character in a string");
	bad("a = 'SECRET\x7f'", PATH ":1: there is a control character in a string");
	bad("a = '\xff'", PATH ":1: it is no text");
	bad("a.b.c.d.e.f.g.h.i = 1", PATH ":1: a key has too many parts");
	bad_bytes("a = 1\n\0", 7, PATH ":1: it is no text");
}
END_TEST

START_TEST(bounds)
{
	size_t size = CREDENTIALS_BYTES_MAX + 1;
	char *text = malloc(size + 1);

	memset(text, ' ', size);
	ck_assert_int_eq(parse_bytes(text, size - 1), 0);
	bad_bytes(text, size, PATH ":1: it is too large");
	memset(text, '[', size);
	memcpy(text, "a = ", 4);
	bad_bytes(text, size - 1, PATH ":1: values are nested too deeply");
	/* Names of one byte take the most room. */
	for (size_t i = 0; i + 8 <= size - 1; i += 8)
		memcpy(text + i, "a.b.c=1\n", 8);
	ck_assert_int_eq(parse_bytes(text, (size - 1) / 8 * 8), 0);
	text[0] = '\0';
	for (int i = 0; i <= CREDENTIALS_ENTRIES_MAX; i++)
		sprintf(text + strlen(text), "x.k%d=1\n", i);
	bad(text, PATH ":257: there are too many keys");
	free(text);
}
END_TEST

/* --- The file itself ------------------------------------------------------------------------------ */

static int read_file(const char *path)
{
	credentials = credentials_free(credentials);
	fault_done(&fault);
	fault = FAULT_INIT;
	return credentials_read(&credentials, path, &fault);
}

START_TEST(file)
{
	char path[] = "/tmp/test_credentials.XXXXXX";
	const char *text = "[claude]\nsetup_token = \"SECRET\"\n";
	int fd = mkstemp(path);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(read_file(path), 0);
	ck_assert_str_eq(get("claude.setup_token"), "SECRET");
	ck_assert_ptr_null(credentials_warning(credentials));
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	ck_assert_int_eq(read_file(path), 0);
	ck_assert_str_eq(get("claude.setup_token"), "SECRET");
	ck_assert_ptr_nonnull(
		strstr(credentials_warning(credentials), "chmod 600 '/tmp/test_cred"));
	ck_assert_int_eq(ftruncate(fd, CREDENTIALS_BYTES_MAX + 1), 0);
	ck_assert_int_eq(read_file(path), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "too large"));
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(read_file(path), 0);
	ck_assert_ptr_null(get("claude.setup_token"));
	/* Nobody waits for a FIFO's other end. */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(read_file(path), FAULT);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_ptr_nonnull(strstr(fault.message, "not a regular file"));
}
END_TEST

static Suite *credentials_suite(void)
{
	Suite *suite = suite_create("credentials");
	TCase *test_case = tcase_create("credentials");

	tcase_add_checked_fixture(test_case, setup, teardown);
	tcase_add_test(test_case, ours);
	tcase_add_test(test_case, dotted);
	tcase_add_test(test_case, strings);
	tcase_add_test(test_case, others);
	tcase_add_test(test_case, asked_for);
	tcase_add_test(test_case, wrong_types);
	tcase_add_test(test_case, no_toml);
	tcase_add_test(test_case, bounds);
	tcase_add_test(test_case, file);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(credentials_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
