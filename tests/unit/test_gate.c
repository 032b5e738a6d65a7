/* SPDX-License-Identifier: MIT */
#include "keeper/gate.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/login_about.h"

/*
 * The gate, by the rules of the shipped .harness files: for each Harness what its refresh looks
 * like, and all that must never pass for one.
 */

#define NOW 1800000000ull /* 2027-01-15 */
#define NOW_MICROSECONDS (NOW * 1000000u)

static struct harness *harness;
static struct keeper_login about;
static struct gate_rules rules;

static void load(const char *name, enum harness_login_kind kind)
{
	const char *top = getenv("TOP");
	struct fault fault = FAULT_INIT;
	char path[4096];

	snprintf(path, sizeof(path), "%s/daemon/harness.d/%s.harness", top ? top : ".", name);
	harness_free(harness);
	harness = NULL;
	ck_assert_msg(harness_read(&harness, path, &fault) == 0, "%s", fault.message);
	about = login_about(harness, harness_login_of(harness, kind), "auth.json");
	rules = login_rules(&about);
}

static void teardown(void)
{
	harness = harness_free(harness);
}

/* Texts of one test; a ring, so that several can stand in one call. */
static char *text_new(void)
{
	static char texts[8][4096];
	static int next;

	return texts[next++ % 8];
}

static const char *text(const char *format, ...) _printf_(1, 2);
static const char *text(const char *format, ...)
{
	char *to = text_new();
	va_list arguments;

	va_start(arguments, format);
	ck_assert_int_lt(vsnprintf(to, 4096, format, arguments), 4096);
	va_end(arguments);
	return to;
}

static const char *jwt(const char *payload)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char *to = text_new(), *at = to + sprintf(to, "eyJhbGciOiJub25lIn0.");
	unsigned int held = 0, bits = 0;

	for (; *payload; payload++) {
		held = (held << 8 | (unsigned char)*payload) & 0xffff;
		for (bits += 8; bits >= 6; bits -= 6)
			*at++ = digits[held >> (bits - 6) & 63];
	}
	if (bits > 0)
		*at++ = digits[held << (6 - bits) & 63];
	strcpy(at, ".c2lnbmF0dXJl");
	return to;
}

static struct blob blob(const char *bytes)
{
	return (struct blob){(const uint8_t *)bytes, bytes ? strlen(bytes) : 0};
}

static const char *const verdicts[] = {"same", "carry", "older", "damaged"};

static struct gate_result judge_all(const char *production, const char *last, const char *candidate)
{
	struct blob p = blob(production), l = blob(last), c = blob(candidate);
	struct gate_result result;

	ck_assert_int_eq(gate_judge(&rules, &p, &l, &c, NOW_MICROSECONDS, &result), 0);
	ck_assert(result.verdict == GATE_same || result.verdict == GATE_carry || result.reason[0]);
	/* Whatever is wrong with it, nobody is shown a token. */
	ck_assert_ptr_null(strstr(result.reason, "SECRET"));
	return result;
}

static void is(const char *base, const char *candidate, enum gate_verdict verdict,
	       const char *reason)
{
	struct gate_result result = judge_all(base, base, candidate);

	ck_assert_msg(result.verdict == verdict, "%s, not %s (%s): %s", verdicts[result.verdict],
		      verdicts[verdict], result.reason, candidate);
	ck_assert_msg(strstr(result.reason, reason) != NULL, "%s: %s", result.reason, reason);
}

static void damaged(const char *base, const char *candidate, const char *reason)
{
	is(base, candidate, GATE_damaged, reason);
}

/* What is damage whoever's login it is. */
static void damaged_for_all(const char *base)
{
	char *cut = strdup(base);
	size_t length = strlen(base);

	is(base, base, GATE_same, "");
	damaged(base, NULL, "not there");
	damaged(base, "", "empty");
	damaged(base, " \n", "empty");
	damaged(base, "{}", "empty");
	damaged(base, "[]", "no JSON");
	damaged(base, "null", "no JSON");
	damaged(base, "\xff\xfe{}", "no text");
	for (size_t i = 1; i < length; i += 7) {
		cut[length - i] = '\0';
		damaged(base, cut, "");
	}
	free(cut);
}

/* --- Codex ---------------------------------------------------------------------------------------- */

static const char *codex(const char *account, const char *sub, long long expiry, const char *token)
{
	const char *payload = text("{\"sub\":\"%s\",\"exp\":%lld}", sub, expiry);

	return text("{\"auth_mode\": \"chatgpt\", \"OPENAI_API_KEY\": null, \"tokens\": "
		    "{\"id_token\": \"%s\", \"access_token\": \"%s\", \"refresh_token\": \"%s\", "
		    "\"account_id\": \"%s\"}, \"last_refresh\": \"2027-01-01T00:00:00Z\"}",
		    jwt("{\"email\":\"a@b\"}"), jwt(payload), token, account);
}

START_TEST(codex_login)
{
	char base[4096];

	load("codex", HARNESS_LOGIN_folder);
	strcpy(base, codex("acc", "user", NOW + 60, "SECRET-1"));
	damaged_for_all(base);
	is(base, codex("acc", "user", NOW + 864000, "SECRET-2"), GATE_carry, "");
	/* The times say the same, so nothing speaks against it. */
	is(base, codex("acc", "user", NOW + 60, "SECRET-2"), GATE_carry, "");
	is(base, codex("acc", "user", NOW - 60, "SECRET-0"), GATE_older, "older");
	damaged(base, codex("acc", "user", 0, "SECRET-2"), "when it ends, is gone");
	damaged(base, codex("acc", "user", NOW * 1000, "SECRET-2"), "is gone");
	damaged(base, codex("acc", "user", NOW + 6ll * 366 * 86400, "SECRET-2"), "too far away");
	damaged(base, codex("acc2", "user", NOW + 864000, "SECRET-2"), "another account");
	damaged(base, codex("acc", "other", NOW + 864000, "SECRET-2"), "another account");
	damaged(base, codex("acc", "user", NOW + 864000, ""), "it lacks tokens.refresh_token");
}
END_TEST

static const char *replaced(const char *base, const char *old, const char *with)
{
	const char *at = strstr(base, old);

	ck_assert_ptr_nonnull(at);
	return text("%.*s%s%s", (int)(at - base), base, with, at + strlen(old));
}

START_TEST(codex_fields)
{
	char base[4096], next[4096];

	load("codex", HARNESS_LOGIN_folder);
	strcpy(base, codex("acc", "user", NOW + 60, "SECRET-1"));
	strcpy(next, codex("acc", "user", NOW + 864000, "SECRET-2"));
	is(base, replaced(next, "2027-01-01T", "2027-01-15T"), GATE_carry, "");
	damaged(base, replaced(next, "\"chatgpt\"", "\"apikey\""), "auth_mode was changed");
	damaged(base, replaced(next, "null", "\"SECRET\""), "OPENAI_API_KEY was changed");
	damaged(base, replaced(next, "{\"auth_mode\"", "{\"x\": 1, \"auth_mode\""),
		"a field that it did not have");
	damaged(base, replaced(next, "\"tokens\": {", "\"tokens\": {\"SECRET\": 1, "),
		"a field that it did not have");
	damaged(base, replaced(next, "\"SECRET-2\"", "{\"SECRET\": 2}"),
		"refresh_token was changed");
	damaged(base, replaced(next, "\"refresh_token\"", "\"refresh_tokem\""), "");
	damaged(base, replaced(next, "\"tokens\"", "\"tokens\": {}, \"tokens\""), "no JSON");
	/* What a refresh renews stays there, and filled: the host's program may not start without. */
	damaged(base, replaced(next, "\"id_token\"", "\"id_tokem\""), "");
	damaged(base, replaced(next, "\"last_refresh\"", "\"last\""), "");
	damaged(base, replaced(next, "\"SECRET-2\"", "\" \\t\""), "refresh_token");
	damaged(base, replaced(next, "\"SECRET-2\"", "null"), "refresh_token");
	/* Other bytes that say the same are nothing to carry. */
	is(base, replaced(base, "\"auth_mode\": ", "\"auth_mode\" :\n"), GATE_same, "");
}
END_TEST

START_TEST(codex_by_key)
{
	const char *base = "{\"OPENAI_API_KEY\": \"SECRET\", \"tokens\": null}";

	load("codex", HARNESS_LOGIN_folder);
	damaged_for_all(base);
	damaged(base, "{\"OPENAI_API_KEY\": \"SECRET-2\", \"tokens\": null}", "OPENAI_API_KEY");
	damaged(base, "{\"OPENAI_API_KEY\": null, \"tokens\": null}",
		"it lacks tokens.access_token");
}
END_TEST

/* --- Claude Code ---------------------------------------------------------------------------------- */

static const char *claude(long long expiry, const char *refresh, const char *more)
{
	return text("{\"claudeAiOauth\": {\"accessToken\": \"SECRET-a\", \"refreshToken\": \"%s\", "
		    "\"expiresAt\": %lld, \"scopes\": [\"user:inference\"], "
		    "\"subscriptionType\": \"max\"%s}}",
		    refresh, expiry, more);
}

START_TEST(claude_login)
{
	char base[4096];

	load("claude", HARNESS_LOGIN_file);
	strcpy(base, claude((NOW + 60) * 1000, "SECRET-1", ""));
	damaged_for_all(base);
	is(base, claude((NOW + 28800) * 1000, "SECRET-2", ""), GATE_carry, "");
	is(base, claude((NOW + 28800) * 1000, "SECRET-2", ", \"rateLimitTier\": \"x\""), GATE_carry,
	   "");
	is(base, claude((NOW - 60) * 1000, "SECRET-2", ""), GATE_older, "older");
	damaged(base, claude(0, "SECRET-2", ""), "expiresAt, when it ends, is gone");
	damaged(base, claude(-5, "SECRET-2", ""), "is gone");
	damaged(base, claude((NOW + 28800) * 1000, "", ""), "refreshToken");
	damaged(base, claude((NOW + 28800) * 1000, "SECRET-2", ", \"organization\": 1"),
		"a field that it did not have");
	damaged(base,
		replaced(claude((NOW + 28800) * 1000, "SECRET-2", ""), "[\"user:inference\"]",
			 "[]"),
		"no longer has a field");
	damaged(base,
		replaced(claude((NOW + 28800) * 1000, "SECRET-2", ""), "[\"user:inference\"]",
			 "null"),
		"no longer has a field");
	/* What says how much may be used is not needed to use it. */
	is(base, replaced(claude((NOW + 28800) * 1000, "SECRET-2", ""), "\"max\"", "null"),
	   GATE_carry, "");
	damaged(base, "{\"claudeAiOauth\": null}", "it lacks claudeAiOauth.accessToken");
	damaged(base, "{\"claudeAiOauth\": {}}", "it lacks claudeAiOauth.accessToken");
}
END_TEST

/* --- Grok, Kimi, OpenCode ------------------------------------------------------------------------- */

static const char *grok(const char *user, const char *expiry)
{
	return text("{\"https://auth.x.ai\": {\"key\": \"SECRET-%s\", \"refresh_token\": "
		    "\"SECRET\", \"expires_at\": \"%s\", \"user_id\": \"%s\"}}",
		    expiry, expiry, user);
}

START_TEST(grok_login)
{
	char base[4096];

	load("grok", HARNESS_LOGIN_home);
	strcpy(base, grok("u", "2027-01-15T08:00:00Z"));
	damaged_for_all(base);
	is(base, grok("u", "2027-01-15T14:00:00.123456Z"), GATE_carry, "");
	is(base, grok("u", "2027-01-15T09:30:00+02:00"), GATE_older, "older");
	damaged(base, grok("u", "soon"), "is gone");
	damaged(base, grok("", "2027-01-15T14:00:00Z"), "another account");
	damaged(base, grok("v", "2027-01-15T14:00:00Z"), "another account");
	damaged(base, replaced(grok("u", "2027-01-15T14:00:00Z"), "auth.x.ai", "evil.example"),
		"no longer has *.key");
	/* Beside the one that is there, another account's. */
	damaged(base,
		replaced(grok("u", "2027-01-15T14:00:00Z"), "}}",
			 "}, \"other\": {\"key\": \"SECRET\", \"user_id\": \"w\"}}"),
		"another account");
}
END_TEST

static const char *kimi(const char *access, long long expiry)
{
	return text("{\"access_token\": \"%s\", \"refresh_token\": \"SECRET\", \"expires_at\": "
		    "%lld, \"scope\": \"kimi-code\", \"token_type\": \"Bearer\"}",
		    access, expiry);
}

START_TEST(kimi_login)
{
	char base[4096];

	load("kimi", HARNESS_LOGIN_folder);
	strcpy(base, kimi(jwt("{\"sub\":\"u\"}"), NOW + 60));
	damaged_for_all(base);
	is(base, kimi(jwt("{\"sub\":\"u\",\"n\":2}"), NOW + 900), GATE_carry, "");
	is(base, kimi(jwt("{\"sub\":\"u\",\"n\":2}"), NOW), GATE_older, "");
	damaged(base, kimi(jwt("{\"sub\":\"v\"}"), NOW + 900), "another account");
	damaged(base, kimi("SECRET", NOW + 900), "another account");
	damaged(base, replaced(kimi(jwt("{\"sub\":\"u\"}"), NOW + 900), "\"kimi-code\"", "\"\""),
		"no longer has a field");
	damaged(base, replaced(kimi(jwt("{\"sub\":\"u\"}"), NOW + 900), "\"token_type\"", "\"t\""),
		"");
	/* A token that never was a JWT says nothing of an account. */
	strcpy(base, kimi("SECRET-1", NOW + 60));
	is(base, kimi("SECRET-2", NOW + 900), GATE_carry, "");
	/* A time with a fraction, as Python writes it. */
	is(base, replaced(kimi("SECRET-2", NOW + 900), "0900,", "0900.5,"), GATE_carry, "");
}
END_TEST

static const char *opencode(int token, long long expiry)
{
	return text("{\"anthropic\": {\"type\": \"oauth\", \"refresh\": \"SECRET-%d\", "
		    "\"access\": \"SECRET\", \"expires\": %lld}, "
		    "\"openai\": {\"type\": \"api\", \"key\": \"SECRET\"}}",
		    token, expiry);
}

START_TEST(opencode_login)
{
	char base[4096], next[4096];

	load("opencode", HARNESS_LOGIN_file);
	strcpy(base, opencode(1, (NOW + 60) * 1000));
	strcpy(next, opencode(2, (NOW + 3600) * 1000));
	damaged_for_all(base);
	is(base, next, GATE_carry, "");
	is(next, base, GATE_older, "");
	damaged(base, replaced(next, "\"key\": \"SECRET\"", "\"key\": \"SECRET-2\""),
		"key was changed");
	damaged(base, replaced(next, "\"api\"", "\"oauth\""), "type was changed");
	damaged(base, replaced(next, "\"refresh\": \"SECRET-2\", ", ""), "no longer has a field");
	damaged(base, replaced(next, "\"SECRET\", \"expires\"", "null, \"expires\""),
		"no longer has a field");
	damaged(base, replaced(next, "\"openai\"", "\"xai\""), "");
}
END_TEST

/* --- Muse, agy ------------------------------------------------------------------------------------ */

START_TEST(without_rules)
{
	const char *base = "{\"token\": \"SECRET\", \"when\": 5}";

	load("muse", HARNESS_LOGIN_file);
	damaged_for_all(base);
	is(base, "{\"token\": \"SECRET-2\", \"when\": 6}", GATE_carry, "");
	damaged(base, "{\"token\": \"SECRET-2\"}", "a field that it had is gone");
	damaged(base, "{\"token\": \"\", \"when\": 6}", "a field that it had is gone");
	damaged(base, "{\"token\": null, \"when\": 6}", "a field that it had is gone");
	damaged(base, "{\"token\": \"SECRET-2\", \"when\": 6, \"x\": 1}", "did not have");
	load("agy", HARNESS_LOGIN_file);
	is("SECRET-1\n", "SECRET-2\n", GATE_carry, "");
	damaged("SECRET-1\n", "", "empty");
	damaged("SECRET-1\n", "{}", "empty");
	damaged("SECRET-1\n", "\x80", "no text");
	is(base, "SECRET", GATE_damaged, "no JSON");
}
END_TEST

/* --- When the host has moved on ------------------------------------------------------------------- */

static void moved(const char *production, const char *last, const char *candidate,
		  enum gate_verdict verdict, const char *reason)
{
	struct gate_result result = judge_all(production, last, candidate);

	ck_assert_msg(result.verdict == verdict && strstr(result.reason, reason), "%s: %s",
		      verdicts[result.verdict], result.reason);
}

START_TEST(both_changed)
{
	char first[4096], second[4096], third[4096];

	load("codex", HARNESS_LOGIN_folder);
	strcpy(first, codex("acc", "user", NOW + 60, "SECRET-1"));
	strcpy(second, codex("acc", "user", NOW + 600, "SECRET-2"));
	strcpy(third, codex("acc", "user", NOW + 900, "SECRET-3"));
	moved(second, first, third, GATE_carry, "");
	moved(third, first, second, GATE_older, "newer");
	moved(second, first, second, GATE_same, "");
	moved(second, first, first, GATE_same, "");
	moved(replaced(third, "SECRET-3", "SECRET-4"), first, third, GATE_older, "newer");
	/* What the Trial did wrong is wrong, whatever the host did. */
	moved(second, first, "{}", GATE_damaged, "empty");
	moved(codex("acc2", "user", NOW + 900, "SECRET-2"), first,
	      codex("acc2", "user", NOW + 1000, "SECRET-2"), GATE_damaged, "another account");
	/* Signed in anew, or out. */
	moved(codex("acc2", "user", NOW + 30, "SECRET-2"), first, third, GATE_older, "anew");
	moved(NULL, first, third, GATE_older, "no login");
	moved("{}", first, third, GATE_older, "no login");
	/* What both last had was forgotten. */
	moved(first, NULL, second, GATE_carry, "");
	moved(second, NULL, first, GATE_older, "");
	moved(NULL, NULL, first, GATE_damaged, "no login to hold it against");
	moved("{}", NULL, first, GATE_damaged, "own is no login");
}
END_TEST

START_TEST(both_changed_without_times)
{
	load("muse", HARNESS_LOGIN_file);
	moved("{\"t\": 2}", "{\"t\": 1}", "{\"t\": 3}", GATE_older, "newer");
	moved("{\"t\": 2}", "{\"t\": 2}", "{\"t\": 3}", GATE_carry, "");
}
END_TEST

/* --- Bounds --------------------------------------------------------------------------------------- */

static void check_bytes(const char *bytes, size_t size, bool good)
{
	const struct blob login = {(const uint8_t *)bytes, size};
	char reason[GATE_REASON_BYTES];

	ck_assert_int_eq(gate_check(&rules, &login, reason), good ? 0 : -EBADMSG);
}

START_TEST(bounds)
{
	size_t size = GATE_BYTES_MAX + 1;
	char *bytes = malloc(size + 64);

	load("muse", HARNESS_LOGIN_file);
	ck_assert_ptr_nonnull(bytes);
	memset(bytes, ' ', size + 64);
	memcpy(bytes, "{\"a\": 1}", 8);
	check_bytes(bytes, GATE_BYTES_MAX, true);
	check_bytes(bytes, GATE_BYTES_MAX + 1, false);
	check_bytes("{\"a\": 1}\0", 9, false);
	load("claude", HARNESS_LOGIN_file);
	/* Where JSON is needed: nesting, keys twice, long keys, NUL in a string, more behind it. */
	memset(bytes, '[', size);
	check_bytes(bytes, GATE_BYTES_MAX, false);
	check_bytes("{\"a\":1,\"a\":1}", 13, false);
	check_bytes("{\"a\":\"\\u0000\"}", 14, false);
	check_bytes("{\"a\":1}{}", 9, false);
	check_bytes("{\"a\":1e999}", 11, false);
	/* An object in an object, and so many lists. */
	for (int lists = 30; lists <= 31; lists++) {
		int length = sprintf(bytes,
				     "{\"claudeAiOauth\":{\"accessToken\":1,\"refreshToken\":");

		memset(bytes + length, '[', (size_t)lists);
		bytes[length + lists] = '1';
		memset(bytes + length + lists + 1, ']', (size_t)lists);
		length += 2 * lists + 1;
		memcpy(bytes + length, "}}", 2);
		check_bytes(bytes, (size_t)length + 2, lists == 30);
	}
	memset(bytes, 'k', size);
	memcpy(bytes, "{\"", 2);
	memcpy(bytes + 2000, "\":1}", 4);
	check_bytes(bytes, 2004, false);
	free(bytes);
}
END_TEST

/* --- When it ends --------------------------------------------------------------------------------- */

static bool may_refresh(const char *login, double seconds)
{
	struct blob bytes = blob(login);
	struct gate_expiry expiry;

	ck_assert_int_eq(gate_expiry(&rules, &bytes, &expiry), 0);
	return gate_may_refresh(&rules, &expiry, NOW_MICROSECONDS, seconds);
}

START_TEST(refreshes)
{
	load("codex", HARNESS_LOGIN_folder);
	/* It does so when less than five minutes are left. */
	ck_assert(!may_refresh(codex("a", "u", NOW + 3600 + 301, "r"), 3600));
	ck_assert(may_refresh(codex("a", "u", NOW + 3600 + 299, "r"), 3600));
	ck_assert(may_refresh(codex("a", "u", NOW - 1, "r"), 0));
	ck_assert(may_refresh("{\"tokens\": {\"access_token\": \"opaque\"}}", 0));
	ck_assert(may_refresh("", 0));
	ck_assert(may_refresh("{}", 0));
	ck_assert(may_refresh(NULL, 0));
	load("claude", HARNESS_LOGIN_file);
	ck_assert(!may_refresh(claude((NOW + 28800) * 1000, "r", ""), 3600));
	ck_assert(may_refresh(claude((NOW + 3600) * 1000, "r", ""), 3600));
	/* Of several, the one that ends first. */
	load("opencode", HARNESS_LOGIN_file);
	ck_assert(may_refresh(text("{\"a\": {\"expires\": %llu}, \"b\": {\"expires\": %llu}}",
				   (NOW + 90000) * 1000, (NOW + 60) * 1000),
			      0));
	load("muse", HARNESS_LOGIN_file);
	ck_assert(may_refresh("{\"a\": 1}", 0));
}
END_TEST

static bool refreshable(const char *login)
{
	struct blob bytes = blob(login);
	bool found;

	ck_assert_int_eq(gate_refreshable(&rules, &bytes, &found), 0);
	return found;
}

START_TEST(what_can_be_refreshed)
{
	load("codex", HARNESS_LOGIN_folder);
	ck_assert(refreshable(codex("a", "u", NOW, "r")));
	ck_assert(!refreshable("{\"OPENAI_API_KEY\": \"SECRET\", \"tokens\": null, "
			       "\"last_refresh\": null}"));
	ck_assert(refreshable("no JSON"));
	ck_assert(refreshable(NULL));
	load("opencode", HARNESS_LOGIN_file);
	ck_assert(!refreshable("{\"a\": {\"type\": \"api\", \"key\": \"SECRET\"}}"));
	ck_assert(refreshable("{\"a\": {\"type\": \"api\", \"key\": \"SECRET\"}, "
			      "\"b\": {\"type\": \"oauth\", \"refresh\": \"r\"}}"));
	load("muse", HARNESS_LOGIN_file);
	ck_assert(refreshable("{\"key\": \"SECRET\"}"));
}
END_TEST

static uint64_t ends_at(const char *time)
{
	const char *login = grok("u", time);
	struct blob bytes = blob(login);
	struct gate_expiry expiry;

	ck_assert_int_eq(gate_expiry(&rules, &bytes, &expiry), 0);
	return expiry.known ? expiry.ends_at / 1000000 : 0;
}

START_TEST(times)
{
	load("grok", HARNESS_LOGIN_home);
	ck_assert_uint_eq(ends_at("2027-01-15T08:00:00Z"), NOW);
	ck_assert_uint_eq(ends_at("2027-01-15T09:00:00.5+01:00"), NOW);
	ck_assert_uint_eq(ends_at("2027-01-15T01:30:00-06:30"), NOW);
	ck_assert_uint_eq(ends_at("2024-02-29T23:59:60Z"), 1709251200);
	ck_assert_uint_eq(ends_at("1970-01-01T00:00:01Z"), 1);
	ck_assert_uint_eq(ends_at("1969-12-31T23:59:59Z"), 0);
	ck_assert_uint_eq(ends_at("2027-01-15T08:00:00"), 0);
	ck_assert_uint_eq(ends_at("2027-13-15T08:00:00Z"), 0);
	ck_assert_uint_eq(ends_at("2027-01-15T08:00:00Z "), 0);
	ck_assert_uint_eq(ends_at(""), 0);
}
END_TEST

static Suite *gate_suite(void)
{
	Suite *suite = suite_create("gate");
	TCase *test_case = tcase_create("gate");

	tcase_add_checked_fixture(test_case, NULL, teardown);
	tcase_add_test(test_case, codex_login);
	tcase_add_test(test_case, codex_fields);
	tcase_add_test(test_case, codex_by_key);
	tcase_add_test(test_case, claude_login);
	tcase_add_test(test_case, grok_login);
	tcase_add_test(test_case, kimi_login);
	tcase_add_test(test_case, opencode_login);
	tcase_add_test(test_case, without_rules);
	tcase_add_test(test_case, both_changed);
	tcase_add_test(test_case, both_changed_without_times);
	tcase_add_test(test_case, bounds);
	tcase_add_test(test_case, refreshes);
	tcase_add_test(test_case, what_can_be_refreshed);
	tcase_add_test(test_case, times);
	suite_add_tcase(suite, test_case);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(gate_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
