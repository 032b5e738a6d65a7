/* SPDX-License-Identifier: MIT */
#include "plan/session.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/text_file.h"

/*
 * What the shipped .harness files make of a launch, against tests/data/harness/NAME.session, and
 * what is refused. HARNESS_GOLDEN_WRITE=1 writes the files anew; read the diff.
 */

#define HOME "/home/tester"
#define REPOSITORY "/home/tester/work \"q\""
#define PROMPT "Fix it.\n"

static const char *const shipped[] = {"agy", "claude", "codex", "grok", "kimi", "muse", "opencode"};

static struct harness *harness;
static struct session_request request;
static struct session session;
static struct fault fault;
static const char *const extra[] = {"--verbose", "two words"};

static const char *top(void)
{
	const char *folder = getenv("TOP");

	return folder ? folder : ".";
}

static void load(const char *name)
{
	_cleanup_free_ char *path = NULL;

	ck_assert_int_ge(asprintf(&path, "%s/daemon/harness.d/%s.harness", top(), name), 0);
	harness_free(harness);
	harness = NULL;
	ck_assert_msg(harness_read(&harness, path, &fault) == 0, "%s", fault.message);
	request = (struct session_request){
		.harness = harness,
		.login = &harness->logins[0],
		.has_prompt = true,
		.prompt = PROMPT,
		.prompt_size = strlen(PROMPT),
		.uid = 1001,
		.home = HOME,
		.repository = REPOSITORY,
	};
}

static void setup(void)
{
	harness = NULL;
	session = (struct session){0};
	fault = FAULT_INIT;
}

static void teardown(void)
{
	harness_free(harness);
	session_done(&session);
	fault_done(&fault);
}

static int compose(void)
{
	session_done(&session);
	fault_done(&fault);
	return session_compose(&session, &request, &fault);
}

static void expect_refusal(const char *message)
{
	ck_assert_int_eq(compose(), FAULT);
	ck_assert_msg(strncmp(fault.message, message, strlen(message)) == 0,
		      "%s\n  does not begin with\n%s", fault.message, message);
	ck_assert_int_eq(fault.code, ERROR_invalid);
	ck_assert_ptr_nonnull(fault.hint);
}

static bool has_argument(const char *text)
{
	for (size_t i = 0; i < session.arguments.count; i++)
		if (strcmp(session.arguments.items[i], text) == 0)
			return true;
	return false;
}

/* --- Golden files --------------------------------------------------------------------------------- */

/* As one would type it, but on one line. */
static void put_word(FILE *file, const char *text)
{
	bool plain = text[0] && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789-_./=:#,") == strlen(text);

	fputs(plain ? " " : " '", file);
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", file);
		else
			fputc(*text, file);
	fputs(plain ? "" : "'", file);
}

static void put_session(FILE *file)
{
	for (size_t i = 0; i < session.environment.count; i++)
		fprintf(file, "%s=%s\n", session.environment.items[i].name,
			session.environment.items[i].value);
	fputs(harness->program.executable, file);
	for (size_t i = 0; i < session.arguments.count; i++)
		put_word(file, session.arguments.items[i]);
	fprintf(file, "\nprompt: %s\nhosts:",
		session.has_prompt ? harness_prompt_name(session.prompt) : "none");
	for (size_t i = 0; i < session.hosts.count; i++)
		fprintf(file, " %s", session.hosts.items[i]);
	fprintf(file, "%s\n", session.web_left_on ? "\nits web tools stay on" : "");
	for (size_t i = 0; i < session.file_count; i++) {
		fprintf(file, "%s:%s\n%s", session.files[i].path,
			session.files[i].copy ? " the person's own, then" : "",
			session.files[i].text);
	}
}

static void put_case(FILE *file, const char *title)
{
	const struct harness_login *login = request.login;

	fprintf(file, "\n# %s, login %s%s%s\n", title, harness_login_kind_name(login->kind),
		request.version ? ", version " : "", request.version ? request.version : "");
	ck_assert_msg(compose() == 0, "%s: %s", title, fault.message);
	put_session(file);
}

/* Each login and each [Session], with nothing that need not be given and with everything. */
static void put_all(FILE *file)
{
	const char *model = strcmp(harness->name, "opencode") == 0 ? "anthropic/claude" : "m-1";

	for (size_t i = 0; i < harness->session_count; i++) {
		const struct harness_session *options = &harness->sessions[i];

		request.version = options->from;
		for (size_t j = 0; j < harness->login_count; j++) {
			request.login = &harness->logins[j];
			request.web = true;
			request.extra = (struct text_list){0};
			request.effort = request.resume = NULL;
			request.model = request.login->kind == HARNESS_LOGIN_env ? model : NULL;
			put_case(file, "least, web tools on");
			request.web = false;
			request.extra = (struct text_list){2, (const char **)(void *)extra};
			request.model = model;
			if (options->effort.count + options->model_effort.count > 0)
				request.effort = "high";
			if (options->resume.count > 0)
				request.resume = "01ab-cd";
			put_case(file, "everything, web tools off");
		}
	}
}

START_TEST(the_shipped_ones)
{
	_cleanup_free_ char *path = NULL, *made = NULL, *kept = NULL;
	size_t size = 0;
	FILE *file;

	load(shipped[_i]);
	ck_assert_str_eq(harness->name, shipped[_i]);
	file = open_memstream(&made, &size);
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s: what a session gets\n", shipped[_i]);
	put_all(file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_ge(asprintf(&path, "%s/tests/data/harness/%s.session", top(), shipped[_i]),
			 0);
	if (getenv("HARNESS_GOLDEN_WRITE")) {
		file = fopen(path, "we");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_ge(fputs(made, file), 0);
		ck_assert_int_eq(fclose(file), 0);
		return;
	}
	ck_assert_msg(text_file_read(path, 1u << 20, &kept, NULL) == 0, "cannot read %s", path);
	ck_assert_str_eq(made, kept);
}
END_TEST

/* --- The prompt ----------------------------------------------------------------------------------- */

/* size bytes that are in no page of their own kind: freed by the caller. */
static char *long_prompt(size_t size)
{
	char *text = malloc(size + 1);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', size);
	text[size] = '\0';
	request.prompt = text;
	request.prompt_size = size;
	return text;
}

START_TEST(a_prompt_that_is_an_argument_only)
{
	_cleanup_free_ char *fits = NULL, *too_long = NULL;

	load("kimi");
	fits = long_prompt(128 * 1024 - 1);
	ck_assert_int_eq(compose(), 0);
	ck_assert_int_eq(session.prompt, HARNESS_PROMPT_argument);
	ck_assert(has_argument(fits));
	too_long = long_prompt(128 * 1024);
	expect_refusal("prompt: 131072 bytes; kimi takes it as an argument only, which holds at "
		       "most 131071");
	request.prompt = "a\0b";
	request.prompt_size = 3;
	expect_refusal("prompt: it holds a NUL byte, and kimi takes one as an argument only");
	/* Not at hand because it is long. */
	request.prompt = NULL;
	request.prompt_size = 1u << 20;
	expect_refusal("prompt: 1048576 bytes; kimi takes it as an argument only");
}
END_TEST

START_TEST(a_prompt_in_a_file_or_on_stdin)
{
	load("grok");
	ck_assert_int_eq(compose(), 0);
	ck_assert_int_eq(session.prompt, HARNESS_PROMPT_file);
	ck_assert(has_argument("--prompt-file") && has_argument(SESSION_PROMPT_FILE));
	ck_assert(!has_argument(PROMPT));
	load("claude");
	request.prompt = NULL;
	request.prompt_size = 20u << 20;
	ck_assert_int_eq(compose(), 0);
	ck_assert_int_eq(session.prompt, HARNESS_PROMPT_stdin);
	request.prompt_size++;
	expect_refusal("prompt: 20971521 bytes; claude takes at most 20971520");
}
END_TEST

START_TEST(a_session_without_a_prompt)
{
	load("codex");
	request.has_prompt = false;
	expect_refusal("prompt: there is none; a session of codex needs one");
	request.has_prompt = true;
	request.prompt_size = 0;
	expect_refusal("prompt: it is empty; a session of codex needs one");
	/* Arguments of the person's own may say what to do; then "-" is not among them. */
	request.extra = (struct text_list){2, (const char **)(void *)extra};
	ck_assert_int_eq(compose(), 0);
	ck_assert(!session.has_prompt);
	ck_assert(!has_argument("-"));
	ck_assert_str_eq(session.arguments.items[session.arguments.count - 1], "two words");
}
END_TEST

/* --- What is refused ------------------------------------------------------------------------------ */

START_TEST(what_it_cannot_be_told)
{
	load("kimi");
	request.effort = "high";
	expect_refusal("effort: kimi has no way to be told one");
	load("claude");
	request.effort = "minimal";
	expect_refusal("effort: claude has none called minimal; there are low, medium, high, "
		       "xhigh, max");
	load("opencode");
	request.login = harness_login_of(harness, HARNESS_LOGIN_file);
	request.version = "2.0.1";
	request.effort = "high";
	expect_refusal("effort: opencode is told it with the argument of a model only");
	request.version = NULL;
	ck_assert_int_eq(compose(), 0);
	load("agy");
	request.extra = (struct text_list){1, (const char *[]){"--sandbox"}};
	expect_refusal("arguments: --sandbox is not for a Trial of agy");
	request.extra.items[0] = "--sandbox=strict";
	expect_refusal("arguments: --sandbox is not");
	request.extra.items[0] = "--sandboxed";
	ck_assert_int_eq(compose(), 0);
	load("claude");
	request.uid = 0;
	expect_refusal("harness: claude does not run as root");
}
END_TEST

START_TEST(what_cannot_be_a_name)
{
	static const char *const models[] = {"", "-m", "a\nb", "\xff"};
	static const char *const words[] = {"", "a b", "../x", "-x", "x/y", "a\"b"};

	load("codex");
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		request.model = models[i];
		expect_refusal("model: not the name of a model");
	}
	request.model = "gpt-5.4 (preview)";
	ck_assert_int_eq(compose(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		request.resume = words[i];
		expect_refusal("resume: not the name of a session");
		request.resume = NULL;
		request.effort = words[i];
		if (strcmp(words[i], "-x") != 0)
			expect_refusal("effort: not a word");
		request.effort = NULL;
	}
}
END_TEST

START_TEST(a_key_that_needs_a_model)
{
	load("opencode");
	expect_refusal("model: with the key of the credentials file opencode needs one of the "
		       "form PROVIDER/MODEL");
	request.model = "claude";
	expect_refusal("model: with the key of the credentials file opencode needs one");
	request.model = "an\"thropic/claude";
	expect_refusal("model: with the key of the credentials file opencode needs one");
	request.model = "anthropic/claude";
	ck_assert_int_eq(compose(), 0);
	ck_assert_str_eq(pair_list_get(&session.environment, "OPENCODE_CONFIG_CONTENT"),
			 "{\"provider\":{\"anthropic\":{\"options\":{\"apiKey\":"
			 "\"{env:TRIALS_OPENCODE_API_KEY}\"}}}}");
	load("kimi");
	request.login = harness_login_of(harness, HARNESS_LOGIN_env);
	expect_refusal("model: with the key of the credentials file kimi needs to be told one");
	request.model = "k2";
	ck_assert_int_eq(compose(), 0);
	ck_assert_str_eq(pair_list_get(&session.environment, "KIMI_MODEL_NAME"), "k2");
	ck_assert(!has_argument("-m"));
}
END_TEST

START_TEST(generated_files)
{
	load("claude");
	request.repository = "/r\\\"\n";
	ck_assert_int_eq(compose(), 0);
	ck_assert_int_eq(session.file_count, 1);
	ck_assert_str_eq(session.files[0].path, HOME "/.claude.json");
	ck_assert_str_eq(
		session.files[0].text,
		"{\"hasCompletedOnboarding\": true,\n\"projects\": {\"/r\\\\\\\"\\u000a\": "
		"{\"hasTrustDialogAccepted\": true}}}\n");
	/* Without a repository it works in its home. */
	request.repository = NULL;
	ck_assert_int_eq(compose(), 0);
	ck_assert_ptr_nonnull(strstr(session.files[0].text, "{\"" HOME "\": "));
	request.repository = "/\xff";
	ck_assert_int_eq(compose(), FAULT);
	ck_assert_str_eq(fault.message, "~/.claude.json: it is to hold the path of the "
					"repository, which is not text (UTF-8)");
}
END_TEST

START_TEST(web_tools_nobody_can_switch_off)
{
	load("muse");
	ck_assert_int_eq(compose(), 0);
	ck_assert(session.web_left_on);
	request.web = true;
	ck_assert_int_eq(compose(), 0);
	ck_assert(!session.web_left_on);
	load("opencode");
	request.model = "anthropic/claude";
	ck_assert_int_eq(compose(), 0);
	ck_assert(!session.web_left_on);
}
END_TEST

START_TEST(versions)
{
	load("kimi");
	ck_assert_int_eq(compose(), 0);
	ck_assert(has_argument("--auto"));
	request.version = "2.1.0";
	ck_assert_int_eq(compose(), 0);
	ck_assert(!has_argument("--auto"));
	request.version = "2.0.9";
	ck_assert_int_eq(compose(), 0);
	ck_assert(has_argument("--auto"));
	ck_assert_int_lt(harness_version_compare("1.9", "1.10"), 0);
	ck_assert_int_lt(harness_version_compare("1.10", "1.10.1"), 0);
	ck_assert_int_eq(harness_version_compare("2.0", "2.0-beta"), 0);
	ck_assert_int_eq(harness_version_compare("02.0", "2.00"), 0);
	ck_assert_int_gt(harness_version_compare("18446744073709551617", "2"), 0);
	ck_assert_int_lt(harness_version_compare("", "0"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *cases = tcase_create("session");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_loop_test(cases, the_shipped_ones, 0, ARRAY_SIZE(shipped));
	tcase_add_test(cases, a_prompt_that_is_an_argument_only);
	tcase_add_test(cases, a_prompt_in_a_file_or_on_stdin);
	tcase_add_test(cases, a_session_without_a_prompt);
	tcase_add_test(cases, what_it_cannot_be_told);
	tcase_add_test(cases, what_cannot_be_a_name);
	tcase_add_test(cases, a_key_that_needs_a_model);
	tcase_add_test(cases, generated_files);
	tcase_add_test(cases, web_tools_nobody_can_switch_off);
	tcase_add_test(cases, versions);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
