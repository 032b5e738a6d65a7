/* SPDX-License-Identifier: MIT */
#include "keeper/verdict.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "plan/harness.h"
#include "plan/plan.h"

/* What a Grader says, as the keeper reads it. The streams are those of real Harnesses, cut. */

static const struct text_list command;
static struct grader_verdict verdict;

static void read_text(const struct text_list *rules, const char *text, size_t size, bool whole)
{
	/* Of just that size, for the sanitizers. */
	char *copy = malloc(size ? size : 1);

	ck_assert(copy);
	memcpy(copy, text, size);
	ck_assert_int_eq(verdict_read(rules, copy, size, whole, &verdict), 0);
	free(copy);
	ck_assert_msg(verdict.found == (verdict.why[0] == '\0'), "%s", text);
}

static void says(const char *text, enum vote vote)
{
	read_text(&command, text, strlen(text), true);
	ck_assert_msg(verdict.found && verdict.vote == vote, "%s: %s", text, verdict.why);
}

static void says_nothing(const char *text, const char *why)
{
	read_text(&command, text, strlen(text), true);
	ck_assert_msg(!verdict.found && strstr(verdict.why, why), "%s: %s", text, verdict.why);
}

START_TEST(last_line)
{
	says("{\"vote\":\"pass\"}", VOTE_pass);
	says("{\"vote\":\"fail\"}\n", VOTE_fail);
	says("\r\n {\"vote\":\"fail\"} \r\n\t\r\n", VOTE_fail);
	says("no JSON {\n{\"vote\":\"pass\"}\n{\"vote\":\"fail\"}\n\n", VOTE_fail);
	ck_assert(!verdict.has_score && !verdict.reason[0]);
	says("{\"vote\":\"pass\",\"score\":1,\"reason\":\"r\",\"else\":{\"vote\":\"fail\"}}",
	     VOTE_pass);
	ck_assert(verdict.has_score && verdict.score == 1);
	ck_assert_str_eq(verdict.reason, "r");
	says("{\"vote\":\"pass\",\"score\":0.0,\"reason\":\"\\u00e4\\n\"}", VOTE_pass);
	ck_assert(verdict.has_score && verdict.score == 0);
	ck_assert_str_eq(verdict.reason, "\xc3\xa4\n");
	says("{\"vote\":\"pass\",\"score\":null,\"reason\":null}", VOTE_pass);
	ck_assert(!verdict.has_score && !verdict.reason[0]);
}
END_TEST

START_TEST(no_verdict)
{
	static const char *const broken[] = {
		"pass",
		"\"pass\"",
		"[{\"vote\":\"pass\"}]",
		"{\"vote\":\"pass\"",
		"{\"vote\":\"pass\"}}",
		"{\"vote\":\"pass\"} {\"vote\":\"pass\"}",
		"{\"vote\":\"pass\"}\nbye",
		"{\"vote\":\"pass\",\"vote\":\"fail\"}",
		"{\"vote\":\"pa\\u0000ss\"}",
		"{\"vote\":\"pa\xffss\"}",
		"```\n{\"vote\":\"pass\"}\n```",
		"{\"vote\":\n\"pass\"}",
	};
	static const char *const votes[] = {
		"{\"vote\":\"Pass\"}", "{\"vote\":\"pass \"}", "{\"vote\":\"\"}",
		"{\"vote\":true}",     "{\"vote\":null}",      "{\"vote\":[\"pass\"]}",
	};
	static const char *const scores[] = {"2", "-0.5", "1.0001", "\"1\"", "true", "[1]"};
	char text[128];

	says_nothing("", "wrote nothing");
	says_nothing(" \n\t\r\n", "wrote nothing");
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		says_nothing(broken[i], "no JSON object");
	says_nothing("{}", "no vote");
	says_nothing("{\"Vote\":\"pass\"}", "no vote");
	for (size_t i = 0; i < ARRAY_SIZE(votes); i++)
		says_nothing(votes[i], "neither");
	for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
		snprintf(text, sizeof(text), "{\"vote\":\"pass\",\"score\":%s}", scores[i]);
		says_nothing(text, "score");
	}
	says_nothing("{\"vote\":\"pass\",\"reason\":1}", "reason");
	read_text(&command, "{\"vote\":\"pass\"}\0", 16, true);
	ck_assert(!verdict.found);
	read_text(&command, "{\"vote\":\"pass\"}\n\0\n", 18, true);
	ck_assert(!verdict.found);
}
END_TEST

START_TEST(bounds)
{
	char *text = malloc(VERDICT_TAIL_BYTES_MAX);
	size_t size;

	ck_assert(text);
	/* A line of just as much, and of one byte more. */
	for (size_t more = 0; more < 2; more++) {
		memset(text, ' ', VERDICT_LINE_BYTES_MAX + 1);
		memcpy(text, "{\"vote\":\"pass\"", 14);
		text[VERDICT_LINE_BYTES_MAX - 1 + more] = '}';
		read_text(&command, text, VERDICT_LINE_BYTES_MAX + more, true);
		ck_assert_msg(verdict.found == !more, "%s", verdict.why);
	}
	ck_assert(strstr(verdict.why, "longer"));
	/* Of a line whose beginning is not there it cannot be said what it is. */
	read_text(&command, "{\"vote\":\"pass\"}", 15, false);
	ck_assert(!verdict.found);
	read_text(&command, "x\n{\"vote\":\"pass\"}", 17, false);
	ck_assert(verdict.found);
	memset(text, '\n', VERDICT_TAIL_BYTES_MAX);
	read_text(&command, text, VERDICT_TAIL_BYTES_MAX, false);
	ck_assert(!verdict.found);
	memset(text, '[', VERDICT_LINE_BYTES_MAX);
	read_text(&command, text, VERDICT_LINE_BYTES_MAX, true);
	ck_assert(!verdict.found);
	/* A reason is cut at a character. */
	size = (size_t)sprintf(text, "{\"vote\":\"pass\",\"reason\":\"");
	for (size_t i = 0; i < VERDICT_REASON_BYTES_MAX; i += 3)
		size += (size_t)sprintf(text + size, "\xe2\x82\xac");
	size += (size_t)sprintf(text + size, "\"}");
	read_text(&command, text, size, true);
	ck_assert(verdict.found);
	ck_assert_uint_eq(strlen(verdict.reason), VERDICT_REASON_BYTES_MAX / 3 * 3);
	ck_assert(utf8_valid(verdict.reason, strlen(verdict.reason)));
	free(text);
}
END_TEST

/* --- Streams -------------------------------------------------------------------------------------- */

START_TEST(rules)
{
	static const char *const good[] = {"a", "a.b", "a=b c", "a.b=c d= e.f", "a==b c"};
	static const char *const bad[] = {"",	" a", "a ",   "a=b",	 "a b",	   "=b c",
					  ".a", "a.", "a..b", "a=b c=d", "a=b .c", "a=b c d"};
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(verdict_rule_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!verdict_rule_valid(bad[i]), "%s", bad[i]);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert(!verdict_rule_valid(text));
}
END_TEST

static void stream_says(const char *text, int vote)
{
	static const char *rule[] = {"type=say who.role=model who.text", "kind=answer text"};
	static const struct text_list two = {.items = rule, .count = 2};

	read_text(&two, text, strlen(text), true);
	ck_assert_msg(verdict.found == (vote >= 0) && (vote < 0 || (int)verdict.vote == vote),
		      "%s: %s", text, verdict.why);
}

#define PASS "{\\\"vote\\\":\\\"pass\\\"}"
#define FAIL "{\\\"vote\\\":\\\"fail\\\"}"
#define SAY(text) "{\"type\":\"say\",\"who\":{\"role\":\"model\",\"text\":\"" text "\"}}\n"
#define OTHER(text) "{\"type\":\"say\",\"who\":{\"role\":\"tool\",\"text\":\"" text "\"}}\n"

START_TEST(events)
{
	stream_says(SAY(FAIL), VOTE_fail);
	stream_says(SAY("so\\n" PASS "\\n\\n"), VOTE_pass);
	stream_says(SAY(PASS) SAY(FAIL) "{\"type\":\"end\"}\n", VOTE_fail);
	stream_says(SAY(PASS) OTHER(FAIL), VOTE_pass);
	stream_says("{\"kind\":\"answer\",\"text\":\"" PASS "\"}", VOTE_pass);
	/* Only what a rule names is what was answered. */
	stream_says(OTHER(PASS), -1);
	stream_says("{\"vote\":\"pass\"}\n", -1);
	stream_says("{\"type\":\"say\",\"text\":\"" PASS "\"}\n", -1);
	stream_says(
		"{\"type\":\"say\",\"who\":{\"role\":\"model\",\"text\":{\"vote\":\"pass\"}}}\n",
		-1);
	stream_says("{\"type\":\"say\",\"who\":[]}\n{\"type\":7}\nno JSON\n[]\n", -1);
	ck_assert(strstr(verdict.why, "no answer"));
	/* The last answer is the one, whatever it is. */
	stream_says(SAY(PASS) SAY("I am done."), -1);
	stream_says(SAY(PASS) SAY(" \\n"), -1);
	ck_assert(strstr(verdict.why, "empty"));
	stream_says("", -1);
	ck_assert(strstr(verdict.why, "wrote nothing"));
}
END_TEST

START_TEST(an_event_that_is_too_long_may_be_the_answer)
{
	size_t size = VERDICT_LINE_BYTES_MAX + sizeof(SAY(PASS)) + 2;
	char *text = malloc(size);

	ck_assert(text);
	memset(text, 'x', size);
	memcpy(text, SAY(PASS), strlen(SAY(PASS)));
	text[size - 1] = '\0';
	stream_says(text, -1);
	ck_assert(strstr(verdict.why, "longer"));
	free(text);
}
END_TEST

static char *replaced(char *text, const char *word, const char *with)
{
	char *at, *longer;

	while ((at = strstr(text, word))) {
		ck_assert(asprintf(&longer, "%.*s%s%s", (int)(at - text), text, with,
				   at + strlen(word)) >= 0);
		free(text);
		text = longer;
	}
	return text;
}

static char *stream_of(const char *name, const char *answer)
{
	const char *top = getenv("TOP");
	char path[4096], *text = NULL;
	FILE *file;
	size_t room = 0;

	snprintf(path, sizeof(path), "%s/tests/data/stream/%s.jsonl", top ? top : ".", name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s", path);
	ck_assert_int_gt(getdelim(&text, &room, '\0', file), 0);
	fclose(file);
	ck_assert(strstr(text, "@ANSWER@") && strstr(text, "@TOOL@"));
	/* A repository whose files say what is to be said. */
	text = replaced(text, "@TOOL@", PASS);
	return replaced(text, "@ANSWER@", answer);
}

static const char *const names[] = {"agy", "claude", "codex", "grok", "kimi", "muse", "opencode"};
static const char *const recorded[] = {"claude", "codex", "grok", "kimi", "opencode"};

static struct harness *shipped(const char *name)
{
	struct harness *harness = NULL;
	const char *top = getenv("TOP");
	struct fault fault = FAULT_INIT;
	char path[4096];

	snprintf(path, sizeof(path), "%s/daemon/harness.d/%s.harness", top ? top : ".", name);
	ck_assert_msg(harness_read(&harness, path, &fault) == 0, "%s", fault.message);
	return harness;
}

START_TEST(shipped_harnesses)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct harness *harness = shipped(names[i]);

		for (size_t k = 0; k < harness->session_count; k++)
			ck_assert_msg(harness->sessions[k].answers.count > 0, "%s", names[i]);
		harness_free(harness);
	}
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		struct harness *harness = shipped(recorded[i]);

		for (size_t k = 0; k < harness->session_count; k++) {
			const struct text_list *answers = &harness->sessions[k].answers;
			char *text = stream_of(recorded[i], "It is not good.\\n" FAIL);

			read_text(answers, text, strlen(text), true);
			ck_assert_msg(verdict.found && verdict.vote == VOTE_fail, "%s: %s",
				      recorded[i], verdict.why);
			free(text);
			text = stream_of(recorded[i], "I have no opinion.");
			read_text(answers, text, strlen(text), true);
			ck_assert_msg(!verdict.found, "%s", recorded[i]);
			free(text);
		}
		harness_free(harness);
	}
}
END_TEST

/* --- Files ---------------------------------------------------------------------------------------- */

static void put(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
}

START_TEST(files)
{
	char folder[] = "/tmp/test_verdict.XXXXXX", name[RECORD_NAME_BYTES];
	int fd;

	ck_assert(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(verdict_read_output(&command, fd, 0, &verdict), 0);
	ck_assert(!verdict.found && strstr(verdict.why, "wrote nothing"));
	/* Over the end of a file. */
	put(fd, "stdout", "head\n{\"vote\":");
	put(fd, record_segment_name(STREAM_stdout, 13, name), "\"pass\"}\n");
	ck_assert_int_eq(verdict_read_output(&command, fd, 21, &verdict), 0);
	ck_assert_msg(verdict.found, "%s", verdict.why);
	/* The end could not be stored. */
	ck_assert_int_eq(verdict_read_output(&command, fd, 22, &verdict), 0);
	ck_assert(!verdict.found && strstr(verdict.why, "stored"));
	/* Behind a gap, the line that it is in is none. */
	unlinkat(fd, name, 0);
	put(fd, record_segment_name(STREAM_stdout, 100, name), "{\"vote\":\"pass\"}\n");
	ck_assert_int_eq(verdict_read_output(&command, fd, 116, &verdict), 0);
	ck_assert(!verdict.found);
	put(fd, name, "x\n{\"vote\":\"pass\"}\n");
	ck_assert_int_eq(verdict_read_output(&command, fd, 118, &verdict), 0);
	ck_assert(verdict.found);
	unlinkat(fd, name, 0);
	unlinkat(fd, "stdout", 0);
	close(fd);
	rmdir(folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *test_case = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(test_case, last_line);
	tcase_add_test(test_case, no_verdict);
	tcase_add_test(test_case, bounds);
	tcase_add_test(test_case, rules);
	tcase_add_test(test_case, events);
	tcase_add_test(test_case, an_event_that_is_too_long_may_be_the_answer);
	tcase_add_test(test_case, shipped_harnesses);
	tcase_add_test(test_case, files);
	tcase_set_timeout(test_case, 60);
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
