/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/secret_name.h"
#include "queue/frozen.h"
#include "queue/key_body.h"

/* What is masked, in what two Trials differ, what of another Trial decides how one is planned. */

static const struct {
	const char *name;
	const char *value;
	bool secret;
} variables[] = {
	{"PATH", "/usr/bin:/bin", false},
	{"HOME", "/home/ada", false},
	{"PWD", "/home/ada", false},
	{"GIT_AUTHOR_NAME", "Ada", false},
	{"AUTHOR", "Ada", false},
	{"KEYBOARD", "de", false},
	{"MONKEY", "yes", false},
	{"COMPASS", "north", false},
	{"HTTPS_PROXY", "http://127.0.0.1:3128", false},
	{"MAIL", "ada@example.org", false},
	{"URL", "https://example.org/a@b", false},
	{"GIT_CONFIG_KEY_0", "safe.directory", false},
	{"GIT_CONFIG_VALUE_0", "/home/ada/work", false},
	{"EMPTY", "", false},
	{"OPENAI_API_KEY", "x", true},
	{"APIKEY", "x", true},
	{"MYAPIKEYS", "x", true},
	{"github_token", "x", true},
	{"GH_PAT", "x", true},
	{"AUTH", "x", true},
	{"HTTP_AUTH", "x", true},
	{"DB_PASSWORD", "x", true},
	{"DB_PASS", "x", true},
	{"PGPASSWORD", "x", true},
	{"CLIENT_SECRET", "x", true},
	{"GOOGLE_APPLICATION_CREDENTIALS", "x", true},
	{"KEY", "x", true},
	{"KEY2", "x", false}, /* a guess: no word, and a value like any other */
	{"PLAIN", "sk-abcdef", true},
	{"PLAIN", "ghp_abcdef", true},
	{"PLAIN", "-----BEGIN PRIVATE", true},
	{"PLAIN", "postgres://ada:pw@db/x", true},
	{"PLAIN", "a,https://token@example.org", true},
	{"GIT_CONFIG_VALUE_1", "Authorization: Basic x", true},
	{"GIT_CONFIG_VALUE_1", "a Bearer x", true},
};

START_TEST(secrets)
{
	ck_assert_msg(secret_variable(variables[_i].name, variables[_i].value) ==
			      variables[_i].secret,
		      "%s=%s", variables[_i].name, variables[_i].value);
}
END_TEST

static const struct {
	const char *before, *word;
	bool secret;
} words[] = {
	{NULL, "true", false},
	{NULL, "sk-abcdef", true},
	{NULL, "--key=x", true},
	{NULL, "--api-key=x", true},
	{NULL, "TOKEN=x", true},
	{NULL, "--keyboard=x", false},
	{NULL, "--anything=sk-abcdef", true},
	{NULL, "https://ada:pw@example.org", true},
	{"--key", "x", true},
	{"--token", "x", true},
	{"--token", "--verbose", false},
	{"--key=x", "y", false},
	{"-m", "x", false},
	{"token", "x", false},
	{"-c", "export TOKEN; a=b", false},
	{"-c", "curl -H 'Authorization: Bearer x'", true},
};

START_TEST(secrets_of_words)
{
	ck_assert_msg(secret_word(words[_i].before, words[_i].word) == words[_i].secret, "%s %s",
		      words[_i].before ? words[_i].before : "", words[_i].word);
}
END_TEST

#define LIST_OF(array)                                                                             \
	{                                                                                          \
		.count = ARRAY_SIZE(array), .items = (array)                                       \
	}

static struct sandbox_mount mounts[] = {
	{.has = {.kind = true}, .destination = "/proc", .kind = MOUNT_KIND_proc},
	{.has = {.kind = true, .mode = true},
	 .destination = "/work",
	 .kind = MOUNT_KIND_bind,
	 .source = "/srv/work",
	 .mode = MODE_rw},
	{.has = {.kind = true, .size = true},
	 .destination = "/tmp",
	 .kind = MOUNT_KIND_tmpfs,
	 .size = 4096},
	{.has = {.kind = true}, .destination = "/etc/x", .kind = MOUNT_KIND_file, .sha256 = "aa"},
};
static struct pair environment[] = {{"HOME", "/home/ada"}, {"WORD", "one"}};
static const char *hosts[] = {"a.example", "b.example"};
static const char *internal[] = {"c.example:80"};
static const char *command[] = {"sh", "-c", "true"};
static const char *programs[] = {"/usr/bin/node"};
static struct trial_toolchain toolchains[] = {{.name = "node", .programs = LIST_OF(programs)}};

static struct trial_facts whole_facts(void)
{
	return (struct trial_facts){
		.has = {.network = true, .hosts = true, .sandbox = true},
		.network = NETWORK_allowlist,
		.hosts = LIST_OF(hosts),
		.toolchains = LIST_OF(toolchains),
		.harness = {.executable = "/opt/x", .version = "1.0", .sha256 = "0123456789abcdef"},
		.sandbox = {.has = {.limits = true, .grace_seconds = true, .idle_seconds = true},
			    .mounts = LIST_OF(mounts),
			    .command = LIST_OF(command),
			    .cwd = "/work",
			    .environment = LIST_OF(environment),
			    .internal = LIST_OF(internal),
			    .limits = {.has = {.tasks = true}, .tasks = 300},
			    .grace_seconds = 3,
			    .idle_seconds = 60},
	};
}

static void expect(const struct trial_facts *now, const char *wanted)
{
	struct trial_facts old = whole_facts();
	_cleanup_free_ char *text = frozen_difference(&old, now);

	if (!wanted)
		ck_assert_ptr_null(text);
	else
		ck_assert_str_eq(text, wanted);
}

START_TEST(differences)
{
	struct sandbox_mount other_mounts[ARRAY_SIZE(mounts) + 1];
	struct pair other_environment[] = {{"HOME", "/home/ada"}, {"WORD", "two\n"}};
	struct pair more[] = {{"HOME", "/home/ada"}, {"WORD", "one"}, {"MORE", ""}};
	struct trial_facts now = whole_facts();

	expect(&now, NULL);
	now.harness.sha256 = "fedcba9876543210";
	now.harness.version = NULL;
	expect(&now, "/opt/x is not what ran: it is of no version (fedcba987654), and was 1.0 "
		     "(0123456789ab)");
	now.harness.executable = "/opt/y";
	expect(&now, "its program is /opt/y, and was /opt/x");
	now = whole_facts();
	now.network = NETWORK_none;
	expect(&now, "network is none, and was allowlist");
	now = whole_facts();
	now.hosts.count = 1;
	expect(&now, "a host that it may reach is none, and was b.example");
	now = whole_facts();
	now.sandbox.internal.count = 0;
	expect(&now, "an internal host is none, and was c.example:80");
	now = whole_facts();
	now.sandbox.limits.tasks = 400;
	expect(&now, "limits.tasks is 400, and was 300");
	now = whole_facts();
	now.sandbox.environment.items = other_environment;
	expect(&now, "WORD is two\\n, and was one");
	now.sandbox.environment.count = 1;
	expect(&now, "the variable WORD was set, and is not");
	now.sandbox.environment = (struct pair_list)LIST_OF(more);
	expect(&now, "the variable MORE is set, and was not");
	now = whole_facts();
	memcpy(other_mounts, mounts, sizeof(mounts));
	now.sandbox.mounts.items = other_mounts;
	other_mounts[1].source = "/srv/other";
	expect(&now, "/work is /srv/other, and was /srv/work");
	other_mounts[1] = mounts[1];
	other_mounts[1].mode = MODE_ro;
	expect(&now, "/work is ro, and was rw");
	other_mounts[1] = mounts[1];
	other_mounts[2].size = 8192;
	expect(&now, "/tmp has 8192 bytes, and had 4096");
	other_mounts[2] = mounts[2];
	other_mounts[3].sha256 = "bb";
	expect(&now, "the content of /etc/x has changed");
	now.sandbox.mounts.count = 3;
	expect(&now, "/etc/x was there (file), and is not");
	other_mounts[3] = mounts[3];
	other_mounts[4] = mounts[0];
	other_mounts[4].destination = "/sys";
	now.sandbox.mounts.count = 5;
	expect(&now, "/sys is there (proc), and was not");
	now = whole_facts();
	now.sandbox.cwd = "/tmp";
	expect(&now, "its working directory is /tmp, and was /work");
	now = whole_facts();
	now.sandbox.command.count = 2;
	expect(&now, "a word of its command is none, and was true");
}
END_TEST

START_TEST(toolchain_difference)
{
	const char *others[] = {"/opt/node"};
	struct trial_toolchain other = {.name = "node", .programs = LIST_OF(others)};
	struct trial_facts now = whole_facts();

	now.toolchains.items = &other;
	expect(&now, "of toolchain node a program is /opt/node, and was /usr/bin/node");
}
END_TEST

START_TEST(frozen_configuration)
{
	const char *configured[] = {"z.example"};
	struct config config = {.limits = {.has = {.memory = true}, .memory = 1 << 30},
				.hosts = LIST_OF(configured),
				.grace_seconds = 10,
				.idle_seconds = 1800,
				.max_running = 7};
	struct plan_host host = {.config = &config, .home = "/home/ada"};
	struct trial_facts old = whole_facts(), none = {0}, accepted, copied = {0};
	struct frozen_host storage;
	const struct plan_host *frozen;

	ck_assert_ptr_eq(frozen_host(&storage, &host, &none), &host);
	frozen_take(&accepted, 5, &old, "digest");
	frozen_copy(&copied, &accepted);
	ck_assert_mem_eq(&copied, &accepted, sizeof(copied));
	ck_assert_uint_eq(copied.rerun_of, 5);
	ck_assert_str_eq(copied.rerun_digest, "digest");
	ck_assert_str_eq(copied.rerun_sha256, old.harness.sha256);
	frozen = frozen_host(&storage, &host, &copied);
	ck_assert_ptr_ne(frozen, &host);
	ck_assert(!frozen->config->limits.has.memory && frozen->config->limits.tasks == 300);
	ck_assert_ptr_eq(frozen->config->hosts.items, hosts);
	ck_assert(frozen->config->grace_seconds == 3 && frozen->config->idle_seconds == 60);
	/* What is no part of a Trial is as it is configured. */
	ck_assert_uint_eq(frozen->config->max_running, 7);
	ck_assert_str_eq(frozen->home, "/home/ada");
	/* None at all is a thing to be kept, too; what is not known is not. */
	old.hosts.count = 0;
	frozen_take(&accepted, 5, &old, "digest");
	ck_assert_uint_eq(frozen_host(&storage, &host, &accepted)->config->hosts.count, 0);
	frozen_take(&accepted, 5, &none, NULL);
	frozen = frozen_host(&storage, &host, &accepted);
	ck_assert_ptr_eq(frozen->config->hosts.items, configured);
	ck_assert(frozen->config->limits.has.memory);
}
END_TEST

/* A key of before it was stored that there is a prompt stands for the same launch. */
START_TEST(key_of_before)
{
	struct launch_request launch = {.command = LIST_OF(command)};
	uint8_t prompt[SHA256_DIGEST_SIZE] = {1};
	struct blob bodies[2];

	for (int i = 0; i < 2; i++) {
		msgpack_sbuffer spec;

		launch.has.prompt_descriptor = launch.prompt_descriptor = i == 1;
		ck_assert_int_eq(view_encode(&spec, &launch_request_type, &launch), 0);
		ck_assert_int_eq(key_body(&(struct blob){.data = (const uint8_t *)spec.data,
							 .size = spec.size},
					  prompt, &bodies[i]),
				 0);
		msgpack_sbuffer_destroy(&spec);
	}
	ck_assert_uint_eq(bodies[0].size, bodies[1].size);
	ck_assert_mem_eq(bodies[0].data, bodies[1].data, bodies[0].size);
	free((void *)bodies[0].data);
	free((void *)bodies[1].data);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rerun");
	TCase *tests = tcase_create("rerun");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tests, secrets, 0, (int)ARRAY_SIZE(variables));
	tcase_add_loop_test(tests, secrets_of_words, 0, (int)ARRAY_SIZE(words));
	tcase_add_test(tests, differences);
	tcase_add_test(tests, toolchain_difference);
	tcase_add_test(tests, frozen_configuration);
	tcase_add_test(tests, key_of_before);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
