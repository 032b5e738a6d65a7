/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "sample.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define BYTES(text) text, sizeof(text) - 1

static msgpack_sbuffer buffer;
static struct message *message;
static struct envelope envelope;
static struct decode_error error;

static void set_up(void)
{
	msgpack_sbuffer_init(&buffer);
	message = NULL;
	memset(&error, 0, sizeof(error));
}

static void tear_down(void)
{
	message = message_free(message);
	msgpack_sbuffer_destroy(&buffer);
}

/* Takes the frame that stands at `at` apart, as a peer would; gives where the next one starts. */
static size_t open_frame(size_t at)
{
	struct frame_reader reader;
	const uint8_t *body;
	size_t size;

	message = message_free(message);
	frame_reader_init(&reader);
	ck_assert_int_eq(frame_reader_feed(&reader, buffer.data + at, buffer.size - at), 0);
	ck_assert_int_eq(frame_reader_next(&reader, &body, &size), 1);
	ck_assert_int_eq(message_parse(&message, body, size), 0);
	frame_reader_done(&reader);
	ck_assert_msg(envelope_decode(message, &envelope, &error) == 0, "%s: %s", error.field,
		      error.reason);
	return at + FRAME_HEADER_BYTES + size;
}

START_TEST(request)
{
	struct show_request show = {.has.id = true, .id = 7}, back;

	ck_assert_int_eq(frame_write_request(&buffer, 3, VERB_show, &show_request_type, &show), 0);
	ck_assert_uint_eq(open_frame(0), buffer.size);
	ck_assert_int_eq(envelope.kind, ENVELOPE_REQUEST);
	ck_assert_uint_eq(envelope.number, 3);
	ck_assert_str_eq(envelope.name, "show");
	ck_assert_int_eq(message_decode(message, envelope.body, &show_request_type,
					UNKNOWN_KEYS_REFUSED, &back, &error),
			 0);
	ck_assert_uint_eq(back.id, 7);
}
END_TEST

START_TEST(raw_request)
{
	ck_assert_int_eq(frame_write_request_raw(&buffer, 3, "show", BYTES("\x81\xa2id\x07")), 0);
	open_frame(0);
	ck_assert_str_eq(envelope.name, "show");
	ck_assert_int_eq(envelope.body->type, MSGPACK_OBJECT_MAP);
	ck_assert_uint_eq(envelope.body->via.map.size, 1);

	msgpack_sbuffer_clear(&buffer);
	ck_assert_int_eq(frame_write_request_raw(&buffer, 3, "show", BYTES("\x81\xa2id")),
			 -EBADMSG);
	ck_assert_int_eq(frame_write_request_raw(&buffer, 3, "show", BYTES("\x90")), -EBADMSG);
	ck_assert_int_eq(frame_write_request_raw(&buffer, 3, "show", BYTES("")), -EBADMSG);
	ck_assert_uint_eq(buffer.size, 0);
}
END_TEST

START_TEST(reply_and_error)
{
	struct logs_reply logs = {.has.offset = true, .offset = 9};
	struct error_body body = {.code = "not_found", .message = "no Trial 7"};
	size_t at;

	/* Three frames in one buffer. */
	ck_assert_int_eq(frame_write_reply(&buffer, 3, &logs_reply_type, &logs), 0);
	ck_assert_int_eq(frame_write_reply(&buffer, 4, NULL, NULL), 0);
	ck_assert_int_eq(frame_write_error(&buffer, 0, &body), 0);

	at = open_frame(0);
	ck_assert_int_eq(envelope.kind, ENVELOPE_REPLY);
	ck_assert_uint_eq(envelope.number, 3);
	ck_assert(!envelope.failed);
	ck_assert_uint_eq(envelope.body->via.map.size, 1);

	at = open_frame(at);
	ck_assert_uint_eq(envelope.number, 4);
	ck_assert_uint_eq(envelope.body->via.map.size, 0);

	at = open_frame(at);
	ck_assert_uint_eq(at, buffer.size);
	ck_assert_uint_eq(envelope.number, 0);
	ck_assert(envelope.failed);
	ck_assert_ptr_null(envelope.body);
	ck_assert_str_eq(envelope.error.code, "not_found");
	ck_assert_str_eq(envelope.error.message, "no Trial 7");
	ck_assert_ptr_null(envelope.error.hint);
}
END_TEST

START_TEST(event)
{
	struct log_event log = {.has = {true, true},
				.offset = 5,
				.data = {(const uint8_t *)"x\n", 2}};
	struct log_event back;

	ck_assert_int_eq(frame_write_event(&buffer, EVENT_log, 3, &log_event_type, &log), 0);
	open_frame(0);
	ck_assert_int_eq(envelope.kind, ENVELOPE_EVENT);
	ck_assert_uint_eq(envelope.number, 3);
	ck_assert_str_eq(envelope.name, "log");
	ck_assert_int_eq(message_decode(message, envelope.body, &log_event_type,
					UNKNOWN_KEYS_REFUSED, &back, &error),
			 0);
	ck_assert_uint_eq(back.data.size, 2);
	ck_assert_mem_eq(back.data.data, "x\n", 2);
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	const char *field; /* of the error; NULL: none */
} envelopes[] = {
	{BYTES("\x82\xa7request\x01\xa4verb\xa4list"), NULL},
	{BYTES("\x83\xa7request\x01\xa4verb\xa4list\xa3new\xc0"), NULL},
	{BYTES("\x83\xa7request\x01\xa4verb\xa3wat\xa9"
	       "arguments\x80"),
	 NULL},
	{BYTES("\x80"), "frame"},
	{BYTES("\x81\xa7request\x01"), "frame"},
	{BYTES("\x83\xa7request\x01\xa4verb\xa4list\xa5reply\x01"), "frame"},
	{BYTES("\x83\xa7request\x01\xa4verb\xa4list\xa5"
	       "event\xa3log"),
	 "frame"},
	{BYTES("\x81\xa4verb\xa4list"), "request"},
	{BYTES("\x82\xa7request\x00\xa4verb\xa4list"), "request"},
	{BYTES("\x82\xa7request\xff\xa4verb\xa4list"), "request"},
	{BYTES("\x82\xa7request\xa1"
	       "1\xa4verb\xa4list"),
	 "request"},
	{BYTES("\x82\xa7request\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\xa4verb\xa4list"), NULL},
	{BYTES("\x82\xa7request\xcf\x80\x00\x00\x00\x00\x00\x00\x00\xa4verb\xa4list"), "request"},
	{BYTES("\x82\xa7request\x01\xa4verb\x01"), "verb"},
	{BYTES("\x82\xa7request\x01\xa4verb\xa0"), "verb"},
	{BYTES("\x82\xa7request\x01\xa4verb\xa4li\0t"), "verb"},
	{BYTES("\x82\xa7request\x01\xa4verb\xa1\xff"), "verb"},
	{BYTES("\x82\xa7request\x01\xa4verb\xd9\x41"
	       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	       "aaaaaaaaaaaaaaaaaaaaaaaaa"),
	 "verb"},
	{BYTES("\x83\xa7request\x01\xa4verb\xa4list\xa9"
	       "arguments\x90"),
	 "arguments"},
	{BYTES("\x83\xa7request\x01\xa4verb\xa4list\xa9"
	       "arguments\xc0"),
	 "arguments"},
	{BYTES("\x82\xa5reply\x01\xa2ok\x80"), NULL},
	{BYTES("\x82\xa5reply\x00\xa2ok\x80"), NULL},
	{BYTES("\x81\xa5reply\x01"), "reply"},
	{BYTES("\x82\xa5reply\xff\xa2ok\x80"), "reply"},
	{BYTES("\x83\xa5reply\x01\xa2ok\x80\xa5"
	       "error\x82\xa4"
	       "code\xa1x\xa7message\xa1y"),
	 "reply"},
	{BYTES("\x82\xa5reply\x01\xa2ok\x90"), "ok"},
	{BYTES("\x82\xa5reply\x01\xa5"
	       "error\x82\xa4"
	       "code\xa1x\xa7message\xa1y"),
	 NULL},
	{BYTES("\x82\xa5reply\x01\xa5"
	       "error\x81\xa4"
	       "code\xa1x"),
	 "message"},
	{BYTES("\x82\xa5reply\x01\xa5"
	       "error\x01"),
	 "error"},
	{BYTES("\x82\xa5"
	       "event\xa3log\xa7request\x01"),
	 NULL},
	{BYTES("\x83\xa5"
	       "event\xa3log\xa7request\x01\xa4"
	       "body\x80"),
	 NULL},
	{BYTES("\x81\xa5"
	       "event\xa3log"),
	 "request"},
	{BYTES("\x82\xa5"
	       "event\x01\xa7request\x01"),
	 "event"},
	{BYTES("\x83\xa5"
	       "event\xa3log\xa7request\x01\xa4"
	       "body\x01"),
	 "body"},
};

START_TEST(shapes)
{
	int r;

	ck_assert_int_eq(message_parse(&message, envelopes[_i].bytes, envelopes[_i].size), 0);
	r = envelope_decode(message, &envelope, &error);
	if (!envelopes[_i].field) {
		ck_assert_msg(r == 0, "%s: %s", error.field, error.reason);
		return;
	}
	ck_assert_int_eq(r, -EBADMSG);
	ck_assert_str_eq(error.field, envelopes[_i].field);
	ck_assert_str_ne(error.reason, "");
	ck_assert_int_eq(envelope_decode(message, &envelope, NULL), -EBADMSG);
}
END_TEST

/* The largest frame goes, one byte more does not, and leaves the buffer as it was. */
START_TEST(largest)
{
	uint8_t *data = calloc(1, FRAME_BYTES_MAX);
	struct log_event log = {.has = {true, true}, .data = {data, 70000}};
	size_t overhead, before;

	ck_assert_int_eq(frame_write_event(&buffer, EVENT_log, 1, &log_event_type, &log), 0);
	overhead = buffer.size - FRAME_HEADER_BYTES - 70000;
	msgpack_sbuffer_clear(&buffer);

	ck_assert_int_eq(frame_write_reply(&buffer, 4, NULL, NULL), 0);
	before = buffer.size;
	log.data.size = FRAME_BYTES_MAX - overhead + 1;
	ck_assert_int_eq(frame_write_event(&buffer, EVENT_log, 1, &log_event_type, &log),
			 -EMSGSIZE);
	ck_assert_uint_eq(buffer.size, before);
	log.data.size--;
	ck_assert_int_eq(frame_write_event(&buffer, EVENT_log, 1, &log_event_type, &log), 0);
	ck_assert_uint_eq(buffer.size, before + FRAME_HEADER_BYTES + FRAME_BYTES_MAX);
	open_frame(before);
	ck_assert_str_eq(envelope.name, "log");
	free(data);
}
END_TEST

START_TEST(mistakes_of_the_writer)
{
	struct show_request show = {0};
	struct log_state log = {.has = {true, true, true, false}, .stream = (enum stream)9};
	struct limit_state limit = {.has = {true, true, true, true}, .name = "x", .asked = NAN};
	struct limit_state nameless = {.has = {true, true, true, true}};
	const char *items[] = {"a", NULL};
	struct launch_request launch = {.command = {2, items}};

	/* Required and absent; no such word; not a number; a string that is not there. */
	ck_assert_int_eq(frame_write_request(&buffer, 1, VERB_show, &show_request_type, &show),
			 -EINVAL);
	ck_assert_int_eq(frame_write_reply(&buffer, 1, &log_state_type, &log), -EINVAL);
	ck_assert_int_eq(frame_write_reply(&buffer, 1, &limit_state_type, &limit), -EINVAL);
	ck_assert_int_eq(frame_write_reply(&buffer, 1, &limit_state_type, &nameless), -EINVAL);
	ck_assert_int_eq(frame_write_reply(&buffer, 1, &launch_request_type, &launch), -EINVAL);
	ck_assert_int_eq(frame_write_request(&buffer, 1, VERB_COUNT, NULL, NULL), -EINVAL);
	ck_assert_int_eq(frame_write_event(&buffer, EVENT_COUNT, 1, NULL, NULL), -EINVAL);
	ck_assert_int_eq(frame_write_request_raw(&buffer, 1, NULL, BYTES("\x80")), -EINVAL);
	ck_assert_uint_eq(buffer.size, 0);
}
END_TEST

/* What counts as there: the comment at the member types of message.h. */
START_TEST(presence)
{
	struct launch_request launch = {.repository = "/r", .prompt = {(const uint8_t *)"p", 1}};
	struct launch_request back;
	struct list_reply list = {0}, list_back;

	launch.has.key = true;		    /* no pointer: absent */
	launch.priority = 4;		    /* not has: absent */
	launch.has.command = true;	    /* an empty list that is there */
	launch.has.share_repository = true; /* false, and there */
	ck_assert_int_eq(
		frame_write_request(&buffer, 1, VERB_launch, &launch_request_type, &launch), 0);
	open_frame(0);
	ck_assert_int_eq(message_decode(message, envelope.body, &launch_request_type,
					UNKNOWN_KEYS_REFUSED, &back, &error),
			 0);
	ck_assert_uint_eq(envelope.body->via.map.size, 4);
	ck_assert(back.has.repository && back.has.prompt && back.has.command);
	ck_assert(back.has.share_repository && !back.share_repository);
	ck_assert(!back.has.key && !back.has.priority);

	msgpack_sbuffer_clear(&buffer);
	ck_assert_int_eq(frame_write_reply(&buffer, 1, &list_reply_type, &list), 0);
	open_frame(0);
	ck_assert_int_eq(message_decode(message, envelope.body, &list_reply_type,
					UNKNOWN_KEYS_REFUSED, &list_back, &error),
			 0);
	ck_assert(list_back.has.trials);
	ck_assert_uint_eq(list_back.trials.count, 0);
}
END_TEST

static const struct {
	const char *text;
	const char *expected;
} mended[] = {
	{"plain", "plain"},
	{"no file /a\xff/b", "no file /a\xef\xbf\xbd/b"},
	{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xc3\xa4\x80\xc3\xa4", "\xc3\xa4\xef\xbf\xbd\xc3\xa4"},
};

START_TEST(what_is_told_is_mended)
{
	struct error_body body = {.code = "invalid", .message = mended[_i].text};

	ck_assert_int_eq(frame_write_error(&buffer, 1, &body), 0);
	open_frame(0);
	ck_assert_str_eq(envelope.error.message, mended[_i].expected);
}
END_TEST

START_TEST(what_is_told_is_cut)
{
	struct error_body body = {.code = "invalid"};
	char text[4200];

	/* The limit, 4096, falls into the middle of a character. */
	text[0] = 'x';
	for (size_t i = 1; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 4);
	body.message = text;
	ck_assert_int_eq(frame_write_error(&buffer, 1, &body), 0);
	open_frame(0);
	ck_assert_uint_eq(strlen(envelope.error.message), 4096);
	/* And one byte earlier. */
	msgpack_sbuffer_clear(&buffer);
	body.message = text + 1;
	ck_assert_int_eq(frame_write_error(&buffer, 1, &body), 0);
	open_frame(0);
	ck_assert_uint_eq(strlen(envelope.error.message), 4095);
}
END_TEST

START_TEST(what_is_asked_is_not_mended)
{
	struct launch_request launch = {.key = "k\xff"}, back;

	ck_assert_int_eq(
		frame_write_request(&buffer, 1, VERB_launch, &launch_request_type, &launch), 0);
	open_frame(0);
	ck_assert_int_eq(message_decode(message, envelope.body, &launch_request_type,
					UNKNOWN_KEYS_REFUSED, &back, &error),
			 -EBADMSG);
	ck_assert_str_eq(error.field, "key");
}
END_TEST

static Suite *envelope_suite(void)
{
	Suite *suite = suite_create("envelope");
	TCase *test_case = tcase_create("envelope");

	tcase_add_checked_fixture(test_case, set_up, tear_down);
	tcase_add_test(test_case, request);
	tcase_add_test(test_case, raw_request);
	tcase_add_test(test_case, reply_and_error);
	tcase_add_test(test_case, event);
	tcase_add_loop_test(test_case, shapes, 0, COUNT(envelopes));
	tcase_add_test(test_case, largest);
	tcase_add_test(test_case, mistakes_of_the_writer);
	tcase_add_test(test_case, presence);
	tcase_add_loop_test(test_case, what_is_told_is_mended, 0, COUNT(mended));
	tcase_add_test(test_case, what_is_told_is_cut);
	tcase_add_test(test_case, what_is_asked_is_not_mended);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(envelope_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
