/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"
#include "sample.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define BYTES(text) text, sizeof(text) - 1

/* Structure: what message_check passes and what it refuses. */

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
	int expected;
} structures[] = {
	{"empty map", BYTES("\x80"), 0},
	{"empty map, 16 bit", BYTES("\xde\x00\x00"), 0},
	{"empty map, 32 bit", BYTES("\xdf\x00\x00\x00\x00"), 0},
	{"one entry", BYTES("\x81\xa1k\x01"), 0},
	{"8-bit key", BYTES("\x81\xd9\x01k\x01"), 0},
	{"16-bit key", BYTES("\x81\xda\x00\x01k\x01"), 0},
	{"32-bit key", BYTES("\x81\xdb\x00\x00\x00\x01k\x01"), 0},
	{"every scalar",
	 BYTES("\x81\xa1k\xdc\x00\x10\xc0\xc2\xc3\x7f\xe0\xcc\x01\xcd\x01\x02\xce\x01\x02"
	       "\x03\x04\xcf\x01\x02\x03\x04\x05\x06\x07\x08\xd0\x01\xd1\x01\x02"
	       "\xd2\x01\x02\x03\x04\xd3\x01\x02\x03\x04\x05\x06\x07\x08\xca\x00"
	       "\x00\x00\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xff"),
	 0},
	{"bins", BYTES("\x81\xa1k\x93\xc4\x01x\xc5\x00\x01x\xc6\x00\x00\x00\x01x"), 0},
	{"lists", BYTES("\x81\xa1k\x93\x90\xdc\x00\x00\xdd\x00\x00\x00\x00"), 0},
	{"nothing", BYTES(""), -EBADMSG},
	{"no map: nil", BYTES("\xc0"), -EBADMSG},
	{"no map: list", BYTES("\x90"), -EBADMSG},
	{"no map: text", BYTES("\xa1k"), -EBADMSG},
	{"two maps", BYTES("\x80\x80"), -EBADMSG},
	{"trailing byte", BYTES("\x81\xa1k\x01\x00"), -EBADMSG},
	{"entry missing", BYTES("\x81"), -EBADMSG},
	{"value missing", BYTES("\x81\xa1k"), -EBADMSG},
	{"key cut", BYTES("\x81\xa2k"), -EBADMSG},
	{"number cut", BYTES("\x81\xa1k\xcf\x00\x00\x00\x00\x00\x00\x00"), -EBADMSG},
	{"float cut", BYTES("\x81\xa1k\xca\x00\x00\x00"), -EBADMSG},
	{"text cut", BYTES("\x81\xa1k\xa3xx"), -EBADMSG},
	{"text's count cut", BYTES("\x81\xa1k\xdb\x00\x00\x00"), -EBADMSG},
	{"text claims 2^32-1", BYTES("\x81\xa1k\xdb\xff\xff\xff\xffxxxx"), -EBADMSG},
	{"bin claims 2^32-1", BYTES("\x81\xa1k\xc6\xff\xff\xff\xffxxxx"), -EBADMSG},
	{"list claims 2^32-1", BYTES("\x81\xa1k\xdd\xff\xff\xff\xff\x01\x01\x01"), -EBADMSG},
	{"list claims 2^31", BYTES("\x81\xa1k\xdd\x80\x00\x00\x00\x01\x01\x01"), -EBADMSG},
	{"list claims one more", BYTES("\x81\xa1k\x93\x01\x01"), -EBADMSG},
	{"map claims 2^32-1", BYTES("\xdf\xff\xff\xff\xff\xa1k\x01"), -EBADMSG},
	{"map claims 2^31", BYTES("\xdf\x80\x00\x00\x00\xa1k\x01"), -EBADMSG},
	{"map claims one more", BYTES("\x82\xa1k\x01"), -EBADMSG},
	{"key is a number", BYTES("\x81\x01\x01"), -EBADMSG},
	{"key is nil", BYTES("\x81\xc0\x01"), -EBADMSG},
	{"key is a bin", BYTES("\x81\xc4\x01k\x01"), -EBADMSG},
	{"key is a map", BYTES("\x81\x80\x01"), -EBADMSG},
	{"twice the same key", BYTES("\x82\xa1k\x01\xa1k\x02"), -EBADMSG},
	{"twice, written otherwise", BYTES("\x82\xa1k\x01\xd9\x01k\x02"), -EBADMSG},
	{"twice the empty key", BYTES("\x82\xa0\x01\xa0\x02"), -EBADMSG},
	{"twice, apart", BYTES("\x84\xa1k\x01\xa1m\x01\xa2kk\x01\xa1k\x02"), -EBADMSG},
	{"twice, inside", BYTES("\x81\xa1k\x91\x82\xa1k\x01\xa1k\x02"), -EBADMSG},
	{"same key at two levels", BYTES("\x81\xa1k\x81\xa1k\x01"), 0},
	{"keys of one length", BYTES("\x83\xa1k\x01\xa1l\x01\xa1m\x01"), 0},
	{"never used", BYTES("\x81\xa1k\xc1"), -EBADMSG},
	{"ext 8", BYTES("\x81\xa1k\xc7\x01\x05x"), -EBADMSG},
	{"ext 16", BYTES("\x81\xa1k\xc8\x00\x01\x05x"), -EBADMSG},
	{"ext 32", BYTES("\x81\xa1k\xc9\x00\x00\x00\x01\x05x"), -EBADMSG},
	{"fixext 1", BYTES("\x81\xa1k\xd4\x05x"), -EBADMSG},
	{"fixext 2", BYTES("\x81\xa1k\xd5\x05xx"), -EBADMSG},
	{"timestamp", BYTES("\x81\xa1k\xd6\xffxxxx"), -EBADMSG},
	{"fixext 8", BYTES("\x81\xa1k\xd7\x05xxxxxxxx"), -EBADMSG},
	{"fixext 16", BYTES("\x81\xa1k\xd8\x05xxxxxxxxxxxxxxxx"), -EBADMSG},
};

/* A copy of exactly that size, so that a sanitizer sees a read past its end. */
static int check_exact(const void *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct message *message = NULL;
	int r, checked;

	memcpy(copy, bytes, size);
	checked = message_check(copy, size);
	r = message_parse(&message, copy, size);
	ck_assert_int_eq(r, checked);
	message_free(message);
	free(copy);
	return r;
}

START_TEST(raw_structure)
{
	ck_assert_msg(check_exact(structures[_i].bytes, structures[_i].size) ==
			      structures[_i].expected,
		      "%s", structures[_i].what);
}
END_TEST

/* A map that holds a list that holds …: depth containers in all. */
static int check_depth(size_t depth, uint8_t opener)
{
	uint8_t bytes[4 * 100] = "\x81\xa1k";
	size_t at = 3;

	for (size_t i = 1; i < depth; i++) {
		bytes[at++] = opener;
		if (opener == 0x81) {
			bytes[at++] = 0xa1;
			bytes[at++] = 'k';
		}
	}
	bytes[at++] = 0x01;
	return check_exact(bytes, at);
}

START_TEST(depth)
{
	ck_assert_int_eq(check_depth(MESSAGE_DEPTH_MAX, 0x91), 0);
	ck_assert_int_eq(check_depth(MESSAGE_DEPTH_MAX + 1, 0x91), -EBADMSG);
	ck_assert_int_eq(check_depth(MESSAGE_DEPTH_MAX, 0x81), 0);
	ck_assert_int_eq(check_depth(MESSAGE_DEPTH_MAX + 1, 0x81), -EBADMSG);
	ck_assert_int_eq(check_depth(100, 0x81), -EBADMSG);
}
END_TEST

START_TEST(deep_nesting)
{
	uint8_t *bytes = malloc(FRAME_BYTES_MAX);

	memset(bytes, 0x91, FRAME_BYTES_MAX);
	memcpy(bytes, "\x81\xa1k", 3);
	ck_assert_int_eq(message_check(bytes, FRAME_BYTES_MAX), -EBADMSG);
	free(bytes);
}
END_TEST

static int check_list_of(uint32_t count)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 1);
	msgpack_pack_str(&packer, 1);
	msgpack_pack_str_body(&packer, "k", 1);
	msgpack_pack_array(&packer, count);
	for (uint32_t i = 0; i < count; i++)
		msgpack_pack_nil(&packer);
	r = check_exact(buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

START_TEST(list_of_many)
{
	ck_assert_int_eq(check_list_of(MESSAGE_ELEMENTS_MAX), 0);
	ck_assert_int_eq(check_list_of(MESSAGE_ELEMENTS_MAX + 1), -EBADMSG);
}
END_TEST

/* The keys 0, 1, …; the one at `again` is written a second time, at the end. */
static int check_map_of(uint32_t count, uint32_t again)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	char key[16];
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = i + 1 == count && again < count ? again : i;
		/* Not in order, and all of one length. */
		size_t size = (size_t)snprintf(key, sizeof(key), "%08x", number * 2654435761u);

		msgpack_pack_str(&packer, size);
		msgpack_pack_str_body(&packer, key, size);
		msgpack_pack_nil(&packer);
	}
	r = check_exact(buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

START_TEST(map_of_many)
{
	ck_assert_int_eq(check_map_of(MESSAGE_MAP_KEYS_MAX, UINT32_MAX), 0);
	ck_assert_int_eq(check_map_of(MESSAGE_MAP_KEYS_MAX + 1, UINT32_MAX), -EBADMSG);
	for (uint32_t count = 2; count < 40; count++) {
		ck_assert_int_eq(check_map_of(count, UINT32_MAX), 0);
		for (uint32_t again = 0; again + 1 < count; again++)
			ck_assert_int_eq(check_map_of(count, again), -EBADMSG);
	}
	ck_assert_int_eq(check_map_of(MESSAGE_MAP_KEYS_MAX, 1234), -EBADMSG);
}
END_TEST

START_TEST(long_key)
{
	uint8_t bytes[3 + MESSAGE_DATA_KEY_BYTES_MAX + 3] = "\x81\xda";
	size_t size = MESSAGE_DATA_KEY_BYTES_MAX;

	memset(bytes + 2, 'k', sizeof(bytes) - 2);
	bytes[2] = (uint8_t)(size >> 8);
	bytes[3] = (uint8_t)size;
	bytes[4 + size] = 0x01;
	ck_assert_int_eq(check_exact(bytes, 5 + size), 0);
	bytes[3]++;
	bytes[4 + size] = 'k';
	bytes[5 + size] = 0x01;
	ck_assert_int_eq(check_exact(bytes, 6 + size), -EBADMSG);
}
END_TEST

START_TEST(too_long)
{
	uint8_t *bytes = malloc(FRAME_BYTES_MAX + 1);

	for (size_t size = FRAME_BYTES_MAX; size <= FRAME_BYTES_MAX + 1; size++) {
		uint32_t body = (uint32_t)size - 8;

		memset(bytes, 'x', size);
		memcpy(bytes, "\x81\xa1k\xc6", 4);
		for (int i = 0; i < 4; i++)
			bytes[4 + i] = (uint8_t)(body >> (8 * (3 - i)));
		ck_assert_int_eq(message_check(bytes, size), size > FRAME_BYTES_MAX ? -EBADMSG : 0);
	}
	free(bytes);
}
END_TEST

/* Round trips. */

static void encode(msgpack_sbuffer *buffer, const struct message_type *type, const void *structure)
{
	msgpack_packer packer;

	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	ck_assert_msg(message_encode(&packer, type, structure) == 0, "%s", type->name);
}

static void round_trip(uint64_t seed, const struct message_type *type, bool all)
{
	struct sample *sample = sample_new(seed);
	void *structure = sample_allocate(sample, type->size);
	void *decoded = sample_allocate(sample, type->size);
	msgpack_sbuffer first, second;
	struct decode_error error = {0};
	struct message *message;

	msgpack_sbuffer_init(&first);
	msgpack_sbuffer_init(&second);
	sample_fill(sample, type, all, structure);
	encode(&first, type, structure);
	ck_assert_msg(message_parse(&message, first.data, first.size) == 0, "%s", type->name);
	memset(decoded, 0xa5, type->size);
	ck_assert_msg(message_decode(message, message_root(message), type, UNKNOWN_KEYS_REFUSED,
				     decoded, &error) == 0,
		      "%s: %s: %s", type->name, error.field, error.reason);
	encode(&second, type, decoded);
	ck_assert_uint_eq(first.size, second.size);
	ck_assert_mem_eq(first.data, second.data, first.size);
	for (size_t i = 0; i < type->count; i++) {
		size_t offset = type->fields[i].has_offset;

		ck_assert_msg(((const bool *)decoded)[offset] == ((const bool *)structure)[offset],
			      "%s.%s", type->name, type->fields[i].name);
	}
	message_free(message);
	msgpack_sbuffer_destroy(&first);
	msgpack_sbuffer_destroy(&second);
	sample_free(sample);
}

START_TEST(every_type_there_and_back)
{
	round_trip(0, sample_types[_i], true);
	for (uint64_t seed = 1; seed < 60; seed++)
		round_trip(seed, sample_types[_i], seed % 4 == 0);
}
END_TEST

/*
 * Mutations of valid messages: whatever they are now, nothing may break, and what still decodes
 * can be encoded and decoded again.
 */
static void decode_mutant(const uint8_t *bytes, size_t size, const struct message_type *type,
			  void *structure)
{
	struct decode_error error;
	struct message *message;
	msgpack_sbuffer buffer;

	if (message_parse(&message, bytes, size) < 0)
		return;
	if (message_decode(message, message_root(message), type, UNKNOWN_KEYS_IGNORED, structure,
			   &error) < 0) {
		ck_assert_msg(error.reason[0] != '\0', "%s", type->name);
		message_free(message);
		return;
	}
	msgpack_sbuffer_init(&buffer);
	encode(&buffer, type, structure);
	message_free(message);
	ck_assert_int_eq(message_parse(&message, buffer.data, buffer.size), 0);
	ck_assert_int_eq(message_decode(message, message_root(message), type, UNKNOWN_KEYS_REFUSED,
					structure, &error),
			 0);
	message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}

static void mutate(struct sample *sample, uint8_t *bytes, size_t *size)
{
	for (uint64_t changes = 1 + sample_number(sample, 3); changes > 0 && *size; changes--) {
		size_t at = sample_number(sample, *size);
		size_t length = 1 + sample_number(sample, *size - at);

		switch (sample_number(sample, 5)) {
		case 0:
			bytes[at] = (uint8_t)sample_number(sample, 256);
			break;
		case 1:
			bytes[at] ^= (uint8_t)(1u << sample_number(sample, 8));
			break;
		case 2:
			*size = at;
			break;
		case 3:
			memmove(bytes + at, bytes + at + length, *size - at - length);
			*size -= length;
			break;
		default:
			/* Repeats a piece: duplicate keys, surplus elements. */
			memmove(bytes + at + length, bytes + at, *size - at);
			*size += length;
		}
	}
}

START_TEST(mutations)
{
	const struct message_type *type = sample_types[_i];
	struct sample *sample = sample_new((uint64_t)_i);
	void *structure = sample_allocate(sample, type->size);

	for (int round = 0; round < 400; round++) {
		msgpack_sbuffer buffer;
		uint8_t *bytes;
		size_t size;

		msgpack_sbuffer_init(&buffer);
		sample_fill(sample, type, round % 2, structure);
		encode(&buffer, type, structure);
		size = buffer.size;
		/* Each of up to three changes at most doubles it. */
		bytes = malloc(size * 8);
		memcpy(bytes, buffer.data, size);
		mutate(sample, bytes, &size);
		decode_mutant(bytes, size, type, structure);
		free(bytes);
		msgpack_sbuffer_destroy(&buffer);
		if (round % 50 == 49) {
			sample_free(sample);
			sample = sample_new((uint64_t)round * 1000 + (uint64_t)_i);
			structure = sample_allocate(sample, type->size);
		}
	}
	sample_free(sample);
}
END_TEST

/* Words. */

START_TEST(words)
{
	char longer[64];

#define CHECK_WORDS_(set, SET)                                                                     \
	for (int i = 0; i < SET##_COUNT; i++) {                                                    \
		ck_assert_ptr_nonnull(set##_name(i));                                              \
		ck_assert_int_eq(set##_from_name(set##_name(i)), i);                               \
	}                                                                                          \
	ck_assert_ptr_null(set##_name(-1));                                                        \
	ck_assert_ptr_null(set##_name(SET##_COUNT));                                               \
	ck_assert_int_eq(set##_from_name("nonsense"), -EINVAL);                                    \
	ck_assert_int_eq(set##_from_name(""), -EINVAL);                                            \
	ck_assert_int_eq(set##_from_name(NULL), -EINVAL);                                          \
	snprintf(longer, sizeof(longer), "%sx", set##_name(0));                                    \
	ck_assert_int_eq(set##_from_name(longer), -EINVAL);
	CHECK_WORDS_(verb, VERB)
	CHECK_WORDS_(event, EVENT)
	CHECK_WORDS_(error, ERROR)
	CHECK_WORDS_(state, STATE)
	CHECK_WORDS_(outcome, OUTCOME)
	CHECK_WORDS_(cause, CAUSE)
	CHECK_WORDS_(ender, ENDER)
	CHECK_WORDS_(hold, HOLD)
	CHECK_WORDS_(role, ROLE)
	CHECK_WORDS_(mode, MODE)
	CHECK_WORDS_(network, NETWORK)
	CHECK_WORDS_(verdict, VERDICT)
	CHECK_WORDS_(backend, BACKEND)
	CHECK_WORDS_(stream, STREAM)
	CHECK_WORDS_(check_state, CHECK)
	CHECK_WORDS_(mount_kind, MOUNT_KIND)

	ck_assert_str_eq(outcome_name(OUTCOME_void), "void");
	ck_assert_str_eq(backend_name(BACKEND_auto), "auto");
	ck_assert_str_eq(stream_name(STREAM_stderr), "stderr");
	ck_assert(outcome_counts(OUTCOME_delivered));
	ck_assert(outcome_counts(OUTCOME_out_of_memory));
	ck_assert(!outcome_counts(OUTCOME_void));
	ck_assert(!outcome_counts(OUTCOME_lost));
	ck_assert_ptr_eq(verb_arguments_type(VERB_launch), &launch_request_type);
	ck_assert_ptr_eq(verb_arguments_type(VERB_shutdown), &shutdown_request_type);
	ck_assert_ptr_null(verb_arguments_type(VERB_COUNT));
}
END_TEST

static const struct {
	const char *text;
	size_t size;
	bool valid;
} texts[] = {
	{BYTES(""), true},
	{BYTES("plain"), true},
	{BYTES("a\0b"), true},
	{BYTES("\xc2\x80 \xdf\xbf"), true},
	{BYTES("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf"), true},
	{BYTES("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"), true},
	{BYTES("\x80"), false},
	{BYTES("\xff"), false},
	{BYTES("\xc0\x80"), false},
	{BYTES("\xc1\xbf"), false},
	{BYTES("\xe0\x9f\xbf"), false},
	{BYTES("\xed\xa0\x80"), false},
	{BYTES("\xf0\x8f\xbf\xbf"), false},
	{BYTES("\xf4\x90\x80\x80"), false},
	{BYTES("\xf5\x80\x80\x80"), false},
	{BYTES("\xc2"), false},
	{BYTES("\xc2x"), false},
	{BYTES("\xe2\x82"), false},
	{BYTES("\xe2\x82x"), false},
	{BYTES("\xf0\x9f\x99"), false},
	{BYTES("\xf0\x9f\x99x"), false},
};

START_TEST(utf8)
{
	char *copy = malloc(texts[_i].size + 1);
	char *exact = copy + 1;

	/* Up to the end of the allocation, so that a sanitizer sees a read past it. */
	memcpy(exact, texts[_i].text, texts[_i].size);
	ck_assert_int_eq(utf8_valid(exact, texts[_i].size), texts[_i].valid);
	free(copy);
}
END_TEST

static Suite *message_suite(void)
{
	Suite *suite = suite_create("message");
	TCase *test_case = tcase_create("structure");

	tcase_add_loop_test(test_case, raw_structure, 0, COUNT(structures));
	tcase_add_test(test_case, depth);
	tcase_add_test(test_case, deep_nesting);
	tcase_add_test(test_case, list_of_many);
	tcase_add_test(test_case, map_of_many);
	tcase_add_test(test_case, long_key);
	tcase_add_test(test_case, too_long);
	suite_add_tcase(suite, test_case);

	test_case = tcase_create("round trip");
	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, every_type_there_and_back, 0, (int)sample_type_count);
	tcase_add_loop_test(test_case, mutations, 0, (int)sample_type_count);
	suite_add_tcase(suite, test_case);

	test_case = tcase_create("words");
	tcase_add_test(test_case, words);
	tcase_add_loop_test(test_case, utf8, 0, COUNT(texts));
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(message_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
