/* SPDX-License-Identifier: MIT */
#pragma once

#include "proto/message.h"

/*
 * Whether what one side made of a login may reach the other. Pure: bytes in, a verdict out. The
 * rules are what the .harness file says of the login; nothing here knows any one Harness.
 *
 * The candidate is a Trial's copy, so an agent may have written it. What is held against it: it is
 * a login at all (parses, not empty, has the tokens it had), of the same account, not older, and
 * nothing changed in it but what a refresh changes. What cannot be held against it: that a token in
 * it is no good. A token's signature is not checked, since the keys are its issuer's, change, and
 * would have to be fetched, and many a token has none. Its claims are read to notice a login of
 * another account or time, not to prove this one; what an agent forges on purpose, the backup mends.
 *
 * Paths of JSON are as in trialsd.harness(5): a.b, * for any key, @CLAIM behind that of a JWT.
 * Where no rule needs JSON a login may be any text. No reason holds bytes of a login.
 */
#define GATE_BYTES_MAX (256u * 1024u)
#define GATE_DEPTH_MAX 32
#define GATE_KEY_BYTES_MAX 1024
#define GATE_PATH_BYTES_MAX 255
#define GATE_REASON_BYTES 256

enum gate_unit { GATE_UNIT_s, GATE_UNIT_ms, GATE_UNIT_rfc3339, GATE_UNITS };

struct gate_rules {
	struct text_list require;  /* PATH|PATH…: one of each is there, and not empty */
	struct text_list identity; /* may never change */
	struct text_list
		refreshes; /* all that a refresh may change; empty: not the top-level keys */
	struct text_list optional; /* of these, what may be gone or empty afterwards */
	const char *expiry;	   /* or NULL */
	enum gate_unit unit;
	double refresh_ahead; /* seconds before the expiry at which the program may refresh */
};

enum gate_verdict {
	GATE_same,    /* it says what one of the others says: there is nothing to carry */
	GATE_carry,   /* newer than production's, and good */
	GATE_older,   /* good, but what production has is newer, or no longer this login */
	GATE_damaged, /* no login, or not this one */
};

struct gate_result {
	enum gate_verdict verdict;
	char reason
		[GATE_REASON_BYTES]; /* of older and damaged: a part of a sentence, "it is empty" */
};

/*
 * production: what the host has now; last: the version that both sides last had; either may be
 * absent (data NULL). The candidate is held against last (what the Trial started from), and then
 * against production, which may have moved on. now: microseconds UTC. -ENOMEM.
 */
int gate_judge(const struct gate_rules *rules, const struct blob *production,
	       const struct blob *last, const struct blob *candidate, uint64_t now,
	       struct gate_result *ret);

/* Whether it is a login by itself: 0, -EBADMSG with the reason, -ENOMEM. */
int gate_check(const struct gate_rules *rules, const struct blob *login,
	       char ret_reason[GATE_REASON_BYTES]);

struct gate_expiry {
	bool known;
	uint64_t ends_at; /* microseconds UTC; the earliest where there are several */
};

/* When it ends; not known when the rules do not say, or the login does not. -ENOMEM. */
int gate_expiry(const struct gate_rules *rules, const struct blob *login, struct gate_expiry *ret);
/* Whether there is anything in it that a refresh changes; what no rule is of may be. -ENOMEM. */
int gate_refreshable(const struct gate_rules *rules, const struct blob *login, bool *ret);
/* Whether its program may refresh it within so many seconds; one that is not known may. */
bool gate_may_refresh(const struct gate_rules *rules, const struct gate_expiry *expiry,
		      uint64_t now, double seconds);
