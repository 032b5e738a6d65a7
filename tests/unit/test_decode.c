/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"
#include "sample.h"

/*
 * What each field type takes and what it refuses: every field of every message is given every
 * kind of value in turn, then values at its limit and one above.
 */

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static msgpack_sbuffer buffer;
static msgpack_packer packer;
static struct message *message;
static struct decode_error error;

static void set_up(void)
{
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	message = NULL;
	memset(&error, 0, sizeof(error));
}

static void tear_down(void)
{
	message = message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}

static void pack_text(const char *text)
{
	msgpack_pack_str(&packer, strlen(text));
	msgpack_pack_str_body(&packer, text, strlen(text));
}

/* One of each kind of value. */
enum probe {
	P_NIL,
	P_BOOL,
	P_ONE,
	P_MINUS_ONE,
	P_HUGE,
	P_HALF,
	P_FLOAT32,
	P_NAN,
	P_INFINITE,
	P_TEXT,
	P_EMPTY_TEXT,
	P_PATH,
	P_PATH_BIN,
	P_INVALID_UTF8,
	P_PATH_NUL,
	P_LIST,
	P_LIST_TEXT,
	P_LIST_NUMBER,
	P_LIST_MAP,
	P_MAP,
	P_MAP_TEXT,
	P_MAP_NUMBER,
	P_COUNT
};

static void pack_container(enum probe probe)
{
	if (probe == P_LIST || probe == P_MAP) {
		probe == P_LIST ? msgpack_pack_array(&packer, 0) : msgpack_pack_map(&packer, 0);
		return;
	}
	if (probe < P_MAP) {
		msgpack_pack_array(&packer, 1);
	} else {
		msgpack_pack_map(&packer, 1);
		pack_text("x");
	}
	if (probe == P_LIST_TEXT || probe == P_MAP_TEXT)
		pack_text("x");
	else if (probe == P_LIST_MAP)
		msgpack_pack_map(&packer, 0);
	else
		msgpack_pack_int(&packer, 1);
}

static void pack_bytes(bool bin, const char *bytes, size_t size)
{
	if (bin) {
		msgpack_pack_bin(&packer, size);
		msgpack_pack_bin_body(&packer, bytes, size);
	} else {
		msgpack_pack_str(&packer, size);
		msgpack_pack_str_body(&packer, bytes, size);
	}
}

static void pack_probe(enum probe probe)
{
	switch (probe) {
	case P_NIL:
		msgpack_pack_nil(&packer);
		break;
	case P_BOOL:
		msgpack_pack_true(&packer);
		break;
	case P_ONE:
		msgpack_pack_int(&packer, 1);
		break;
	case P_MINUS_ONE:
		msgpack_pack_int(&packer, -1);
		break;
	case P_HUGE:
		msgpack_pack_uint64(&packer, (uint64_t)INT64_MAX + 1);
		break;
	case P_HALF:
		msgpack_pack_double(&packer, 0.5);
		break;
	case P_FLOAT32:
		msgpack_pack_float(&packer, 0.25f);
		break;
	case P_NAN:
		msgpack_pack_double(&packer, NAN);
		break;
	case P_INFINITE:
		msgpack_pack_double(&packer, INFINITY);
		break;
	case P_TEXT:
		pack_bytes(false, "x", 1);
		break;
	case P_EMPTY_TEXT:
		pack_bytes(false, "", 0);
		break;
	case P_PATH:
		pack_bytes(false, "/x", 2);
		break;
	case P_PATH_BIN:
		pack_bytes(true, "/\xff", 2);
		break;
	case P_INVALID_UTF8:
		pack_bytes(false, "/\xff", 2);
		break;
	case P_PATH_NUL:
		pack_bytes(false, "/\0x", 3);
		break;
	default:
		pack_container(probe);
	}
}

#define BIT(probe) (1u << (probe))
#define TEXTS (BIT(P_TEXT) | BIT(P_EMPTY_TEXT) | BIT(P_PATH))

/* What each type takes; the closed sets of words take none of the probes. */
static const unsigned int accepted[FIELD_TYPE_COUNT] = {
	[FIELD_UINT] = BIT(P_ONE),
	[FIELD_SIZE] = BIT(P_ONE),
	[FIELD_TIME] = BIT(P_ONE),
	[FIELD_INT] = BIT(P_ONE) | BIT(P_MINUS_ONE),
	[FIELD_SECONDS] = BIT(P_ONE) | BIT(P_HALF) | BIT(P_FLOAT32) | BIT(P_HUGE),
	[FIELD_FLOAT] = BIT(P_ONE) | BIT(P_MINUS_ONE) | BIT(P_HALF) | BIT(P_FLOAT32) | BIT(P_HUGE),
	[FIELD_BOOL] = BIT(P_BOOL),
	[FIELD_STRING] = TEXTS,
	[FIELD_BYTES] = TEXTS | BIT(P_PATH_BIN) | BIT(P_INVALID_UTF8),
	[FIELD_PATH] = BIT(P_PATH) | BIT(P_PATH_BIN) | BIT(P_INVALID_UTF8),
	[FIELD_BLOB] = TEXTS | BIT(P_PATH_BIN) | BIT(P_INVALID_UTF8) | BIT(P_PATH_NUL),
	[FIELD_STRINGS] = BIT(P_LIST) | BIT(P_LIST_TEXT),
	[FIELD_BYTES_LIST] = BIT(P_LIST) | BIT(P_LIST_TEXT),
	[FIELD_PAIRS] = BIT(P_MAP) | BIT(P_MAP_TEXT),
	[FIELD_STRING_PAIRS] = BIT(P_MAP) | BIT(P_MAP_TEXT),
	[FIELD_LIMITS] = BIT(P_MAP),
	[FIELD_BINDS] = BIT(P_LIST),
	[FIELD_LIMIT_STATES] = BIT(P_LIST),
	[FIELD_LOG_STATES] = BIT(P_LIST),
	[FIELD_GIT_CHANGES] = BIT(P_LIST),
	[FIELD_LOGIN_OUTCOMES] = BIT(P_LIST),
	[FIELD_KEPT_LIST] = BIT(P_LIST),
	[FIELD_STATUS_TRIALS] = BIT(P_LIST),
	[FIELD_DOCTOR_CHECKS] = BIT(P_LIST),
	[FIELD_TRIALS] = BIT(P_LIST),
	[FIELD_HARNESSES] = BIT(P_LIST),
	[FIELD_LOGINS] = BIT(P_LIST),
	[FIELD_TRIAL_TOOLCHAINS] = BIT(P_LIST),
	[FIELD_CONNECTIONS] = BIT(P_LIST),
	[FIELD_MOUNTS] = BIT(P_LIST),
	[FIELD_TRIAL_HARNESSES] = BIT(P_LIST),
	[FIELD_ARM_FILES] = BIT(P_LIST),
	[FIELD_ARM_HARNESSES] = BIT(P_LIST),
	[FIELD_ARM_PROVIDERS] = BIT(P_LIST),
	[FIELD_ARM_CHANGES] = BIT(P_LIST),
	[FIELD_ARM_VIEWS] = BIT(P_LIST),
	[FIELD_BAR_SEATS] = BIT(P_LIST) | BIT(P_LIST_MAP), /* none of its keys must be there */
	[FIELD_BAR_VIEWS] = BIT(P_LIST),
	[FIELD_PANEL_SEATS] = BIT(P_LIST),
	[FIELD_PANEL_ARMS] = BIT(P_LIST),
};

/*
 * Writes a whole message of that type in which the field's value is what `pack_value` writes,
 * and decodes it.
 */
static int decode_with(const struct message_type *type, const struct field *field,
		       void (*pack_value)(const struct field *field, uint64_t argument),
		       uint64_t argument)
{
	struct sample *sample = sample_new(7);
	void *structure = sample_allocate(sample, type->size);
	struct message *whole;
	const msgpack_object *root;
	int r;

	tear_down();
	set_up();
	sample_fill(sample, type, true, structure);
	ck_assert_int_eq(message_encode(&packer, type, structure), 0);
	ck_assert_int_eq(message_parse(&whole, buffer.data, buffer.size), 0);
	msgpack_sbuffer_clear(&buffer);
	root = message_root(whole);
	msgpack_pack_map(&packer, root->via.map.size);
	for (uint32_t i = 0; i < root->via.map.size; i++) {
		const msgpack_object_kv *entry = &root->via.map.ptr[i];

		msgpack_pack_object(&packer, entry->key);
		if (strlen(field->name) == entry->key.via.str.size &&
		    memcmp(field->name, entry->key.via.str.ptr, entry->key.via.str.size) == 0)
			pack_value(field, argument);
		else
			msgpack_pack_object(&packer, entry->val);
	}
	message_free(whole);
	ck_assert_int_eq(message_parse(&message, buffer.data, buffer.size), 0);
	r = message_decode(message, message_root(message), type, UNKNOWN_KEYS_REFUSED, structure,
			   &error);
	sample_free(sample);
	return r;
}

static void pack_probe_value(const struct field *field, uint64_t argument)
{
	(void)field;
	pack_probe((enum probe)argument);
}

START_TEST(every_kind_of_value)
{
	const struct message_type *type = sample_types[_i];

	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		unsigned int takes = accepted[field->type];

		if (field->limit && field->type == FIELD_SECONDS)
			takes &= ~BIT(P_HUGE);
		for (unsigned int probe = 0; probe < P_COUNT; probe++) {
			int r = decode_with(type, field, pack_probe_value, probe);

			ck_assert_msg(r == (takes & BIT(probe) ? 0 : -EBADMSG),
				      "%s.%s probe %u: %d", type->name, field->name, probe, r);
			if (r == 0)
				continue;
			ck_assert_msg(strncmp(error.field, field->name, strlen(field->name)) == 0,
				      "%s.%s: %s", type->name, field->name, error.field);
			ck_assert_str_ne(error.reason, "");
		}
	}
}
END_TEST

/* A value of the field's type of just that size. */
static void pack_sized(const struct field *field, uint64_t size)
{
	char name[24];
	char *text;

	switch (field->type) {
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_PATH:
	case FIELD_BLOB:
		text = malloc(size + 1);
		memset(text, '/', size);
		pack_bytes(false, text, size);
		free(text);
		break;
	case FIELD_STRINGS:
	case FIELD_BYTES_LIST:
		msgpack_pack_array(&packer, size);
		for (uint64_t i = 0; i < size; i++)
			pack_text("x");
		break;
	case FIELD_PAIRS:
	case FIELD_STRING_PAIRS:
		msgpack_pack_map(&packer, size);
		for (uint64_t i = 0; i < size; i++) {
			snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
			pack_text(name);
			pack_text("x");
		}
		break;
	default:
		msgpack_pack_uint64(&packer, size);
	}
}

/* The elements of such a list are messages of their own. */
static void pack_structures(const struct field *field, uint64_t count)
{
	const struct message_type *inner = field_inner_type(field->type);
	struct sample *sample = sample_new(3);
	void *structure = sample_allocate(sample, inner->size);

	msgpack_pack_array(&packer, count);
	for (uint64_t i = 0; i < count; i++) {
		sample_fill(sample, inner, false, structure);
		ck_assert_int_eq(message_encode(&packer, inner, structure), 0);
	}
	sample_free(sample);
}

START_TEST(every_limit)
{
	const struct message_type *type = sample_types[_i];

	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		bool structures = field_inner_type(field->type) != NULL;
		int r;

		if (field->limit == 0)
			continue;
		r = decode_with(type, field, structures ? pack_structures : pack_sized,
				field->limit);
		ck_assert_msg(r == 0, "%s.%s: %s", type->name, field->name, error.reason);
		r = decode_with(type, field, structures ? pack_structures : pack_sized,
				field->limit + 1);
		ck_assert_msg(r == -EBADMSG, "%s.%s", type->name, field->name);
		ck_assert_str_eq(error.field, field->name);
	}
}
END_TEST

static void pack_word(const struct field *field, uint64_t argument)
{
	const struct word_set *words = field_words(field->type);

	if (argument < words->count)
		pack_text(words->words[argument]);
	else
		pack_text("nonsense");
}

START_TEST(every_word)
{
	const struct message_type *type = sample_types[_i];

	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		const struct word_set *words = field_words(field->type);

		for (size_t word = 0; words && word < words->count; word++)
			ck_assert_int_eq(decode_with(type, field, pack_word, word), 0);
		if (!words)
			continue;
		ck_assert_int_eq(decode_with(type, field, pack_word, words->count), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(error.reason, words->words[words->count - 1]));
	}
}
END_TEST

START_TEST(every_required_field)
{
	const struct message_type *type = sample_types[_i];
	struct sample *sample = sample_new(5);
	void *structure = sample_allocate(sample, type->size);

	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		const msgpack_object *root;
		msgpack_object map;
		uint32_t kept = 0;
		int r;

		tear_down();
		set_up();
		sample_fill(sample, type, true, structure);
		ck_assert_int_eq(message_encode(&packer, type, structure), 0);
		ck_assert_int_eq(message_parse(&message, buffer.data, buffer.size), 0);
		root = message_root(message);
		map = *root;
		for (uint32_t j = 0; j < root->via.map.size; j++)
			if (strlen(field->name) != root->via.map.ptr[j].key.via.str.size ||
			    memcmp(field->name, root->via.map.ptr[j].key.via.str.ptr,
				   strlen(field->name)) != 0)
				map.via.map.ptr[kept++] = root->via.map.ptr[j];
		map.via.map.size = kept;
		r = message_decode(message, &map, type, UNKNOWN_KEYS_REFUSED, structure, &error);
		ck_assert_int_eq(r, field->required ? -EBADMSG : 0);
		if (field->required) {
			ck_assert_str_eq(error.field, field->name);
			ck_assert_int_eq(strncmp(error.reason, "is required", 11), 0);
		}
	}
	sample_free(sample);
}
END_TEST

/* Launches that are wrong: the raw bytes of a map, and what is said about them. */
#define BYTES(text) text, sizeof(text) - 1
static const struct {
	const char *bytes;
	size_t size;
	const char *field;
	const char *reason;
} launches[] = {
	{BYTES("\x80"), NULL, NULL},
	{BYTES("\x81\xa7"
	       "command\x92\xa1x\xa0"),
	 NULL, NULL},
	{BYTES("\x81\xa7"
	       "command\x92\xa1x\xc4\x01\xff"),
	 NULL, NULL},
	{BYTES("\x81\xa7"
	       "command\x92\xa1x\x01"),
	 "command[1]", "must be a string without NUL"},
	{BYTES("\x81\xa7"
	       "command\x92\xa1x\xa1\0"),
	 "command[1]", "must be a string without NUL"},
	{BYTES("\x81\xa6memory\x01"), "memory", "no such key; there are: command, repository, "},
	{BYTES("\x81\xa6limits\x81\xa3wal\x01"), "limits.wal",
	 "no such key; there are: wall_seconds, memory, swap, tasks, cpu, tmp, home, output, "
	 "stall_seconds"},
	{BYTES("\x81\xa6limits\x81\xa6memory\xa2"
	       "4G"),
	 "limits.memory", "must be a whole number of bytes, at most 1125899906842624"},
	{BYTES("\x81\xa6limits\x90"), "limits", "must be a map"},
	{BYTES("\x81\xa5"
	       "binds\x92\x81\xa6source\xa2/a\x82\xa6source\xa2/b\xa4mode\xa1x"),
	 "binds[1].mode", "must be one of ro, rw"},
	{BYTES("\x81\xa5"
	       "binds\x91\x80"),
	 "binds[0].source", "is required (host path, absolute)"},
	{BYTES("\x81\xa5"
	       "binds\x91\x81\xa6source\xa1/"),
	 NULL, NULL},
	{BYTES("\x81\xa5"
	       "binds\x91\x81\xa6source\xa1x"),
	 "binds[0].source", "must be an absolute path without NUL, at most 4095 bytes"},
	{BYTES("\x81\xa5"
	       "binds\x91\x01"),
	 "binds[0]", "must be a map"},
	{BYTES("\x81\xab"
	       "environment\x81\xa1"
	       "A\xa0"),
	 NULL, NULL},
	{BYTES("\x81\xab"
	       "environment\x81\xa1"
	       "A\xc4\x01\xff"),
	 NULL, NULL},
	{BYTES("\x81\xab"
	       "environment\x81\xa0\xa1x"),
	 "environment", "its names must not be empty"},
	{BYTES("\x81\xab"
	       "environment\x81\xa3"
	       "A=B\xa1x"),
	 "environment.A=B", "the name must not hold '='"},
	{BYTES("\x81\xab"
	       "environment\x81\xa1\xff\xa1x"),
	 "environment", "its names must be text in UTF-8"},
	{BYTES("\x81\xab"
	       "environment\x81\xa3"
	       "A\0B\xa1x"),
	 "environment", "its names must be text in UTF-8"},
	{BYTES("\x81\xab"
	       "environment\x81\xa1"
	       "A\x01"),
	 "environment.A", "must be a string without NUL"},
	{BYTES("\x81\xa6labels\x81\xa3"
	       "A=B\xa0"),
	 NULL, NULL},
	{BYTES("\x81\xa6labels\x81\xa1"
	       "A\xc4\x01x"),
	 "labels.A", "must be text in UTF-8 without NUL"},
	{BYTES("\x81\xa6labels\x81\xa2\x1b[\x01"), "labels.?[",
	 "must be text in UTF-8 without NUL"},
	{BYTES("\x81\xa8priority\xd1\xfc\x18"), NULL, NULL},
	{BYTES("\x81\xa8priority\xd1\xfc\x17"), "priority",
	 "must be a whole number from -1000 to 1000"},
	{BYTES("\x81\xad"
	       "grace_seconds\xcd\x0e\x10"),
	 NULL, NULL},
	{BYTES("\x81\xad"
	       "grace_seconds\xcd\x0e\x11"),
	 "grace_seconds", "must be a number of seconds from 0 to 3600"},
	{BYTES("\x81\xad"
	       "grace_seconds\xff"),
	 "grace_seconds", "must be a number of seconds from 0 to 3600"},
	{BYTES("\x81\xa6prompt\xc4\x03"
	       "a\0\xff"),
	 NULL, NULL},
	{BYTES("\x81\xa3key\xc0"), "key", "must be text in UTF-8 without NUL, at most 128 bytes"},
	{BYTES("\x81\xa2\x1b[\xc0"), "?[", "no such key; "},
};

START_TEST(launch)
{
	struct launch_request request, zero = {0};
	int r;

	ck_assert_int_eq(message_parse(&message, launches[_i].bytes, launches[_i].size), 0);
	memset(&request, 0xa5, sizeof(request));
	r = message_decode(message, message_root(message), &launch_request_type,
			   UNKNOWN_KEYS_REFUSED, &request, &error);
	if (!launches[_i].field) {
		ck_assert_msg(r == 0, "%s: %s", error.field, error.reason);
		return;
	}
	ck_assert_int_eq(r, -EBADMSG);
	ck_assert_str_eq(error.field, launches[_i].field);
	ck_assert_msg(strncmp(error.reason, launches[_i].reason, strlen(launches[_i].reason)) == 0,
		      "%s", error.reason);
	/* Nothing half done. */
	ck_assert_mem_eq(&request, &zero, sizeof(request));
	/* Nobody has to ask why. */
	ck_assert_int_eq(message_decode(message, message_root(message), &launch_request_type,
					UNKNOWN_KEYS_REFUSED, &request, NULL),
			 -EBADMSG);
}
END_TEST

START_TEST(unknown_keys_ignored)
{
	static const char bytes[] = "\x83\xa3new\x81\xa1x\x01\xa6limits\x82\xa3new\xc0\xa5tasks\x07"
				    "\xa3key\xa1k";
	struct launch_request request;

	ck_assert_int_eq(message_parse(&message, bytes, sizeof(bytes) - 1), 0);
	ck_assert_int_eq(message_decode(message, message_root(message), &launch_request_type,
					UNKNOWN_KEYS_IGNORED, &request, &error),
			 0);
	ck_assert(request.has.limits);
	ck_assert(request.limits.has.tasks);
	ck_assert(!request.limits.has.memory);
	ck_assert_uint_eq(request.limits.tasks, 7);
	ck_assert_str_eq(request.key, "k");
	/* But not one that is longer than any key may be. */
	message = message_free(message);
	msgpack_pack_map(&packer, 1);
	pack_text("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk");
	msgpack_pack_nil(&packer);
	ck_assert_int_eq(message_parse(&message, buffer.data, buffer.size), 0);
	ck_assert_int_eq(message_decode(message, message_root(message), &launch_request_type,
					UNKNOWN_KEYS_IGNORED, &request, &error),
			 -EBADMSG);
}
END_TEST

START_TEST(copies)
{
	char bytes[] = "\x82\xa7"
		       "command\x92\xa1"
		       "a\xa1"
		       "b\xa6prompt\xa2xy";
	struct launch_request request;

	ck_assert_int_eq(message_parse(&message, bytes, sizeof(bytes) - 1), 0);
	memset(bytes, 0, sizeof(bytes));
	ck_assert_int_eq(message_decode(message, message_root(message), &launch_request_type,
					UNKNOWN_KEYS_REFUSED, &request, &error),
			 0);
	ck_assert_uint_eq(request.command.count, 2);
	ck_assert_str_eq(request.command.items[0], "a");
	ck_assert_str_eq(request.command.items[1], "b");
	/* Ready for exec. */
	ck_assert_ptr_null(request.command.items[2]);
	ck_assert_uint_eq(request.prompt.size, 2);
	ck_assert_mem_eq(request.prompt.data, "xy", 2);
	ck_assert(!request.has.key);
	ck_assert_ptr_null(request.key);
}
END_TEST

static Suite *decode_suite(void)
{
	Suite *suite = suite_create("decode");
	TCase *test_case = tcase_create("every field");

	tcase_set_timeout(test_case, 120);
	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_loop_test(test_case, every_kind_of_value, 0, (int)sample_type_count);
	tcase_add_loop_test(test_case, every_limit, 0, (int)sample_type_count);
	tcase_add_loop_test(test_case, every_word, 0, (int)sample_type_count);
	tcase_add_loop_test(test_case, every_required_field, 0, (int)sample_type_count);
	suite_add_tcase(suite, test_case);

	test_case = tcase_create("launch");
	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_loop_test(test_case, launch, 0, COUNT(launches));
	tcase_add_test(test_case, unknown_keys_ignored);
	tcase_add_test(test_case, copies);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(decode_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
