/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/allow.h"
#include "plan/provider.h"
#include "stage.h"

/*
 * A providers.conf, as the person's own over a shipped one: the first byte says whether it is alone.
 * What is refused is told in one line that can be shown. What is accepted has all that an Arm relies
 * on: a variable, a key's place, hosts that are rules; and no two are called the same.
 */

#define SHIPPED                                                                                    \
	"[one]\nVariable=ONE\nEndpoint=https://one.example/v1\nFamily=one\nAliases=first\n"        \
	"[many]\nVariable=MANY\nHosts=many.example *.many.example:8443\n[Models]\none=one-*\n"

static void check_provider(const struct provider_set *set, const struct provider *provider)
{
	char family[FAMILY_BYTES_MAX + 1];
	struct allow_rule rule;
	const char *reason;
	bool known;

	must(provider_name_valid(provider->name) && provider->variable && provider->credential);
	must(provider_find(set, provider->name) == provider);
	must(provider->hosts.count > 0);
	for (size_t i = 0; i < provider->hosts.count; i++)
		must(allow_rule_parse(provider->hosts.items[i], &rule, &reason) == 0);
	for (size_t i = 0; i < provider->aliases.count; i++)
		must(provider_find(set, provider->aliases.items[i]) == provider);
	provider_family(set, provider, "a/One-2", family, &known);
	must(provider_name_valid(family));
	provider_family(set, provider, NULL, family, &known);
	must(known ? provider->family != NULL : strcmp(family, provider->name) == 0);
}

static void check_endpoint(const char *text)
{
	struct fault fault = FAULT_INIT;
	struct allow_rule rule;
	const char *reason;
	char *host = NULL;
	int r = provider_endpoint_host(text, true, &host, &fault);

	must(r == 0 || r == FAULT);
	if (r == 0) {
		must(allow_rule_parse(host, &rule, &reason) == 0);
		must(!rule.suffix);
	} else {
		must(!host && stage_is_text(fault.message));
	}
	free(host);
	fault_done(&fault);
}

int fuzz_providers(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), *shipped = strdup(SHIPPED);
	struct provider_set *set = NULL;
	struct fault fault = FAULT_INIT;
	bool alone;
	int r;

	must(text && shipped);
	if (size > 0)
		memcpy(text, data + 1, size - 1);
	check_endpoint(text);
	alone = size > 0 && data[0] % 2;
	r = alone ? provider_set_parse(&set, text, NULL, &fault)
		  : provider_set_parse(&set, shipped, text, &fault);
	must(r == 0 || r == FAULT);
	if (r == 0) {
		for (size_t i = 0; i < set->count; i++)
			check_provider(set, &set->providers[i]);
	} else {
		must(!set && stage_is_text(fault.message));
	}
	provider_set_free(set);
	fault_done(&fault);
	free(text);
	free(shipped);
	return 0;
}
