/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/provider.h"

#define SHIPPED "daemon/providers.conf"

static struct provider_set *set;
static struct fault fault;

static void setup(void)
{
	fault = FAULT_INIT;
}

static void teardown(void)
{
	set = provider_set_free(set);
	fault_done(&fault);
}

static int parse(const char *shipped, const char *own)
{
	char *one = strdup(shipped), *two = own ? strdup(own) : NULL;
	int r;

	teardown();
	setup();
	r = provider_set_parse(&set, one, two, &fault);
	free(one);
	free(two);
	return r;
}

static void load_shipped(void)
{
	ck_assert_msg(provider_set_load(&set, SHIPPED, NULL, &fault) == 0, "%s", fault.message);
}

static const char *family(const char *provider, const char *model, bool known)
{
	static char text[FAMILY_BYTES_MAX + 1];
	bool is_known;

	provider_family(set, provider_find(set, provider), model, text, &is_known);
	ck_assert_int_eq(is_known, known);
	return text;
}

/* --- What came with trialsd ----------------------------------------------------------------------- */

START_TEST(the_shipped_ones_are_whole)
{
	load_shipped();
	ck_assert_uint_gt(set->count, 10);
	for (size_t i = 0; i < set->count; i++) {
		const struct provider *provider = &set->providers[i];

		ck_assert_ptr_nonnull(provider->variable);
		ck_assert_ptr_nonnull(provider->endpoint);
		ck_assert_uint_gt(provider->hosts.count, 0);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(provider->variable, set->providers[k].variable);
	}
}
END_TEST

static bool has_family(const char *name)
{
	for (size_t i = 0; i < set->pattern_count; i++)
		if (strcmp(set->patterns[i].family, name) == 0)
			return true;
	return false;
}

START_TEST(each_family_that_is_named_has_models)
{
	struct harness_set *harnesses = NULL;

	load_shipped();
	for (size_t i = 0; i < set->count; i++)
		if (set->providers[i].family)
			ck_assert_msg(has_family(set->providers[i].family), "%s",
				      set->providers[i].family);
	ck_assert_int_eq(harness_set_load(&harnesses, "daemon/harness.d", NULL, &fault), 0);
	for (size_t i = 0; i < harnesses->count; i++) {
		const char *name = harnesses->entries[i].harness->program.family;

		if (name)
			ck_assert_msg(has_family(name), "%s", name);
	}
	harness_set_free(harnesses);
}
END_TEST

START_TEST(families_of_what_is_behind)
{
	load_shipped();
	ck_assert_str_eq(family("openai", NULL, true), "openai");
	ck_assert_str_eq(family("openai", "whatever", true), "openai");
	ck_assert_str_eq(family("fireworks", "accounts/fireworks/models/kimi-k2-instruct", true),
			 "moonshot");
	ck_assert_str_eq(family("fireworks-ai", "accounts/fireworks/models/KIMI-K2", true),
			 "moonshot");
	ck_assert_str_eq(family("together", "meta-llama/Llama-4-Scout", true), "meta");
	ck_assert_str_eq(family("groq", "openai/gpt-oss-120b", true), "openai");
	ck_assert_str_eq(family("openrouter", "anthropic/claude-opus-4", true), "anthropic");
	ck_assert_str_eq(family("openrouter", "google/gemini-3-pro", true), "google");
	ck_assert_str_eq(family("openrouter", "x-ai/grok-4", true), "xai");
	/* Nobody's, rather than somebody's. */
	ck_assert_str_eq(family("fireworks", "accounts/fireworks/models/new-thing", false),
			 "fireworks");
	ck_assert_str_eq(family("fireworks-ai", NULL, false), "fireworks");
	ck_assert_ptr_null(provider_find(set, "nobody"));
	ck_assert_ptr_null(provider_find(NULL, "openai"));
}
END_TEST

static const char *of_harness(const struct harness *harness, const char *model,
			      const char *provider, bool known)
{
	static char text[FAMILY_BYTES_MAX + 1];
	bool is_known;

	harness_family(set, harness, model, provider, text, &is_known);
	ck_assert_int_eq(is_known, known);
	return text;
}

START_TEST(families_of_harnesses)
{
	struct harness kimi = {.name = (char *)"kimi", .program = {.family = (char *)"moonshot"}};
	struct harness agy = {.name = (char *)"agy", .program = {.family = (char *)"google"}};
	struct harness opencode = {.name = (char *)"opencode"};

	load_shipped();
	ck_assert_str_eq(of_harness(&kimi, NULL, NULL, true), "moonshot");
	ck_assert_str_eq(of_harness(&kimi, "accounts/fireworks/models/qwen3-coder", "fireworks",
				    true),
			 "qwen");
	ck_assert_str_eq(of_harness(&kimi, "accounts/fireworks/models/kimi-k2", "fireworks", true),
			 "moonshot");
	ck_assert_str_eq(of_harness(&kimi, "new-thing", "fireworks", false), "fireworks");
	ck_assert_str_eq(of_harness(&kimi, NULL, "nobody", false), "nobody");
	/* Whose program it is does not make the model its maker's. */
	ck_assert_str_eq(of_harness(&agy, "claude-opus-4", NULL, true), "anthropic");
	ck_assert_str_eq(of_harness(&agy, "new-thing", NULL, true), "google");
	ck_assert_str_eq(of_harness(&opencode, "anthropic/claude-opus-4", NULL, true), "anthropic");
	ck_assert_str_eq(of_harness(&opencode, "openrouter/x-ai/grok-4", NULL, true), "xai");
	ck_assert_str_eq(of_harness(&opencode, "mine/kimi-k2", NULL, true), "moonshot");
	ck_assert_str_eq(of_harness(&opencode, NULL, NULL, false), "opencode");
}
END_TEST

/* --- The person's own ----------------------------------------------------------------------------- */

#define ONE "[one]\nVariable=ONE_KEY\nEndpoint=https://one.example/v1\nFamily=one\nAliases=first\n"

START_TEST(an_own_section_replaces_the_whole_one)
{
	const struct provider *one;

	ck_assert_int_eq(parse(ONE, "[one]\nVariable=OTHER\nHosts=a.example b.example:99\n"
				    "Hosts=c.example\n[two]\nVariable=TWO\nHosts=two.example\n"
				    "Credential=mine.two\n"),
			 0);
	one = provider_find(set, "one");
	ck_assert_str_eq(one->variable, "OTHER");
	ck_assert_ptr_null(one->endpoint);
	ck_assert_ptr_null(one->family);
	ck_assert_uint_eq(one->hosts.count, 3);
	ck_assert_str_eq(one->credential, "providers.one");
	ck_assert_ptr_null(provider_find(set, "first"));
	ck_assert_str_eq(provider_find(set, "two")->credential, "mine.two");
	ck_assert_uint_eq(set->count, 2);
}
END_TEST

START_TEST(own_patterns_come_first)
{
	ck_assert_int_eq(parse("[many]\nVariable=M\nHosts=m.example\n[Models]\nmeta=big* small*\n",
			       "[Models]\nqwen=big-coder*\nxai=big-c*\n"),
			 0);
	ck_assert_str_eq(family("many", "big-coder-2", true), "qwen");
	ck_assert_str_eq(family("many", "big-c", true), "xai");
	ck_assert_str_eq(family("many", "big-one", true), "meta");
}
END_TEST

START_TEST(own_file_that_is_not_there)
{
	ck_assert_int_eq(provider_set_load(&set, SHIPPED, "/nonexistent/providers.conf", &fault),
			 0);
	teardown();
	ck_assert_int_lt(provider_set_load(&set, "/nonexistent/providers.conf", NULL, &fault), 0);
}
END_TEST

/* --- Refusals ------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *message;
} refused[] = {
	{"Variable=X\n", ":1: Variable: stands before the first section"},
	{"[One]\n", ":1: [One]: a section is [Models] or the name of a provider"},
	{"[one]\nHosts=a.example\n", ":1: [one] has no Variable="},
	{"[one]\nVariable=X\n", ":1: [one] has no Endpoint= and no Hosts="},
	{"[one]\nBogus=1\n", ":2: Bogus: there is no such key; a provider has Variable, Endpoint"},
	{"[one]\nVariable=X\nVariable=Y\n", ":3: Variable: given twice"},
	{"[one]\nVariable=1X\n", ":2: Variable: must be the name of a variable"},
	{"[one]\nVariable=HOME\n", ":2: Variable: must be the name of a variable"},
	{"[one]\nEndpoint=ftp://a.example\n", ":2: Endpoint: must be a URL"},
	{"[one]\nEndpoint=https://me:pw@a.example\n", ":2: Endpoint: must be a URL"},
	{"[one]\nEndpoint=https://*.a.example\n", ":2: Endpoint: must be a URL"},
	{"[one]\nEndpoint=https:///v1\n", ":2: Endpoint: must be a URL"},
	{"[one]\nHosts=\n", ":2: Hosts: "},
	{"[one]\nHosts=a..example\n", ":2: Hosts: must be HOST[:PORT]"},
	{"[one]\nCredential=secret\n", ":2: Credential: must be TABLE.KEY"},
	{"[one]\nCredential=a.b.c\n", ":2: Credential: must be TABLE.KEY"},
	{"[one]\nFamily=Big Family\n", ":2: Family: must be the family"},
	{"[one]\nAliases=A\n", ":2: Aliases: must be names"},
	{ONE "[one]\n", ":6: [one] stands twice"},
	{ONE "[two]\nVariable=Y\nHosts=b.example\nAliases=first\n",
	 "Aliases: [one]: first is what [two] is called"},
	{ONE "[two]\nVariable=Y\nHosts=b.example\nAliases=one\n",
	 "Aliases: [two]: one is what [one] is called"},
	{"[Models]\nMeta=x*\n", ":2: Meta: the name of a family must be"},
	{"[Models]\nmeta=*\n", ":2: meta: *: a pattern has"},
	{"[Models]\nmeta=Big*\n", ":2: meta: Big*: a pattern has"},
	{"[Models]\nmeta=\n", ":2: meta: "},
};

START_TEST(what_is_wrong_is_named_with_its_line)
{
	ck_assert_int_eq(parse(refused[_i].text, NULL), FAULT);
	ck_assert_ptr_null(set);
	ck_assert_msg(strstr(fault.message, refused[_i].message), "%s: %s", refused[_i].text,
		      fault.message);
}
END_TEST

/* --- Endpoints ------------------------------------------------------------------------------------ */

static const struct {
	const char *endpoint;
	bool plain;
	const char *host; /* NULL: refused */
} endpoints[] = {
	{"https://api.example/v1", false, "api.example"},
	{"https://API.Example", false, "api.example"},
	{"https://api.example:443/v1?x=1", false, "api.example"},
	{"https://api.example:8443#f", false, "api.example:8443"},
	{"https://10.1.2.3/v1", false, "10.1.2.3:443"},
	{"https://[::1]:8443/", false, "[::1]:8443"},
	{"http://127.0.0.1:8000/v1", true, "127.0.0.1:8000"},
	{"http://localhost/v1", true, "localhost:80"},
	{"http://localhost:443/v1", true, "localhost"},
	{"http://api.example/v1", false, NULL},
	{"HTTPS://api.example", false, NULL},
	{"https://", false, NULL},
	{"https://user@api.example/", false, NULL},
	{"https://api.example\\@evil.example/", false, NULL},
	{"https://api.example/a b", false, NULL},
	{"https://*.example/", false, NULL},
	{"https://api.example:0/", false, NULL},
	{"https://api.example:65536/", false, NULL},
	{"//api.example", false, NULL},
	{"", false, NULL},
};

START_TEST(hosts_of_endpoints)
{
	char *host = NULL;
	int r = provider_endpoint_host(endpoints[_i].endpoint, endpoints[_i].plain, &host, &fault);

	if (endpoints[_i].host) {
		ck_assert_msg(r == 0, "%s", fault.message);
		ck_assert_str_eq(host, endpoints[_i].host);
	} else {
		ck_assert_int_eq(r, FAULT);
		ck_assert_ptr_null(host);
		ck_assert_ptr_nonnull(strstr(fault.message, "endpoint: "));
	}
	free(host);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("provider");
	TCase *tests = tcase_create("provider");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_shipped_ones_are_whole);
	tcase_add_test(tests, each_family_that_is_named_has_models);
	tcase_add_test(tests, families_of_what_is_behind);
	tcase_add_test(tests, families_of_harnesses);
	tcase_add_test(tests, an_own_section_replaces_the_whole_one);
	tcase_add_test(tests, own_patterns_come_first);
	tcase_add_test(tests, own_file_that_is_not_there);
	tcase_add_loop_test(tests, what_is_wrong_is_named_with_its_line, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_loop_test(tests, hosts_of_endpoints, 0,
			    (int)(sizeof(endpoints) / sizeof(endpoints[0])));
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
