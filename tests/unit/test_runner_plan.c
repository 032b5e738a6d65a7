/* SPDX-License-Identifier: MIT */

/*
 * A whole plan of a Custom runner: two Harnesses (one with a login in a file, one with a provider's key),
 * mapped files, a provider of its own. Which file stands where, which hosts, and that no key is told.
 */
#include "plan_golden.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "plan/arm_store.h"
#include "plan/no_sandbox.h"
#include "plan/provider.h"
#include "plan/runner_plan.h"
#include "plan/sandbox_facts.h"

#define LIST(array)                                                                                \
	{                                                                                          \
		.count = ARRAY_SIZE(array), .items = (array)                                       \
	}
#define KEY_OF_SDK "sk-sdk-0001"
#define KEY_OF_HARNESS "sk-harness-0002"

static struct plan_fixture fixture;
static struct arm_store store;
static int login_fd;

static const char first_file[] = "[Harness]\n"
				 "Product=The First\n"
				 "Executable=first-of-test\n"
				 "Family=none\n"
				 "Installed=~/.local/bin/first-of-test\n"
				 "Release=file\n"
				 "Environment=FIRST_QUIET='it is quiet'\n"
				 "[Login file]\n"
				 "File=~/.first/auth.json\n"
				 "Saves=in-place\n"
				 "SignIn=first login\n"
				 "Hosts=login.first.example\n"
				 "[Home]\n"
				 "ReadOnly=~/.first/RULES.md\n"
				 "[Session]\n"
				 "Arguments=run {web} {extra}\n"
				 "Prompt=stdin\n"
				 "[Web]\n"
				 "Arguments=--no-web 'of any kind'\n"
				 "WrapperArguments=--no-web='any of it'\n"
				 "[Network]\n"
				 "Hosts=first.example\n";

static const char keyed_file[] = "[Harness]\n"
				 "Product=The Keyed\n"
				 "Executable=keyed-of-test\n"
				 "Family=none\n"
				 "Installed=~/.local/bin/keyed-of-test\n"
				 "Release=file\n"
				 "[Login env]\n"
				 "Credential=providers.keyed\n"
				 "Variable=KEYED_KEY\n"
				 "ModelVariable=KEYED_MODEL\n"
				 "EndpointVariable=KEYED_URL\n"
				 "[Home]\n"
				 "Copy=~/.keyed/config\n"
				 "[Session]\n"
				 "Arguments=run {extra}\n"
				 "Prompt=stdin\n"
				 "[Web]\n"
				 "Seed=~/.keyed/config web = false\n";

static const char providers_file[] = "[sdk]\n"
				     "Variable=SDK_KEY\n"
				     "Endpoint=https://api.sdk.example/v1\n"
				     "EndpointVariable=SDK_URL\n"
				     "Family=makers\n"
				     "[other]\n"
				     "Variable=OTHER_KEY\n"
				     "Endpoint=https://api.other.example/v1\n"
				     "Family=others\n";

static void make_program(const char *path)
{
	make_file(path, "#!/bin/sh\n");
	ck_assert_int_eq(chmod(path, 0755), 0);
}

static void make_home(void)
{
	const char *credentials = at(&fixture, "home/.thirdshift/credentials.toml");

	make_program(at(&fixture, "home/.local/bin/first-of-test"));
	make_program(at(&fixture, "home/.local/bin/keyed-of-test"));
	make_file(at(&fixture, "home/.first/auth.json"), "{}\n");
	make_file(at(&fixture, "home/.first/RULES.md"), "be good\n");
	make_file(at(&fixture, "home/.keyed/config"), "mine = 1\n");
	make_file(credentials, "[providers]\nsdk = \"" KEY_OF_SDK "\"\nother = \"" KEY_OF_HARNESS
			       "\"\nunused = \"sk-unused-0003\"\n");
	ck_assert_int_eq(chmod(credentials, 0600), 0);
}

static void load_files(void)
{
	make_file(at(&fixture, "shipped/first.harness"), first_file);
	make_file(at(&fixture, "shipped/keyed.harness"), keyed_file);
	ck_assert_int_eq(harness_set_load(&fixture.host.harnesses, at(&fixture, "shipped"), NULL,
					  &fixture.fault),
			 0);
	ck_assert_uint_eq(fixture.host.harnesses->faulty, 0);
	make_file(at(&fixture, "providers.conf"), providers_file);
	provider_set_free(fixture.host.providers);
	ck_assert_int_eq(provider_set_load(&fixture.host.providers, at(&fixture, "providers.conf"),
					   NULL, &fixture.fault),
			 0);
}

static void setup(void)
{
	int state_fd;

	fixture_init(&fixture);
	free(fixture.host.user);
	fixture.host.user = strdup("@USER@");
	make_home();
	load_files();
	state_fd = open(at(&fixture, "state"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(state_fd, 0);
	store = ARM_STORE_INIT;
	ck_assert_int_eq(arm_store_open(&store, state_fd, at(&fixture, "state"), &fixture.fault),
			 0);
	close(state_fd);
	login_fd = open(at(&fixture, "home/.first/auth.json"), O_PATH | O_CLOEXEC);
	ck_assert_int_ge(login_fd, 0);
}

static void teardown(void)
{
	close(login_fd);
	arm_store_close(&store);
	fixture.host.harnesses = harness_set_free(fixture.host.harnesses);
	fixture_done(&fixture);
}

/* A mapped file with this content, kept. digest: of 65 bytes. */
static struct arm_file keep(const char *name, const char *path, unsigned int mode,
			    const char *content, char *digest)
{
	struct arm_store_file kept = {.executable = (mode & 0111) != 0};
	int fd;

	make_file(at(&fixture, "arm/%s", name), content);
	fd = open(at(&fixture, "arm/%s", name), O_PATH | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(arm_store_take(&store, fd, &kept), 0);
	close(fd);
	memcpy(digest, kept.sha256, sizeof(kept.sha256));
	return (struct arm_file){
		.has = {.mode = true, .size = true},
		.source = at(&fixture, "arm/%s", name),
		.path = path,
		.mode = mode,
		.size = kept.size,
		.sha256 = digest,
	};
}

/* As a look at its programs does. */
static void learn(const struct session_plan *unknown)
{
	struct program_known known = {.stamp = unknown->stamp};

	memset(known.digest, 'a', PROGRAM_DIGEST_BYTES - 1);
	plan_learn_program(&fixture.host, &known);
}

static void make_runner(struct runner_plan *runner, const struct arm *arm)
{
	int r;

	for (size_t i = 0; i <= arm->harnesses.count; i++) {
		r = runner_plan_make(runner, &fixture.host, arm, &fixture.launch, &store,
				     &fixture.fault);
		if (r != -EINPROGRESS)
			break;
		learn(runner_plan_unknown(runner));
		runner_plan_done(runner);
	}
	ck_assert_msg(r == 0, "%d: %s", r, fixture.fault.message ? fixture.fault.message : "");
	/* The queue's copy. */
	for (size_t i = 0; i < runner->session_count; i++)
		if (runner->sessions[i].login->kind == HARNESS_LOGIN_file)
			runner->sessions[i].login_fd = login_fd;
}

static struct plan *make_plan(const struct runner_plan *runner)
{
	struct system_facts facts;
	struct plan *plan = NULL;
	int r;

	fixed_facts(&facts);
	r = plan_build_runner(&plan, &fixture.host, &facts, &fixture.launch, runner,
			      &fixture.fault);
	ck_assert_msg(r == 0, "%d: %s", r, fixture.fault.message ? fixture.fault.message : "");
	system_facts_done(&facts);
	return plan;
}

static const struct pair *find_pair(const struct pair_list *pairs, const char *name)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (!strcmp(pairs->items[i].name, name))
			return &pairs->items[i];
	ck_abort_msg("no %s", name);
}

static void check_told(const struct plan *plan)
{
	static const char *const variables[] = {"SDK_KEY", "KEYED_KEY"};
	static const char *const keys[] = {KEY_OF_SDK, KEY_OF_HARNESS, "sk-unused-0003"};
	struct text_list arguments = {0};
	struct sandbox_facts told;

	ck_assert_int_eq(sandbox_facts_make(&told, plan), 0);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		ck_assert_str_eq(find_pair(&told.view.environment, variables[i])->value,
				 SANDBOX_MASKED);
		ck_assert(words_have(&told.view.masked, variables[i]));
	}
	sandbox_facts_done(&told);
	ck_assert_int_eq(plan_bwrap_arguments(plan, &fixture.host, &arguments), 0);
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		for (size_t i = 0; i < arguments.count; i++)
			ck_assert_ptr_null(strstr(arguments.items[i], keys[k]));
		for (size_t i = 0; i < plan->operation_count; i++)
			if (plan->operations[i].type == PLAN_FILE)
				ck_assert_ptr_null(strstr(plan->operations[i].file->data, keys[k]));
	}
	text_list_done(&arguments);
}

static void compare_bare(struct plan *plan, const char *name)
{
	struct text_list orders = {0};

	ck_assert_int_eq(no_sandbox_apply(plan, &fixture.host, at(&fixture, "state/trials/7"),
					  &orders, &fixture.fault),
			 0);
	plan_golden_compare_bare(&fixture, plan, &orders, name);
	text_list_done(&orders);
}

/* The Arm that these cases have, and the plan of a Trial of it. */
static void golden(const char *name, const char *provider)
{
	static char digests[3][65];
	const char *first_hosts[] = {"first.example", "login.first.example"};
	const char *keyed_hosts[] = {"api.other.example"}, *sdk_hosts[] = {"api.sdk.example"};
	const char *command[] = {"run.sh", "a b", "lib/data"}, *exclude[] = {"*.log", "/out/"};
	struct arm_harness harnesses[] = {
		{.name = "first", .hosts = LIST(first_hosts)},
		{.name = "keyed",
		 .provider = "other",
		 .model = "k-2",
		 .endpoint = "https://api.other.example/v1",
		 .hosts = LIST(keyed_hosts)},
	};
	struct arm_provider providers[] = {{.name = "sdk",
					    .variable = "SDK_KEY",
					    .endpoint = "https://api.sdk.example/v1",
					    .hosts = LIST(sdk_hosts)}};
	struct arm_file files[] = {
		keep("run.sh", "run.sh", 0755, "#!/bin/sh\nfirst\n", digests[0]),
		keep("data", "lib/data", 0644, "data\n", digests[1]),
		keep("tool.toml", "~/.tool/tool.toml", 0600, "mine = true\n", digests[2]),
	};
	struct arm arm = {
		.name = "mixed",
		.command = LIST(command),
		.files = LIST(files),
		.git_exclude = LIST(exclude),
		.harnesses = LIST(harnesses),
		.providers = {.count = provider ? 1 : 0, .items = providers},
	};
	struct runner_plan runner;
	struct plan *plan;

	fixture.launch.command.count = 0;
	fixture.launch.arm = "of-a-test";
	fixture.launch.repository = at(&fixture, "repo");
	fixture.launch.has.network = true;
	fixture.launch.network = fixture.host.no_sandbox ? NETWORK_host : NETWORK_allowlist;
	fixture.launch.allow_no_sandbox = fixture.host.no_sandbox;
	fixture.variables[0] = (struct pair){"MINE", "1"};
	fixture.launch.environment.count = 1;
	make_runner(&runner, &arm);
	plan = make_plan(&runner);
	if (fixture.host.no_sandbox)
		compare_bare(plan, name);
	else
		plan_golden_compare(&fixture, plan, name);
	if (provider)
		check_told(plan);
	plan_free(plan);
	runner_plan_done(&runner);
}

START_TEST(two_harnesses_and_a_provider)
{
	golden("runner", "sdk");
}
END_TEST

START_TEST(two_harnesses_without_a_sandbox)
{
	fixture.host.no_sandbox = true;
	golden("runner-no-sandbox", "sdk");
}
END_TEST

START_TEST(a_key_that_no_provider_is_declared_for_stays_out)
{
	golden("runner-no-provider", NULL);
}
END_TEST

/* What git is told, when the launch tells it something itself. */
static const struct {
	struct pair own[3];
	const char *count, *key, *excludes; /* KEY_1, VALUE_2; NULL: not set */
	const char *warning;
} settings[] = {
	{{{0}}, "2", "core.excludesFile", NULL, NULL}, /* beside safe.directory */
	{{{"GIT_CONFIG_COUNT", "0"}}, "1", NULL, NULL, NULL},
	{{{"GIT_CONFIG_COUNT", ""}}, "1", NULL, NULL, NULL},
	{{{"GIT_CONFIG_COUNT", "2"}, {"GIT_CONFIG_KEY_1", "a.b"}},
	 "3",
	 "a.b",
	 RUNNER_EXCLUDE,
	 NULL},
	{{{"GIT_CONFIG_COUNT", "2"}, {"GIT_CONFIG_KEY_1", "Core.ExcludesFile"}},
	 "3",
	 "Core.ExcludesFile",
	 RUNNER_EXCLUDE,
	 "GIT_CONFIG_KEY_1"},
	{{{"GIT_CONFIG_COUNT", "-1"}}, "-1", NULL, NULL, "no number"},
	{{{"GIT_CONFIG_COUNT", "18446744073709551617"}},
	 "18446744073709551617",
	 NULL,
	 NULL,
	 "no number"},
};

static void expect_value(const struct plan *plan, const char *name, const char *value)
{
	const char *there = pair_list_get(&plan->environment, name);

	ck_assert_msg(!value == !there && (!value || !strcmp(value, there)), "%s is %s, not %s",
		      name, there ? there : "unset", value ? value : "unset");
}

START_TEST(excludes_come_behind_the_launch_s_own)
{
	const char *command[] = {"true"}, *exclude[] = {"*.log"};
	struct arm arm = {.name = "git", .command = LIST(command), .git_exclude = LIST(exclude)};
	struct runner_plan runner;
	struct plan *plan;

	fixture.launch.command.count = 0;
	fixture.launch.repository = at(&fixture, "repo");
	for (size_t i = 0; i < 3 && settings[_i].own[i].name; i++)
		fixture.variables[fixture.launch.environment.count++] = settings[_i].own[i];
	make_runner(&runner, &arm);
	plan = make_plan(&runner);
	expect_value(plan, "GIT_CONFIG_COUNT", settings[_i].count);
	expect_value(plan, "GIT_CONFIG_KEY_1", settings[_i].key);
	expect_value(plan, "GIT_CONFIG_VALUE_2", settings[_i].excludes);
	ck_assert_uint_eq(plan->warnings.count, settings[_i].warning ? 1 : 0);
	if (settings[_i].warning)
		ck_assert_ptr_nonnull(strstr(plan->warnings.items[0], settings[_i].warning));
	plan_free(plan);
	runner_plan_done(&runner);
}
END_TEST

/* All at once: a login, a key of a Harness, one of a provider. */
START_TEST(all_that_is_missing)
{
	struct arm_harness harnesses[] = {{.name = "first"},
					  {.name = "keyed", .provider = "other", .model = "k-2"}};
	struct arm_provider providers[] = {{.name = "sdk", .variable = "SDK_KEY"}};
	struct arm arm = {.name = "mixed",
			  .harnesses = LIST(harnesses),
			  .providers = LIST(providers)};
	struct runner_plan runner;

	ck_assert_int_eq(unlink(at(&fixture, "home/.first/auth.json")), 0);
	ck_assert_int_eq(unlink(at(&fixture, "home/.thirdshift/credentials.toml")), 0);
	ck_assert_int_eq(runner_plan_make(&runner, &fixture.host, &arm, &fixture.launch, &store,
					  &fixture.fault),
			 FAULT);
	ck_assert_str_eq(cause_name((int)fixture.fault.cause), "session_unavailable");
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "first: "));
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "keyed: "));
	ck_assert_ptr_nonnull(strstr(fixture.fault.message, "sdk: "));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("runner_plan");
	TCase *plans = tcase_create("plans");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(plans, setup, teardown);
	tcase_add_test(plans, two_harnesses_and_a_provider);
	tcase_add_test(plans, two_harnesses_without_a_sandbox);
	tcase_add_test(plans, a_key_that_no_provider_is_declared_for_stays_out);
	tcase_add_loop_test(plans, excludes_come_behind_the_launch_s_own, 0, ARRAY_SIZE(settings));
	tcase_add_test(plans, all_that_is_missing);
	suite_add_tcase(suite, plans);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
