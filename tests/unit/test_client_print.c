/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/json.h"
#include "client/neutralise.h"
#include "client/print.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	const char *bytes;
	const char *stream;
	const char *line; /* NULL: the same */
} texts[] = {
	{"plain text", "plain text", NULL},
	{"\xc3\xa9 \xe5\xbe\x85 \xf0\x9f\x98\x80", "\xc3\xa9 \xe5\xbe\x85 \xf0\x9f\x98\x80", NULL},
	{"a\n\tb", "a\n\tb", "a\\n\\tb"},
	{"a\rb", "a\\rb", NULL},
	{"\x1b[2J", "\\x1b[2J", NULL},
	{"\x1b]52;c;Zm9v\x07", "\\x1b]52;c;Zm9v\\x07", NULL},
	{"\x1b]0;t\x1b\\", "\\x1b]0;t\\x1b\\", NULL},
	{"\b\v\f\x7f", "\\x08\\x0b\\x0c\\x7f", NULL},
	{"\xc2\x9b"
	 "31m",
	 "\\u009b31m", NULL},
	{"\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0", NULL},
	{"\x9b"
	 "31m",
	 "\\x9b31m", NULL},
	{"\xe2\x80\xae\xe2\x80\xaa\xe2\x80\x8f\xe2\x80\x8e", "\\u202e\\u202a\\u200f\\u200e", NULL},
	{"\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c", "\\u2066\\u2069\\u061c", NULL},
	{"\xe2\x80\x8b\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
	 "\xe2\x80\x8b\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", NULL},
	{"\xff\xfe", "\\xff\\xfe", NULL},
	{"\xc0\x9b", "\\xc0\\x9b", NULL}, /* overlong */
	{"\xe0\x82\x9b", "\\xe0\\x82\\x9b", NULL},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", NULL},	    /* a surrogate */
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", NULL}, /* beyond the last */
	{"\xe2\x80", "\\xe2\\x80", NULL},		    /* cut off */
	{"\xe2\x80\x1b[m", "\\xe2\\x80\\x1b[m", NULL},
	{"\xc3\xc3\xa9", "\\xc3\xc3\xa9", NULL},
	{"\xf0\x9f\xe2\x80\xae", "\\xf0\\x9f\\u202e", NULL},
};

/* However the stream is cut, what comes out is the same. */
START_TEST(stream)
{
	size_t size = strlen(texts[_i].bytes);

	for (size_t step = 1; step <= size; step++) {
		struct neutraliser neutraliser = {0};
		char *text = NULL;
		size_t text_size = 0;
		FILE *file = open_memstream(&text, &text_size);

		for (size_t at = 0; at < size; at += step) {
			size_t piece = size - at < step ? size - at : step;

			ck_assert_int_eq(neutralise_stream(&neutraliser, texts[_i].bytes + at,
							   piece, file),
					 0);
		}
		ck_assert_int_eq(neutralise_end(&neutraliser, file), 0);
		fclose(file);
		ck_assert_str_eq(text, texts[_i].stream);
		free(text);
	}
}
END_TEST

START_TEST(line)
{
	char *text = neutralise_line(texts[_i].bytes, strlen(texts[_i].bytes));

	ck_assert_str_eq(text, texts[_i].line ? texts[_i].line : texts[_i].stream);
	free(text);
}
END_TEST

START_TEST(line_with_nul)
{
	char *text = neutralise_line("a\0b", 3);

	ck_assert_str_eq(text, "a\\x00b");
	free(text);
}
END_TEST

/* No byte and no pair of bytes gets through as a control character. */
START_TEST(every_pair)
{
	for (unsigned int pair = 0; pair < 65536; pair++) {
		uint8_t bytes[] = {(uint8_t)(pair >> 8), (uint8_t)pair};
		char *text = neutralise_line(bytes, sizeof(bytes));

		for (const char *at = text; *at; at++) {
			ck_assert((unsigned char)*at >= 0x20 && *at != 0x7f);
			ck_assert(!((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0));
		}
		free(text);
	}
}
END_TEST

static const struct {
	const char *text;
	size_t width;
	size_t fits_in_3; /* bytes */
} widths[] = {
	{"", 0, 0},
	{"abcd", 4, 3},
	{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4, 6},
	{"\xe5\xbe\x85\xe6\xa9\x9f", 4, 3}, /* two columns each */
	{"e\xcc\x81"
	 "abc",
	 4, 5}, /* a combining accent takes none */
	{"\xf0\x9f\x98\x80x", 3, 5},
};

START_TEST(width)
{
	ck_assert_uint_eq(display_width(widths[_i].text), widths[_i].width);
	ck_assert_uint_eq(display_fit(widths[_i].text, 3), widths[_i].fits_in_3);
}
END_TEST

static char *print_table(const struct table *table, bool colours, size_t columns)
{
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	table_print(table, file, colours, columns);
	fclose(file);
	return text;
}

START_TEST(table_alignment)
{
	static const char *const titles[] = {"A", "B", "C"};
	static const enum tone tones[] = {TONE_GOOD, TONE_PLAIN, TONE_PLAIN};
	struct table *table = table_new(titles, 3);
	char *text;

	table_add(table, (const char *const[]){"\xe5\xbe\x85", "1", "last one"}, tones);
	table_add(table, (const char *const[]){"x", NULL, "z"}, NULL);
	text = print_table(table, false, 0);
	ck_assert_str_eq(text, "A   B  C\n\xe5\xbe\x85  1  last one\nx      z\n");
	free(text);
	text = print_table(table, true, 0);
	ck_assert_str_eq(text, "A   B  C\n\033[32m\xe5\xbe\x85\033[0m  1  last one\nx      z\n");
	free(text);
	text = print_table(table, false, 12);
	ck_assert_str_eq(text, "A   B  C\n\xe5\xbe\x85  1  last\xe2\x80\xa6\nx      z\n");
	free(text);
	table_free(table);
}
END_TEST

START_TEST(time_has_its_offset)
{
	char buffer[64];

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	ck_assert_str_eq(format_time(1740823200000000, buffer, sizeof(buffer)),
			 "2025-03-01 11:00:00 +0100");
	ck_assert_str_eq(format_time(1751364000000000, buffer, sizeof(buffer)),
			 "2025-07-01 12:00:00 +0200");
}
END_TEST

static const struct {
	const char *json;
	const char *expected;
} shown_commands[] = {
	{"[]", ""},
	{"[\"ls\", \"-l\"]", "ls -l"},
	{"[\"sh\", \"-c\", \"echo hi\"]", "sh -c 'echo hi'"},
	{"[\"it's\", \"\"]", "'it'\\''s' ''"},
	{"[\"\\u001b[2J\"]", "'\\x1b[2J'"},
	{"[{\"base64\": \"YWL/\"}]", "'ab\\xff'"},
	{"[7]", "7"},
	{"[null]", "''"},
};

START_TEST(shown_command)
{
	json_t *list = json_loads(shown_commands[_i].json, 0, NULL);
	char *text;

	ck_assert_ptr_nonnull(list);
	text = json_display_command(list);
	ck_assert_str_eq(text, shown_commands[_i].expected);
	free(text);
	json_decref(list);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client print");
	TCase *test_case = tcase_create("print");
	SRunner *runner;
	int failed;

	setlocale(LC_CTYPE, "C.UTF-8");
	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, stream, 0, COUNT(texts));
	tcase_add_loop_test(test_case, line, 0, COUNT(texts));
	tcase_add_test(test_case, line_with_nul);
	tcase_add_test(test_case, every_pair);
	tcase_add_loop_test(test_case, width, 0, COUNT(widths));
	tcase_add_test(test_case, table_alignment);
	tcase_add_test(test_case, time_has_its_offset);
	tcase_add_loop_test(test_case, shown_command, 0, COUNT(shown_commands));
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
