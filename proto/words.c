/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "codec.h"

/*
 * The closed sets of words, each a table made from its list in protocol.h.
 */

#define WORD_(name, doc) #name,
#define OUTCOME_WORD_(name, counts, doc) #name,

#define DEFINE_WORDS_(set, LIST, WORD)                                                             \
	static const char *const set##_table[] = {LIST(WORD)};                                     \
	static const struct word_set set##_words = {set##_table,                                   \
						    sizeof(set##_table) / sizeof(set##_table[0])}; \
	const char *set##_name(int value)                                                          \
	{                                                                                          \
		return word_name(&set##_words, value);                                             \
	}                                                                                          \
	int set##_from_name(const char *name)                                                      \
	{                                                                                          \
		return word_value(&set##_words, name);                                             \
	}

static const char *word_name(const struct word_set *set, int value)
{
	return value >= 0 && (size_t)value < set->count ? set->words[value] : NULL;
}

static int word_value(const struct word_set *set, const char *name)
{
	for (size_t i = 0; name && i < set->count; i++)
		if (strcmp(set->words[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

DEFINE_WORDS_(verb, PROTOCOL_VERBS, WORD_)
DEFINE_WORDS_(event, PROTOCOL_EVENTS, WORD_)
DEFINE_WORDS_(error, PROTOCOL_ERRORS, WORD_)
DEFINE_WORDS_(state, PROTOCOL_STATES, WORD_)
DEFINE_WORDS_(outcome, PROTOCOL_OUTCOMES, OUTCOME_WORD_)
DEFINE_WORDS_(cause, PROTOCOL_CAUSES, WORD_)
DEFINE_WORDS_(ender, PROTOCOL_ENDERS, WORD_)
DEFINE_WORDS_(hold, PROTOCOL_HOLDS, WORD_)
DEFINE_WORDS_(role, PROTOCOL_ROLES, WORD_)
DEFINE_WORDS_(mode, PROTOCOL_MODES, WORD_)
DEFINE_WORDS_(network, PROTOCOL_NETWORKS, WORD_)
DEFINE_WORDS_(verdict, PROTOCOL_VERDICTS, WORD_)
DEFINE_WORDS_(vote, PROTOCOL_VOTES, WORD_)
DEFINE_WORDS_(backend, PROTOCOL_BACKENDS, WORD_)
DEFINE_WORDS_(stream, PROTOCOL_STREAMS, WORD_)
DEFINE_WORDS_(check_state, PROTOCOL_CHECK_STATES, WORD_)
DEFINE_WORDS_(login_kind, PROTOCOL_LOGIN_KINDS, WORD_)
DEFINE_WORDS_(login_condition, PROTOCOL_LOGIN_CONDITIONS, WORD_)
DEFINE_WORDS_(mount_kind, PROTOCOL_MOUNT_KINDS, WORD_)

#define COUNTS_(name, counts, doc) counts,

bool outcome_counts(enum outcome outcome)
{
	static const bool table[] = {PROTOCOL_OUTCOMES(COUNTS_)};

	return (size_t)outcome < OUTCOME_COUNT && table[outcome];
}

const struct word_set *field_words(enum field_type type)
{
	static const struct word_set *const sets[FIELD_TYPE_COUNT] = {
		[FIELD_STATE] = &state_words,
		[FIELD_OUTCOME] = &outcome_words,
		[FIELD_CAUSE] = &cause_words,
		[FIELD_ENDER] = &ender_words,
		[FIELD_ROLE] = &role_words,
		[FIELD_MODE] = &mode_words,
		[FIELD_NETWORK] = &network_words,
		[FIELD_BACKEND] = &backend_words,
		[FIELD_VERDICT] = &verdict_words,
		[FIELD_VOTE] = &vote_words,
		[FIELD_STREAM] = &stream_words,
		[FIELD_CHECK_STATE] = &check_state_words,
		[FIELD_HOLD] = &hold_words,
		[FIELD_LOGIN_KIND] = &login_kind_words,
		[FIELD_LOGIN_CONDITION] = &login_condition_words,
		[FIELD_MOUNT_KIND] = &mount_kind_words,
	};

	return sets[type];
}
