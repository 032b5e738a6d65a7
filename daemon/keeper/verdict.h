/* SPDX-License-Identifier: MIT */
#pragma once

#include "gate.h"
#include "record.h"

/*
 * What a Grader says of a result: the last line of its answer that is not blank, a JSON object
 *
 *     {"vote": "pass" or "fail", "score": 0 to 1, "reason": "text"}
 *
 * of which score and reason may be missing, and other keys are ignored. Anything else is no verdict:
 * nothing is guessed, and nothing that stands before that line counts.
 *
 * A command's answer is its standard output. A Harness's own stream is one of events, a JSON object a
 * line; there the answer is what rules take from it (Answer= of trialsd.harness(5)). All other text
 * of a stream is passed over: the results of tools, which are in it too, may hold whatever the
 * repository that is judged wants to be said.
 *
 * A rule is words: conditions PATH=VALUE, all of which an event must meet, and last the PATH of the
 * text. A path is keys with dots between them. The last event that meets a rule holds the answer.
 */
#define VERDICT_LINE_BYTES_MAX GATE_BYTES_MAX
/* How much of the end of the output is looked at. */
#define VERDICT_TAIL_BYTES_MAX (4u * 1024u * 1024u)
#define VERDICT_RULES_MAX 8
#define VERDICT_WHY_BYTES 256

struct grader_verdict {
	bool found;
	enum vote vote;
	bool has_score;
	double score;				   /* 0 to 1 */
	char reason[VERDICT_REASON_BYTES_MAX + 1]; /* "": none */
	char why[VERDICT_WHY_BYTES]; /* nothing was found: what was; a part of a sentence */
};

/*
 * From the last bytes of the output. whole: they are all of it; else the first line of them is a part
 * of one. rules empty: the answer is the output itself. Pure. -ENOMEM.
 */
int verdict_read(const struct text_list *rules, const char *bytes, size_t size, bool whole,
		 struct grader_verdict *ret);

/* The same from the files in a Trial's folder, once it is over and wrote so many bytes. -errno. */
int verdict_read_output(const struct text_list *rules, int folder_fd, uint64_t produced,
			struct grader_verdict *ret);

/* Whether a rule can be understood. */
bool verdict_rule_valid(const char *rule);

/* As the record has it; points into the verdict. */
void verdict_fill(const struct grader_verdict *verdict, struct outcome_record *record);
