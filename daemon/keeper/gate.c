/* SPDX-License-Identifier: MIT */

/*
 * The rules of gate.h, in the order in which a reason is of most use: no login at all, no longer
 * all of it, somebody else's, changed where a refresh changes nothing, older.
 *
 * A candidate is judged twice. Against the version that both sides last had: what is wrong there
 * was done by the Trial. Then, where production has moved on since, against that: what does not fit
 * there is nobody's fault, and production's own wins.
 */
#include "gate.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gate_json.h"

/* No refresh lasts that long; one who claims it would never be outdone by a real one. */
#define FUTURE_SECONDS_MAX (5.0 * 366 * 24 * 3600)

struct comparison {
	const struct gate_rules *rules;
	uint64_t now;
	char *reason;
	/* Of the path at hand. */
	const char *path;
	const char *claim; /* or NULL */
	bool found;
	/* Keys down to the value at hand. */
	const char *keys[GATE_DEPTH_MAX + 1];
	size_t depth;
};

static int refuse(struct comparison *comparison, const char *format, ...) _printf_(2, 3);
static int refuse(struct comparison *comparison, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(comparison->reason, GATE_REASON_BYTES, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static bool is_blank(const struct blob *text)
{
	for (size_t i = 0; i < text->size; i++)
		if (!strchr(" \t\r\n", text->data[i]))
			return false;
	return true;
}

static bool needs_json(const struct gate_rules *rules)
{
	return rules->require.count > 0 || rules->identity.count > 0 ||
	       rules->refreshes.count > 0 || rules->expiry;
}

/* What is true of any text that is a login. */
static int check_text(struct comparison *comparison, const struct blob *text)
{
	if (!text->data)
		return refuse(comparison, "it is not there");
	if (text->size > GATE_BYTES_MAX)
		return refuse(comparison, "it is over %u KiB", GATE_BYTES_MAX / 1024);
	if (memchr(text->data, '\0', text->size) || !utf8_valid(text->data, text->size))
		return refuse(comparison, "it is no text");
	if (is_blank(text))
		return refuse(comparison, "it is empty");
	return 0;
}

/* --- What it must have ---------------------------------------------------------------------------- */

static int note_filled(void *context, const json_t *a, const json_t *b)
{
	struct comparison *comparison = context;

	(void)b;
	comparison->found = comparison->found || gate_json_filled(a);
	return 0;
}

static int has_filled(struct comparison *comparison, const char *choices, const json_t *root)
{
	int r = 0;

	comparison->found = false;
	while (r == 0 && !comparison->found) {
		size_t length = strcspn(choices, "|");

		r = gate_json_visit(choices, length, root, NULL, note_filled, comparison);
		choices += length;
		if (*choices == '\0')
			break;
		choices++;
	}
	return r;
}

static int check_required(struct comparison *comparison, const json_t *root)
{
	const struct text_list *require = &comparison->rules->require;
	int r = 0;

	for (size_t i = 0; r == 0 && i < require->count; i++) {
		r = has_filled(comparison, require->items[i], root);
		if (r == 0 && !comparison->found)
			r = refuse(comparison, "it lacks %s", require->items[i]);
	}
	return r;
}

/* A login by itself. *ret_root is NULL for one that is no JSON and need not be. */
static int read_login(struct comparison *comparison, const struct blob *text, json_t **ret_root)
{
	int r = check_text(comparison, text);

	*ret_root = NULL;
	if (r < 0)
		return r;
	r = gate_json_parse(ret_root, text->data, text->size);
	if (r == -EBADMSG)
		return needs_json(comparison->rules)
			       ? refuse(comparison, "it is cut off, or no JSON object")
			       : 0;
	if (r < 0)
		return r;
	if (json_object_size(*ret_root) == 0)
		return refuse(comparison, "it is empty");
	return check_required(comparison, *ret_root);
}

int gate_check(const struct gate_rules *rules, const struct blob *login,
	       char ret_reason[GATE_REASON_BYTES])
{
	struct comparison comparison = {.rules = rules, .reason = ret_reason};
	_cleanup_json_ json_t *root = NULL;

	ret_reason[0] = '\0';
	return read_login(&comparison, login, &root);
}

/* --- Held against an earlier version -------------------------------------------------------------- */

static int each_path(struct comparison *comparison, const char *path, const json_t *base,
		     const json_t *candidate, gate_visit visit)
{
	size_t length = strcspn(path, "@");

	comparison->path = path;
	comparison->claim = path[length] == '@' ? path + length + 1 : NULL;
	return gate_json_visit(path, length, base, candidate, visit, comparison);
}

static int compare_token(void *context, const json_t *base, const json_t *candidate)
{
	struct comparison *comparison = context;

	if (gate_json_filled(base) && !gate_json_filled(candidate))
		return refuse(comparison, "it no longer has %s", comparison->path);
	return 0;
}

/* Each of several choices that was there has to be there still. */
static int compare_tokens(struct comparison *comparison, const json_t *base,
			  const json_t *candidate)
{
	const struct text_list *require = &comparison->rules->require;
	int r = 0;

	for (size_t i = 0; r == 0 && i < require->count; i++) {
		const char *choices = require->items[i];

		while (r == 0) {
			size_t length = strcspn(choices, "|");

			comparison->path = require->items[i];
			r = gate_json_visit(choices, length, base, candidate, compare_token,
					    comparison);
			choices += length;
			if (*choices == '\0')
				break;
			choices++;
		}
	}
	return r;
}

static int compare_account(void *context, const json_t *base, const json_t *candidate)
{
	struct comparison *comparison = context;
	_cleanup_json_ json_t *was = NULL, *is = NULL;
	int r = 0;

	if (comparison->claim) {
		r = gate_json_claim(base, comparison->claim, &was);
		if (r == 0)
			r = gate_json_claim(candidate, comparison->claim, &is);
		/* What never said whose it is cannot be held to it. */
		if (r < 0 || !was)
			return r;
		base = was;
		candidate = is;
	}
	if (base == candidate || (base && candidate && json_equal(base, candidate)))
		return 0;
	return refuse(comparison, "it is another account's: %s is not the same", comparison->path);
}

static int compare_accounts(struct comparison *comparison, const json_t *base,
			    const json_t *candidate)
{
	const struct text_list *identity = &comparison->rules->identity;
	int r = 0;

	for (size_t i = 0; r == 0 && i < identity->count; i++)
		r = each_path(comparison, identity->items[i], base, candidate, compare_account);
	return r;
}

/* Keys of logins are no secrets; a candidate's own are its writer's words, and are not repeated. */
static int refuse_change(struct comparison *comparison, const json_t *base)
{
	const char *key = comparison->depth > 0 ? comparison->keys[comparison->depth - 1] : NULL;
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	if (!base)
		return refuse(comparison, "it has a field that it did not have");
	if (!key || strlen(key) > 64 || key[strspn(key, plain)] != '\0')
		return refuse(comparison, "a field was changed that no refresh changes");
	return refuse(comparison, "%s was changed, which no refresh does", key);
}

/* What a refresh may change stays what it is: a string, a number, … */
static bool same_kind(const json_t *base, const json_t *candidate)
{
	if (!base || !candidate || json_is_null(base) || json_is_null(candidate) ||
	    (json_is_number(base) && json_is_number(candidate)) ||
	    (json_is_boolean(base) && json_is_boolean(candidate)))
		return true;
	return json_typeof(base) == json_typeof(candidate);
}

/* A program on the host may depend on any field that was there. */
static int compare_refreshed(struct comparison *comparison, const json_t *base,
			     const json_t *candidate)
{
	if (!same_kind(base, candidate))
		return refuse_change(comparison, base);
	if (!gate_json_filled(base) || gate_json_filled(candidate) ||
	    gate_json_matches(&comparison->rules->optional, comparison->keys, comparison->depth))
		return 0;
	return refuse(comparison, "it no longer has a field that a refresh renews");
}

static int compare_fields(struct comparison *comparison, const json_t *base,
			  const json_t *candidate);

static int compare_field(struct comparison *comparison, const char *key, const json_t *base,
			 const json_t *candidate)
{
	int r;

	if (comparison->depth >= GATE_DEPTH_MAX)
		return refuse(comparison, "it is too deeply nested");
	comparison->keys[comparison->depth++] = key;
	r = compare_fields(comparison, base, candidate);
	comparison->depth--;
	return r;
}

static int compare_fields(struct comparison *comparison, const json_t *base,
			  const json_t *candidate)
{
	const json_t *value;
	const char *key;
	int r = 0;

	if (gate_json_matches(&comparison->rules->refreshes, comparison->keys, comparison->depth))
		return compare_refreshed(comparison, base, candidate);
	if (!json_is_object(base) || !json_is_object(candidate))
		return base && candidate && json_equal(base, candidate)
			       ? 0
			       : refuse_change(comparison, base);
	json_object_foreach((json_t *)base, key, value)
	{
		r = compare_field(comparison, key, value, json_object_get(candidate, key));
		if (r < 0)
			return r;
	}
	json_object_foreach((json_t *)candidate, key, value)
	{
		r = json_object_get(base, key) ? 0 : compare_field(comparison, key, NULL, value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where no file says what a refresh changes: the same keys, and none of them emptied. */
static int compare_top_level(struct comparison *comparison, const json_t *base,
			     const json_t *candidate)
{
	const json_t *value;
	const char *key;

	if (!base)
		return 0;
	if (!candidate)
		return refuse(comparison, "it is cut off, or no JSON object");
	json_object_foreach((json_t *)base, key, value)
	{
		const json_t *other = json_object_get(candidate, key);

		if (!other || (gate_json_filled(value) && !gate_json_filled(other)))
			return refuse(comparison, "a field that it had is gone");
	}
	if (json_object_size(base) != json_object_size(candidate))
		return refuse(comparison, "it has a field that it did not have");
	return 0;
}

/* --- Times ---------------------------------------------------------------------------------------- */

static int time_at(struct comparison *comparison, const json_t *value, uint64_t *ret)
{
	_cleanup_json_ json_t *claim = NULL;
	int r = 0;

	if (comparison->claim)
		r = gate_json_claim(value, comparison->claim, &claim);
	*ret = gate_json_time(comparison->claim ? claim : value, comparison->rules->unit);
	return r;
}

/* *ret_older: good, but not newer. */
struct times {
	struct comparison *comparison;
	bool older;
	bool newer;
};

static int compare_time(void *context, const json_t *base, const json_t *candidate)
{
	struct times *times = context;
	struct comparison *comparison = times->comparison;
	uint64_t was = 0, is = 0;
	int r;

	r = time_at(comparison, base, &was);
	if (r == 0)
		r = time_at(comparison, candidate, &is);
	if (r < 0)
		return r;
	if (was > 0 && is == 0)
		return refuse(comparison, "%s, when it ends, is gone", comparison->path);
	if (is > was && (double)is > (double)comparison->now + FUTURE_SECONDS_MAX * 1e6)
		return refuse(comparison, "%s, when it ends, is too far away", comparison->path);
	times->older = times->older || is < was;
	times->newer = times->newer || is > was;
	return 0;
}

static int compare_times(struct comparison *comparison, const json_t *base, const json_t *candidate,
			 struct times *ret)
{
	const char *path = comparison->rules->expiry;
	size_t length = path ? strcspn(path, "@") : 0;

	*ret = (struct times){.comparison = comparison};
	if (!path)
		return 0;
	comparison->path = path;
	comparison->claim = path[length] == '@' ? path + length + 1 : NULL;
	return gate_json_visit(path, length, base, candidate, compare_time, ret);
}

struct earliest {
	struct comparison *comparison;
	struct gate_expiry *expiry;
};

static int note_time(void *context, const json_t *a, const json_t *b)
{
	struct earliest *earliest = context;
	uint64_t time;
	int r = time_at(earliest->comparison, a, &time);

	(void)b;
	if (r < 0 || time == 0)
		return r;
	if (!earliest->expiry->known || time < earliest->expiry->ends_at)
		*earliest->expiry = (struct gate_expiry){.known = true, .ends_at = time};
	return 0;
}

int gate_expiry(const struct gate_rules *rules, const struct blob *login, struct gate_expiry *ret)
{
	char reason[GATE_REASON_BYTES];
	struct comparison comparison = {.rules = rules, .reason = reason};
	struct earliest earliest = {.comparison = &comparison, .expiry = ret};
	_cleanup_json_ json_t *root = NULL;
	size_t length;
	int r;

	*ret = (struct gate_expiry){0};
	if (!rules->expiry || !login->data)
		return 0;
	r = gate_json_parse(&root, login->data, login->size);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	length = strcspn(rules->expiry, "@");
	comparison.path = rules->expiry;
	comparison.claim = rules->expiry[length] == '@' ? rules->expiry + length + 1 : NULL;
	return gate_json_visit(rules->expiry, length, root, NULL, note_time, &earliest);
}

int gate_refreshable(const struct gate_rules *rules, const struct blob *login, bool *ret)
{
	struct comparison comparison = {.rules = rules};
	_cleanup_json_ json_t *root = NULL;
	int r;

	*ret = true;
	if (rules->refreshes.count == 0 || !login->data)
		return 0;
	r = gate_json_parse(&root, login->data, login->size);
	for (size_t i = 0; r == 0 && i < rules->refreshes.count && !comparison.found; i++)
		r = has_filled(&comparison, rules->refreshes.items[i], root);
	if (r == 0)
		*ret = comparison.found;
	return r == -EBADMSG ? 0 : r;
}

bool gate_may_refresh(const struct gate_rules *rules, const struct gate_expiry *expiry,
		      uint64_t now, double seconds)
{
	return !expiry->known ||
	       (double)expiry->ends_at - rules->refresh_ahead * 1e6 < (double)now + seconds * 1e6;
}

/* --- The verdict ---------------------------------------------------------------------------------- */

static bool same_bytes(const struct blob *a, const struct blob *b)
{
	return a->data && b->data && a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* All but the time. Either root may be NULL, of a login that is no JSON. */
static int compare(struct comparison *comparison, const json_t *base, const json_t *candidate,
		   struct times *ret_times)
{
	int r;

	comparison->depth = 0;
	r = compare_tokens(comparison, base, candidate);
	if (r == 0)
		r = compare_accounts(comparison, base, candidate);
	if (r == 0)
		r = comparison->rules->refreshes.count > 0
			    ? compare_fields(comparison, base, candidate)
			    : compare_top_level(comparison, base, candidate);
	if (r == 0)
		r = compare_times(comparison, base, candidate, ret_times);
	return r;
}

static int give(struct gate_result *result, enum gate_verdict verdict, const char *reason)
{
	result->verdict = verdict;
	if (reason)
		snprintf(result->reason, sizeof(result->reason), "%s", reason);
	return 0;
}

/* The candidate fits what the Trial started from; production has moved on since. */
static int judge_moved(struct comparison *comparison, const struct blob *production,
		       const json_t *candidate, struct gate_result *ret)
{
	_cleanup_json_ json_t *root = NULL;
	struct times times = {0};
	int r = read_login(comparison, production, &root);

	if (r == -EBADMSG)
		return give(ret, GATE_older, "what the host has now is no login");
	if (r < 0)
		return r;
	if (root && candidate && json_equal(root, candidate))
		return give(ret, GATE_same, NULL);
	r = compare(comparison, root, candidate, &times);
	if (r == -EBADMSG)
		return give(ret, GATE_older, "the host has signed in anew");
	if (r < 0)
		return r;
	/* Without a time there is no telling which is newer: the person's own is not overwritten. */
	if (times.older || !times.newer)
		return give(ret, GATE_older, "the host has a newer one");
	return give(ret, GATE_carry, NULL);
}

static int judge(struct comparison *comparison, const struct blob *production,
		 const struct blob *last, const struct blob *candidate, struct gate_result *ret)
{
	const struct blob *base = last->data ? last : production;
	_cleanup_json_ json_t *base_root = NULL, *root = NULL;
	struct times times = {0};
	int r;

	if (!base->data)
		return refuse(comparison, "the host has no login to hold it against");
	r = read_login(comparison, base, &base_root);
	if (r == -EBADMSG)
		return refuse(comparison,
			      "the host's own is no login, so it cannot be held against it");
	if (r == 0)
		r = read_login(comparison, candidate, &root);
	if (r < 0)
		return r;
	if (base_root && root && json_equal(base_root, root))
		return give(ret, GATE_same, NULL);
	r = compare(comparison, base_root, root, &times);
	if (r < 0)
		return r;
	if (times.older)
		return give(ret, GATE_older, "it is older than the one that the Trial was given");
	if (base == production || same_bytes(production, base))
		return give(ret, GATE_carry, NULL);
	return judge_moved(comparison, production, root, ret);
}

int gate_judge(const struct gate_rules *rules, const struct blob *production,
	       const struct blob *last, const struct blob *candidate, uint64_t now,
	       struct gate_result *ret)
{
	struct comparison comparison = {.rules = rules, .now = now, .reason = ret->reason};
	int r;

	*ret = (struct gate_result){.verdict = GATE_damaged};
	if (same_bytes(candidate, last) || same_bytes(candidate, production))
		return give(ret, GATE_same, NULL);
	r = judge(&comparison, production, last, candidate, ret);
	if (r == -EBADMSG) {
		ret->verdict = GATE_damaged;
		return 0;
	}
	return r;
}
