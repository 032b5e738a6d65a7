/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/gate.h"
#include "stage.h"

/*
 * A login that a Trial wrote, held against the host's. The input: a byte that chooses the rules,
 * then candidate, production and what both last had, with a NUL between them; the last may be
 * missing, and is then the host's.
 *
 * What is let through is a login by itself, and does not end before the one whose place it takes;
 * once it is there it is the same, and the one before it is not let through for it unless nothing
 * tells which is newer. Reasons can be shown.
 */

#define LIST(...)                                                                                  \
	{                                                                                          \
		sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *), (const char *[])     \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static const struct gate_rules rules[] = {
	{
		.require = LIST("t.access|KEY", "t.refresh|KEY"),
		.identity = LIST("t.id", "t.access@sub"),
		.refreshes = LIST("t.access", "t.refresh", "at"),
		.expiry = "t.access@exp",
	},
	{
		.require = LIST("*.key"),
		.identity = LIST("*.user"),
		.refreshes = LIST("*.key", "*.ends"),
		.expiry = "*.ends",
		.unit = GATE_UNIT_rfc3339,
	},
	{
		.require = LIST("a", "b"),
		.refreshes = LIST("a", "b.*", "ends"),
		.expiry = "ends",
		.unit = GATE_UNIT_ms,
	},
	{.require = {0}},
};

enum { RULES = sizeof(rules) / sizeof(rules[0]) };

#define NOW (1800000000ull * 1000000u)

static uint8_t *copy_of(const uint8_t *data, size_t size, struct blob *ret)
{
	/* Of just that size, for the sanitizers. */
	uint8_t *copy = malloc(size ? size : 1);

	must(copy);
	memcpy(copy, data, size);
	*ret = (struct blob){copy, size};
	return copy;
}

static enum gate_verdict judge(const struct gate_rules *by, const struct blob *production,
			       const struct blob *last, const struct blob *candidate)
{
	struct gate_result result;

	must(gate_judge(by, production, last, candidate, NOW, &result) == 0);
	must(stage_is_text(result.reason));
	must((result.reason[0] == '\0') ==
	     (result.verdict == GATE_same || result.verdict == GATE_carry));
	return result.verdict;
}

static void check_carried(const struct gate_rules *by, const struct blob *production,
			  const struct blob *candidate)
{
	struct gate_expiry before, after;
	char reason[GATE_REASON_BYTES];

	must(gate_check(by, candidate, reason) == 0);
	must(gate_check(by, production, reason) == 0);
	must(gate_expiry(by, production, &before) == 0 && gate_expiry(by, candidate, &after) == 0);
	must(!before.known || (after.known && after.ends_at >= before.ends_at));
	must(judge(by, candidate, candidate, candidate) == GATE_same);
	if (before.known && after.ends_at > before.ends_at)
		must(judge(by, candidate, candidate, production) != GATE_carry);
}

int fuzz_gate(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *parts[3];
	size_t sizes[3] = {0}, count = 0;
	const struct gate_rules *by;
	struct blob blobs[3] = {{0}};
	uint8_t *copies[3] = {NULL};

	if (size == 0)
		return 0;
	by = &rules[*data++ % RULES];
	while (count < 3) {
		const uint8_t *stop = count < 2 ? memchr(data, '\0', (size_t)(end - data)) : NULL;

		parts[count] = data;
		sizes[count++] = (size_t)((stop ? stop : end) - data);
		if (!stop)
			break;
		data = stop + 1;
	}
	for (size_t i = 0; i < count; i++)
		copies[i] = copy_of(parts[i], sizes[i], &blobs[i]);
	if (judge(by, &blobs[1], &blobs[count == 3 ? 2 : 1], &blobs[0]) == GATE_carry)
		check_carried(by, &blobs[1], &blobs[0]);
	for (size_t i = 0; i < count; i++)
		free(copies[i]);
	return 0;
}
