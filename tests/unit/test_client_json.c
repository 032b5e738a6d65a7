/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib.h"
#include "client/libjson.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *bytes;
	size_t size;
	const char *json;
} byte_strings[] = {
	{"", 0, "\"\""},
	{"a", 1, "\"a\""},
	{"\xc3\xa9", 2, "\"\xc3\xa9\""},
	{"a\0b", 3, "\"a\\u0000b\""},
	{"\xff", 1, "{\"base64\":\"/w==\"}"},
	{"\xff\xfe", 2, "{\"base64\":\"//4=\"}"},
	{"\xff\0\xfe", 3, "{\"base64\":\"/wD+\"}"},
	{"\xfb\xef\xbe\x01", 4, "{\"base64\":\"++++AQ==\"}"},
};

START_TEST(bytes_both_ways)
{
	json_t *value = json_from_bytes(byte_strings[_i].bytes, byte_strings[_i].size);
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	char *bytes;
	size_t size;

	ck_assert_str_eq(text, byte_strings[_i].json);
	ck_assert_int_eq(json_to_bytes(value, &bytes, &size), 0);
	ck_assert_uint_eq(size, byte_strings[_i].size);
	ck_assert_mem_eq(bytes, byte_strings[_i].bytes, size);
	ck_assert_int_eq(bytes[size], 0);
	free(bytes);
	free(text);
	json_decref(value);
}
END_TEST

static const char *const not_bytes[] = {
	"7",
	"null",
	"[]",
	"{}",
	"{\"base64\": 7}",
	"{\"base64\": \"YQ==\", \"x\": 1}",
	"{\"base64\": \"YQ\"}",
	"{\"base64\": \"YQ=\"}",
	"{\"base64\": \"Y===\"}",
	"{\"base64\": \"====\"}",
	"{\"base64\": \"YR==\"}",
	"{\"base64\": \"YQ==YQ==\"}",
	"{\"base64\": \"Y Q=\"}",
	"{\"base64\": \"YQ-_\"}",
	"{\"base64\": \"YQ=\\u0000\"}",
};

START_TEST(bytes_refused)
{
	json_t *value = json_loads(not_bytes[_i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	char *bytes;
	size_t size;

	ck_assert_ptr_nonnull(value);
	ck_assert_int_eq(json_to_bytes(value, &bytes, &size), -EINVAL);
	json_decref(value);
}
END_TEST

START_TEST(line_is_safe)
{
	json_t *value = json_pack(
		"{s:s}", "k\xc2\x9b",
		"\x1b\x7f\xc2\x80\xe2\x80\xae\xe2\x81\xa9\xd8\x9c \xc3\xa9\xe2\x82\xac");
	char *text = json_line(value);
	json_t *back;

	ck_assert_str_eq(text, "{\"k\\u009B\":\"\\u001B\\u007F\\u0080\\u202E\\u2069\\u061C "
			       "\xc3\xa9\xe2\x82\xac\"}");
	back = json_loads(text, 0, NULL);
	ck_assert(json_equal(back, value));
	json_decref(back);
	json_decref(value);
	free(text);
}
END_TEST

START_TEST(fractions_stay_short)
{
	json_t *value = json_pack("[f, f, I]", 0.1, 2.0, (json_int_t)INT64_MAX);
	char *text = json_line(value);

	ck_assert_str_eq(text, "[0.1,2.0,9223372036854775807]");
	free(text);
	json_decref(value);
}
END_TEST

/* Arguments go to the wire and come back; keys in the order of the tables. */
static const struct {
	const char *verb, *given, *back;
} accepted_rows[] = {
	{"launch", "{\"command\": [\"a\"]}", NULL},
	{"launch", "{\"priority\": -3, \"command\": [\"a\", {\"base64\": \"/w==\"}]}",
	 "{\"command\":[\"a\",{\"base64\":\"/w==\"}],\"priority\":-3}"},
	{"launch", "{\"environment\": {\"base64\": \"YQ==\"}}",
	 "{\"environment\":{\"base64\":\"YQ==\"}}"},
	{"launch", "{\"environment\": {\"A\": {\"base64\": \"YQ==\"}}}",
	 "{\"environment\":{\"A\":\"a\"}}"},
	{"launch", "{\"labels\": {\"base64\": \"x\"}}", "{\"labels\":{\"base64\":\"x\"}}"},
	{"launch", "{\"limits\": {\"memory\": 1, \"wall_seconds\": 2}}",
	 "{\"limits\":{\"wall_seconds\":2.0,\"memory\":1}}"},
	{"launch", "{\"binds\": [{\"mode\": \"rw\", \"source\": {\"base64\": \"L/8=\"}}]}",
	 "{\"binds\":[{\"source\":{\"base64\":\"L/8=\"},\"mode\":\"rw\"}]}"},
	{"launch", "{\"prompt\": {\"base64\": \"/wA=\"}}", "{\"prompt\":{\"base64\":\"/wA=\"}}"},
	{"show", "{\"plan\": true, \"id\": 9223372036854775807}",
	 "{\"id\":9223372036854775807,\"plan\":true}"},
	{"status", "{}", "{}"},
};

START_TEST(arguments_accepted)
{
	const char *given = accepted_rows[_i].given;
	struct trials_message *message;
	struct trials_error error = {0};
	char *text;
	int r;

	r = trials_arguments_from_json(accepted_rows[_i].verb, given, strlen(given), &message,
				       &error);
	ck_assert_msg(r == 0, "%s", error.message);
	ck_assert_int_eq(trials_message_json(message, &text), 0);
	if (accepted_rows[_i].back)
		ck_assert_str_eq(text, accepted_rows[_i].back);
	free(text);
	trials_message_free(message);
}
END_TEST

static const struct {
	const char *verb, *given, *named;
} refused_rows[] = {
	{"launch", "{\"memroy\": 1}", "memroy"},
	{"launch", "{\"limits\": {\"memroy\": 1}}", "memroy"},
	{"launch", "{\"limits\": {\"memory\": \"1\"}}", "limits.memory"},
	{"launch", "{\"limits\": {\"memory\": -1}}", "limits.memory"},
	{"launch", "{\"limits\": {\"memory\": 1.5}}", "limits.memory"},
	{"launch", "{\"limits\": 7}", "limits"},
	{"launch", "{\"limits\": null}", "limits"},
	{"launch", "{\"command\": \"a\"}", "command"},
	{"launch", "{\"command\": [7]}", "command"},
	{"launch", "{\"command\": [{\"base64\": \"?\"}]}", "command"},
	{"launch", "{\"command\": [\"a\\u0000b\"]}", "command"},
	{"launch", "{\"repository\": \"relative\"}", "repository"},
	{"launch", "{\"role\": \"judge\"}", "role"},
	{"launch", "{\"environment\": {\"A=B\": \"x\"}}", "environment"},
	{"launch", "{\"binds\": [{\"source\": \"/a\", \"readonly\": true}]}", "readonly"},
	{"launch", "{\"binds\": [7]}", "binds"},
	{"launch", "{\"priority\": 1001}", "priority"},
	{"launch", "[]", "object"},
	{"launch", "{", "JSON"},
	{"launch", "{\"key\": \"a\", \"key\": \"b\"}", "JSON"},
	{"launch", "{\"x\": [[[[[[[[[[1]]]]]]]]]]}", "x"},
	{"show", "{}", "id"},
	{"dance", "{}", "dance"},
};

START_TEST(arguments_refused)
{
	const char *given = refused_rows[_i].given;
	struct trials_message *message = NULL;
	struct trials_error error = {0};

	ck_assert_int_eq(trials_arguments_from_json(refused_rows[_i].verb, given, strlen(given),
						    &message, &error),
			 -EINVAL);
	ck_assert_ptr_null(message);
	ck_assert_msg(strstr(error.message, refused_rows[_i].named), "%s", error.message);
}
END_TEST

START_TEST(long_names_refused)
{
	char name[600], given[1400];
	struct trials_message *message;
	struct trials_error error = {0};

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	snprintf(given, sizeof(given), "{\"environment\": {\"%s\": \"x\"}}", name);
	ck_assert_int_eq(trials_launch_from_json(given, strlen(given), &message, &error), -EINVAL);
	ck_assert_msg(strstr(error.message, "environment"), "%s", error.message);
	snprintf(given, sizeof(given), "{\"%s\": \"x\"}", name);
	ck_assert_int_eq(trials_launch_from_json(given, strlen(given), &message, &error), -EINVAL);
}
END_TEST

START_TEST(errors_may_be_unwanted)
{
	struct trials_message *message;

	ck_assert_int_eq(trials_launch_from_json("{", 1, &message, NULL), -EINVAL);
}
END_TEST

START_TEST(accessors)
{
	const char *given = "{\"command\": [\"a\", {\"base64\": \"/w==\"}], \"priority\": -3, "
			    "\"limits\": {\"wall_seconds\": 1.5, \"memory\": 7}, "
			    "\"share_repository\": true, \"labels\": {\"x\": \"y\"}}";
	struct trials_message *message;
	const char *text, *again;
	const void *bytes;
	int64_t integer;
	double number;
	size_t size;
	int flag;

	ck_assert_int_eq(trials_launch_from_json(given, strlen(given), &message, NULL), 0);
	ck_assert_int_eq(trials_get_string(message, "command.0", &text), 0);
	ck_assert_str_eq(text, "a");
	ck_assert_int_eq(trials_get_string(message, "command.0", &again), 0);
	ck_assert_ptr_eq(text, again);
	ck_assert_int_eq(trials_get_string(message, "command.1", &text), -EINVAL);
	ck_assert_int_eq(trials_get_bytes(message, "command.1", &bytes, &size), 0);
	ck_assert_uint_eq(size, 1);
	ck_assert_int_eq(trials_get_string(message, "command.2", &text), -ENOENT);
	ck_assert_int_eq(trials_get_string(message, "command.x", &text), -ENOENT);
	ck_assert_int_eq(trials_get_string(message, "nothing", &text), -ENOENT);
	ck_assert_int_eq(trials_get_string(message, "labels.x", &text), 0);
	ck_assert_int_eq(trials_get_integer(message, "priority", &integer), 0);
	ck_assert_int_eq(integer, -3);
	ck_assert_int_eq(trials_get_integer(message, "labels", &integer), -EINVAL);
	ck_assert_int_eq(trials_get_number(message, "limits.wall_seconds", &number), 0);
	ck_assert_double_eq(number, 1.5);
	ck_assert_int_eq(trials_get_number(message, "limits.memory", &number), 0);
	ck_assert_double_eq(number, 7);
	ck_assert_int_eq(trials_get_boolean(message, "share_repository", &flag), 0);
	ck_assert_int_eq(flag, 1);
	ck_assert_int_eq(trials_get_count(message, "command", &size), 0);
	ck_assert_uint_eq(size, 2);
	ck_assert_int_eq(trials_get_count(message, "labels", &size), 0);
	ck_assert_uint_eq(size, 1);
	ck_assert_ptr_null(trials_message_event(message));
	ck_assert_int_eq(trials_message_error(message, NULL), 0);
	trials_message_free(message);
}
END_TEST

/* What trialsd sends and no table has to know: all of it is shown. */
START_TEST(unknown_keys_are_shown)
{
	struct trials_message *message;
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	char *text;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 2);
	msgpack_pack_str_with_body(&packer, "reply", 5);
	msgpack_pack_uint64(&packer, 3);
	msgpack_pack_str_with_body(&packer, "ok", 2);
	msgpack_pack_map(&packer, 4);
	msgpack_pack_str_with_body(&packer, "new", 3);
	msgpack_pack_uint64(&packer, UINT64_MAX);
	msgpack_pack_str_with_body(&packer, "nil", 3);
	msgpack_pack_nil(&packer);
	msgpack_pack_str_with_body(&packer, "bad", 3);
	msgpack_pack_str_with_body(&packer, "\xff", 1);
	msgpack_pack_str_with_body(&packer, "bin", 3);
	msgpack_pack_bin_with_body(&packer, "text", 4);
	ck_assert_int_eq(message_from_frame(&message, buffer.data, buffer.size), 0);
	ck_assert_uint_eq(trials_message_number(message), 3);
	ck_assert_int_eq(trials_message_json(message, &text), 0);
	ck_assert_str_eq(text, "{\"new\":1.84467440737096e19,\"nil\":null,"
			       "\"bad\":{\"base64\":\"/w==\"},\"bin\":\"text\"}");
	free(text);
	trials_message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client json");
	TCase *test_case = tcase_create("json");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(test_case, bytes_both_ways, 0, COUNT(byte_strings));
	tcase_add_loop_test(test_case, bytes_refused, 0, COUNT(not_bytes));
	tcase_add_test(test_case, line_is_safe);
	tcase_add_test(test_case, fractions_stay_short);
	tcase_add_loop_test(test_case, arguments_accepted, 0, COUNT(accepted_rows));
	tcase_add_loop_test(test_case, arguments_refused, 0, COUNT(refused_rows));
	tcase_add_test(test_case, long_names_refused);
	tcase_add_test(test_case, errors_may_be_unwanted);
	tcase_add_test(test_case, accessors);
	tcase_add_test(test_case, unknown_keys_are_shown);
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
