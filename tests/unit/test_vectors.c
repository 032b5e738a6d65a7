/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "proto/codec.h"
#include "proto/frame.h"
#include "sample.h"

/*
 * proto/vectors/ is what tests/unit/make_vectors writes, each of its frames is what the decoder
 * takes, and together they hold every key there is. Run from the source's root, or with
 * TOP naming it.
 */

static char folder[4096];

static void name_file(char *path, size_t size, const char *name, const char *suffix)
{
	snprintf(path, size, "%s/%s.%s", folder, name, suffix);
}

/* The caller frees *ret_bytes. */
static void read_file(const char *name, const char *suffix, char **ret_bytes, size_t *ret_size)
{
	char path[4200];
	FILE *file;

	name_file(path, sizeof(path), name, suffix);
	file = fopen(path, "rbe");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	*ret_bytes = malloc(FRAME_BYTES_MAX);
	*ret_size = fread(*ret_bytes, 1, FRAME_BYTES_MAX, file);
	fclose(file);
}

/* The body of the one frame that the file is. */
static struct message *read_frame(const char *name, char **ret_bytes, size_t *ret_size)
{
	struct frame_reader reader;
	struct message *message;
	const uint8_t *body;
	size_t size;

	read_file(name, "frame", ret_bytes, ret_size);
	frame_reader_init(&reader);
	ck_assert_int_eq(frame_reader_feed(&reader, *ret_bytes, *ret_size), 0);
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 1);
	ck_assert_int_eq(message_parse(&message, body, size), 0);
	ck_assert(!frame_reader_partial(&reader));
	frame_reader_done(&reader);
	return message;
}

START_TEST(as_generated)
{
	const struct golden *golden = &goldens[_i];
	char *frame, *json, *printed = NULL;
	size_t frame_size, json_size, printed_size = 0;
	struct message *message;
	msgpack_sbuffer buffer;
	FILE *file;

	msgpack_sbuffer_init(&buffer);
	ck_assert_int_eq(golden->write(&buffer), 0);
	message = read_frame(golden->name, &frame, &frame_size);
	ck_assert_uint_eq(frame_size, buffer.size);
	ck_assert_mem_eq(frame, buffer.data, buffer.size);

	file = open_memstream(&printed, &printed_size);
	golden_print_json(file, message_root(message));
	fclose(file);
	read_file(golden->name, "json", &json, &json_size);
	ck_assert_uint_eq(json_size, printed_size);
	ck_assert_mem_eq(json, printed, printed_size);

	message_free(message);
	msgpack_sbuffer_destroy(&buffer);
	free(printed);
	free(frame);
	free(json);
}
END_TEST

/* Decoded, strictly, and written again: the same bytes. */
START_TEST(decoded)
{
	const struct golden *golden = &goldens[_i];
	struct sample *sample = sample_new(0);
	struct decode_error error;
	struct envelope envelope;
	struct message *message;
	msgpack_sbuffer buffer;
	void *structure;
	char *frame;
	size_t size;
	int r;

	message = read_frame(golden->name, &frame, &size);
	ck_assert_int_eq(envelope_decode(message, &envelope, &error), 0);
	ck_assert_int_eq(envelope.failed, golden->type == NULL);
	msgpack_sbuffer_init(&buffer);
	if (envelope.failed) {
		ck_assert_int_ge(error_from_name(envelope.error.code), 0);
		r = frame_write_error(&buffer, envelope.number, &envelope.error);
	} else {
		structure = sample_allocate(sample, golden->type->size);
		r = message_decode(message, envelope.body, golden->type, UNKNOWN_KEYS_REFUSED,
				   structure, &error);
		ck_assert_msg(r == 0, "%s: %s: %s", golden->name, error.field, error.reason);
		if (envelope.kind == ENVELOPE_REPLY)
			r = frame_write_reply(&buffer, envelope.number, golden->type, structure);
		else if (envelope.kind == ENVELOPE_EVENT)
			r = frame_write_event(&buffer, (enum event)event_from_name(envelope.name),
					      envelope.number, golden->type, structure);
		else
			r = frame_write_request(&buffer, envelope.number,
						(enum verb)verb_from_name(envelope.name),
						golden->type, structure);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(buffer.size, size);
	ck_assert_mem_eq(buffer.data, frame, size);
	message_free(message);
	msgpack_sbuffer_destroy(&buffer);
	sample_free(sample);
	free(frame);
}
END_TEST

static const struct golden *find_golden(const char *prefix, const char *name)
{
	char wanted[100];

	snprintf(wanted, sizeof(wanted), "%s%s", prefix, name);
	for (size_t i = 0; i < golden_count; i++)
		if (strcmp(goldens[i].name, wanted) == 0)
			return &goldens[i];
	return NULL;
}

START_TEST(every_message)
{
	for (int verb = 0; verb < VERB_COUNT; verb++) {
		const struct golden *request = find_golden("request-", verb_name(verb));

		ck_assert_msg(request != NULL, "%s", verb_name(verb));
		ck_assert_ptr_eq(request->type, verb_arguments_type((enum verb)verb));
		ck_assert_msg(find_golden("reply-", verb_name(verb)) != NULL, "%s",
			      verb_name(verb));
	}
	for (int event = 0; event < EVENT_COUNT; event++)
		ck_assert_msg(find_golden("event-", event_name(event)) != NULL, "%s",
			      event_name(event));
}
END_TEST

/* Which keys were seen: has[type][field]. */
#define TYPES_MAX 128
#define KEYS_MAX 256
static bool seen[TYPES_MAX][KEYS_MAX];

static void mark(const msgpack_object *object, const struct message_type *type)
{
	size_t number = 0;

	if (object->type == MSGPACK_OBJECT_ARRAY) {
		for (uint32_t i = 0; i < object->via.array.size; i++)
			mark(&object->via.array.ptr[i], type);
		return;
	}
	while (sample_types[number] != type)
		number++;
	for (uint32_t i = 0; i < object->via.map.size; i++) {
		const msgpack_object_kv *entry = &object->via.map.ptr[i];

		for (size_t j = 0; j < type->count; j++) {
			const struct field *field = &type->fields[j];

			if (strlen(field->name) != entry->key.via.str.size ||
			    memcmp(field->name, entry->key.via.str.ptr, strlen(field->name)) != 0)
				continue;
			seen[number][j] = true;
			if (field_inner_type(field->type))
				mark(&entry->val, field_inner_type(field->type));
		}
	}
}

/* One message under several names, none of which has all of its keys. */
static bool tells_arm(const struct message_type *type)
{
	return type == &arm_view_type || type == &arm_prepare_reply_type ||
	       type == &arm_show_reply_type || type == &arm_verify_reply_type;
}

static void check_arm_views(void)
{
	for (size_t j = 0; j < arm_view_type.count; j++) {
		bool found = false;

		for (size_t i = 0; i < sample_type_count; i++)
			found |= tells_arm(sample_types[i]) && seen[i][j];
		ck_assert_msg(found, "arm_view.%s is in no vector", arm_view_type.fields[j].name);
	}
}

START_TEST(every_key)
{
	ck_assert_uint_le(sample_type_count, TYPES_MAX);
	for (size_t i = 0; i < sample_type_count; i++)
		ck_assert_uint_le(sample_types[i]->count, KEYS_MAX);
	for (size_t i = 0; i < golden_count; i++) {
		struct envelope envelope;
		struct message *message;
		char *frame;
		size_t size;

		message = read_frame(goldens[i].name, &frame, &size);
		ck_assert_int_eq(envelope_decode(message, &envelope, NULL), 0);
		if (envelope.body)
			mark(envelope.body, goldens[i].type);
		message_free(message);
		free(frame);
	}
	check_arm_views();
	for (size_t i = 0; i < sample_type_count; i++) {
		const struct message_type *type = sample_types[i];

		/* The record's keys stand in a Trial; an error has no body here. */
		if (type == &outcome_record_type || type == &error_body_type || tells_arm(type))
			continue;
		for (size_t j = 0; j < type->count; j++)
			ck_assert_msg(seen[i][j], "%s.%s is in no vector", type->name,
				      type->fields[j].name);
	}
}
END_TEST

START_TEST(no_file_besides)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		char name[256];
		char *dot;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s", entry->d_name);
		dot = strrchr(name, '.');
		ck_assert_ptr_nonnull(dot);
		ck_assert_msg(!strcmp(dot, ".frame") || !strcmp(dot, ".json"), "%s", entry->d_name);
		*dot = '\0';
		ck_assert_msg(find_golden("", name) != NULL, "%s", entry->d_name);
	}
	closedir(dir);
}
END_TEST

static Suite *vectors_suite(void)
{
	Suite *suite = suite_create("vectors");
	TCase *test_case = tcase_create("vectors");

	tcase_add_loop_test(test_case, as_generated, 0, (int)golden_count);
	tcase_add_loop_test(test_case, decoded, 0, (int)golden_count);
	tcase_add_test(test_case, every_message);
	tcase_add_test(test_case, every_key);
	tcase_add_test(test_case, no_file_besides);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	const char *source = getenv("TOP");
	SRunner *runner = srunner_create(vectors_suite());
	int failed;

	snprintf(folder, sizeof(folder), "%s/proto/vectors", source ? source : ".");
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
