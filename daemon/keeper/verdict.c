/* SPDX-License-Identifier: MIT */

/*
 * The lines are looked at from the last one on, and each is held against the bound before anything
 * is parsed: a Grader, or what led it astray, may write as much as it likes. What is said of a line
 * that is no verdict never quotes it.
 */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gate_json.h"

#define RULE_BYTES_MAX 512
#define BLANKS " \t\r"

struct line {
	const char *bytes;
	size_t size;
};

static int none(struct grader_verdict *verdict, const char *format, ...) _printf_(2, 3);

static int none(struct grader_verdict *verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, arguments);
	va_end(arguments);
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Takes the last line that is not blank, without its blanks; false: there is none. */
static bool take_last_line(struct line *text, struct line *ret_line)
{
	const char *start;

	while (text->size > 0 && is_blank(text->bytes[text->size - 1]))
		text->size--;
	if (text->size == 0)
		return false;
	start = memrchr(text->bytes, '\n', text->size);
	start = start ? start + 1 : text->bytes;
	ret_line->size = (size_t)(text->bytes + text->size - start);
	text->size -= ret_line->size;
	while (is_blank(*start)) {
		start++;
		ret_line->size--;
	}
	ret_line->bytes = start;
	return true;
}

/* --- The verdict ---------------------------------------------------------------------------------- */

/* At most so many bytes, whole characters. */
static void copy_reason(char reason[VERDICT_REASON_BYTES_MAX + 1], const char *text)
{
	size_t size = strnlen(text, VERDICT_REASON_BYTES_MAX + 1);

	if (size > VERDICT_REASON_BYTES_MAX) {
		size = VERDICT_REASON_BYTES_MAX;
		while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
			size--;
	}
	memcpy(reason, text, size);
	reason[size] = '\0';
}

static int read_object(const json_t *object, struct grader_verdict *verdict)
{
	const json_t *vote = json_object_get(object, "vote");
	const json_t *score = json_object_get(object, "score");
	const json_t *reason = json_object_get(object, "reason");
	int word = json_is_string(vote) ? vote_from_name(json_string_value(vote)) : -EINVAL;
	double number = json_number_value(score);

	if (!vote)
		return none(verdict, "the last line of its answer has no vote");
	if (word < 0)
		return none(verdict, "its vote is neither \"pass\" nor \"fail\"");
	if (score && !json_is_null(score) &&
	    (!json_is_number(score) || !(number >= 0 && number <= 1)))
		return none(verdict, "its score is no number from 0 to 1");
	if (reason && !json_is_null(reason) && !json_is_string(reason))
		return none(verdict, "its reason is no text");
	verdict->vote = (enum vote)word;
	verdict->has_score = json_is_number(score);
	verdict->score = verdict->has_score ? number : 0;
	if (json_is_string(reason))
		copy_reason(verdict->reason, json_string_value(reason));
	verdict->found = true;
	return 0;
}

static int read_line(const struct line *line, struct grader_verdict *verdict)
{
	json_t *object = NULL;
	int r;

	if (line->size > VERDICT_LINE_BYTES_MAX)
		return none(verdict, "the last line of its answer is longer than %u bytes",
			    VERDICT_LINE_BYTES_MAX);
	r = gate_json_parse(&object, line->bytes, line->size);
	if (r == -EBADMSG)
		return none(verdict, "the last line of its answer is no JSON object");
	if (r < 0)
		return r;
	r = read_object(object, verdict);
	json_decref(object);
	return r;
}

/* --- A stream of events --------------------------------------------------------------------------- */

static const json_t *at_path(const json_t *value, const char *path, size_t length)
{
	char key[RULE_BYTES_MAX];

	while (value && length > 0) {
		const char *dot = memchr(path, '.', length);
		size_t part = dot ? (size_t)(dot - path) : length;

		if (part >= sizeof(key))
			return NULL;
		memcpy(key, path, part);
		key[part] = '\0';
		value = json_object_get(value, key);
		path += part + (dot != NULL);
		length -= part + (dot != NULL);
	}
	return value;
}

/* The text that the rule takes from an event, or NULL. */
static const char *rule_text(const char *rule, const json_t *event)
{
	while (*rule) {
		size_t word = strcspn(rule, " "), path = strcspn(rule, "= ");
		const char *text = json_string_value(at_path(event, rule, path));
		const char *value = rule + path + 1;

		if (!text || path == word)
			return text;
		if (strlen(text) != word - path - 1 || memcmp(text, value, word - path - 1) != 0)
			return NULL;
		rule += word;
		rule += strspn(rule, " ");
	}
	return NULL;
}

bool verdict_rule_valid(const char *rule)
{
	if (strlen(rule) >= RULE_BYTES_MAX || *rule == ' ')
		return false;
	while (*rule) {
		size_t word = strcspn(rule, " "), path = strcspn(rule, "= ");

		if (path == 0 || rule[0] == '.' || rule[path - 1] == '.' ||
		    memmem(rule, path, "..", 2))
			return false;
		rule += word;
		/* What stands last is the text's path, and nothing else is. */
		if (*rule == '\0')
			return path == word;
		if (path == word)
			return false;
		rule += strspn(rule, " ");
	}
	return false;
}

static int read_answer(const char *text, struct grader_verdict *verdict)
{
	struct line rest = {.bytes = text, .size = strlen(text)}, line;

	if (!take_last_line(&rest, &line))
		return none(verdict, "its answer is empty");
	return read_line(&line, verdict);
}

/* 1: it was the answer; 0: it is another event, or none. */
static int read_event(const struct text_list *rules, const struct line *line,
		      struct grader_verdict *verdict)
{
	const char *text = NULL;
	json_t *event;
	int r;

	/* It may be the answer: what stands before it is none then. */
	if (line->size > VERDICT_LINE_BYTES_MAX) {
		none(verdict, "a line at the end of its output is longer than %u bytes",
		     VERDICT_LINE_BYTES_MAX);
		return 1;
	}
	r = gate_json_parse(&event, line->bytes, line->size);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	for (size_t i = 0; !text && i < rules->count; i++)
		text = rule_text(rules->items[i], event);
	r = text ? read_answer(text, verdict) : 0;
	json_decref(event);
	return r == 0 ? text != NULL : r;
}

int verdict_read(const struct text_list *rules, const char *bytes, size_t size, bool whole,
		 struct grader_verdict *ret)
{
	struct line rest = {.bytes = bytes, .size = size}, line;
	bool any = false;
	int r;

	*ret = (struct grader_verdict){0};
	while (take_last_line(&rest, &line)) {
		/* The beginning of this one was not kept, or is further back than is looked. */
		if (rest.size == 0 && !whole)
			break;
		if (rules->count == 0)
			return read_line(&line, ret);
		any = true;
		r = read_event(rules, &line, ret);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	if (rules->count == 0)
		return whole ? none(ret, "it wrote nothing to standard output")
			     : none(ret,
				    "the end of its output is one line that is too long, or blank");
	if (!any && whole)
		return none(ret, "it wrote nothing to standard output");
	return none(ret, whole ? "there is no answer in its output"
			       : "there is no answer in the end of its output");
}

/* --- From the files ------------------------------------------------------------------------------- */

/* The last bytes without a gap. *ret_whole: they are all there ever were. */
static int read_tail(struct record_stream *stream, char *bytes, size_t *ret_size, bool *ret_whole)
{
	uint64_t end = stream->bytes;
	uint64_t at = end > VERDICT_TAIL_BYTES_MAX ? end - VERDICT_TAIL_BYTES_MAX : 0;
	size_t size = 0, n;
	uint64_t gap_end;
	int r;

	*ret_whole = at == 0;
	while (at < end) {
		r = record_stream_read(stream, at, bytes + size, VERDICT_TAIL_BYTES_MAX - size, &n,
				       &gap_end);
		if (r < 0)
			return r;
		if (r == 0)
			break;
		if (n == 0) {
			size = 0;
			*ret_whole = false;
			at = gap_end;
			continue;
		}
		size += n;
		at += n;
	}
	*ret_size = size;
	return 0;
}

int verdict_read_output(const struct text_list *rules, int folder_fd, uint64_t produced,
			struct grader_verdict *ret)
{
	_cleanup_free_ char *bytes = malloc(VERDICT_TAIL_BYTES_MAX);
	struct record_stream stream;
	size_t size = 0;
	bool whole = false;
	int r;

	*ret = (struct grader_verdict){0};
	if (!bytes)
		return -ENOMEM;
	r = record_stream_open(&stream, folder_fd, STREAM_stdout);
	if (r == 0 && stream.bytes != produced)
		return none(ret, "the end of its output could not be stored");
	if (r == 0)
		r = read_tail(&stream, bytes, &size, &whole);
	return r < 0 ? r : verdict_read(rules, bytes, size, whole, ret);
}

void verdict_fill(const struct grader_verdict *verdict, struct outcome_record *record)
{
	record->has.verdict = verdict->found;
	if (!verdict->found)
		return;
	record->verdict = (struct trial_verdict){
		.has = {.vote = true, .score = verdict->has_score},
		.vote = verdict->vote,
		.score = verdict->score,
		.reason = verdict->reason[0] ? verdict->reason : NULL,
	};
}
