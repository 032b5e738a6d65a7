/* SPDX-License-Identifier: MIT */
#include "plan/arm_provider.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "plan/credentials.h"
#include "plan/provider.h"
#include "plan/session_login.h"

static int refuse_unknown(const struct plan_host *host, const char *field, const char *name,
			  struct fault *fault)
{
	_cleanup_free_ char *names = NULL, *shown = display(name);
	size_t size = 0;
	FILE *file = open_memstream(&names, &size);
	int r;

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < host->providers->count; i++)
		fprintf(file, "%s%s", i ? ", " : "", host->providers->providers[i].name);
	if (fclose(file) != 0)
		return -ENOMEM;
	r = fault_set(fault, ERROR_invalid, "%s: there is no provider \"%s\"; there are %s", field,
		      shown, names);
	return r < 0 ? r
		     : fault_hint(fault,
				  "one of your own is a section of "
				  "~/.config/trialsd/providers.conf; see trialsd.providers(5)");
}

/* Without encryption only of a host that trialsd.conf says is internal. */
static int endpoint_host(const struct plan_host *host, const char *endpoint, char **ret_host,
			 struct fault *fault)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ char *plain = NULL;
	int r = provider_endpoint_host(endpoint, false, ret_host, fault);

	if (r != FAULT || provider_endpoint_host(endpoint, true, &plain, &ignored) != 0 ||
	    !words_have(&host->config->internal, plain))
		return r;
	fault_done(fault);
	*fault = FAULT_INIT;
	*ret_host = steal(&plain);
	return 0;
}

static int find_endpoint(struct arm_provider_look *look, const struct plan_host *host,
			 const struct provider *provider, const struct pair_list *environment,
			 struct fault *fault)
{
	const char *own = provider->endpoint_variable
				  ? pair_list_get(environment, provider->endpoint_variable)
				  : NULL;
	const char *endpoint = own && *own ? own : provider->endpoint;
	_cleanup_free_ char *only = NULL;
	int r = 0;

	if (endpoint && !(look->endpoint = strdup(endpoint)))
		return -ENOMEM;
	if (own && *own) {
		r = endpoint_host(host, own, &only, fault);
		return r == 0 ? text_list_add(&look->hosts, only) : r;
	}
	for (size_t i = 0; r == 0 && i < provider->hosts.count; i++)
		r = text_list_add(&look->hosts, provider->hosts.items[i]);
	return r;
}

static int find_family(struct arm_provider_look *look, const struct plan_host *host,
		       const struct provider *provider, const char *model)
{
	char family[FAMILY_BYTES_MAX + 1];
	bool known;

	provider_family(host->providers, provider, model, family, &known);
	look->family = strdup(family);
	if (!look->family)
		return -ENOMEM;
	if (!known &&
	    asprintf(&look->warning,
		     "%s: the family of %s%s is not known; its own name stands for it",
		     provider->name, model ? "the model " : "its models", model ? model : "") < 0) {
		look->warning = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int find_key(struct arm_provider_look *look, const struct plan_host *host,
		    const struct provider *provider)
{
	_cleanup_free_ char *path = session_login_path(host, "~/" CREDENTIALS_FILE);
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct credentials *credentials = NULL;
	const char *value = NULL;
	int r = path ? credentials_read(&credentials, path, &fault) : -ENOMEM;

	if (r == 0)
		r = credentials_get(credentials, provider->credential, &value, &fault);
	if (r == FAULT)
		r = asprintf(&look->signed_out, "%s: %s", provider->name, fault.message);
	else if (r == 0 && !value)
		r = asprintf(&look->signed_out, "%s: ~/" CREDENTIALS_FILE " has no %s",
			     provider->name, provider->credential);
	credentials_free(credentials);
	if (r < 0)
		look->signed_out = NULL;
	return r < 0 ? -ENOMEM : 0;
}

int arm_provider_look(struct arm_provider_look *ret_look, const struct plan_host *host,
		      const char *field, const char *name, const char *model,
		      const struct pair_list *environment, struct fault *ret_fault)
{
	struct arm_provider_look *look = ret_look;
	const struct provider *provider;
	int r;

	*look = (struct arm_provider_look){0};
	if (!host->providers)
		return fault_set(ret_fault, ERROR_unavailable,
				 "%s: no providers could be read; the daemon's log says why",
				 field);
	provider = provider_find(host->providers, name);
	if (!provider)
		return refuse_unknown(host, field, name, ret_fault);
	look->variable = strdup(provider->variable);
	r = look->variable ? find_endpoint(look, host, provider, environment, ret_fault) : -ENOMEM;
	if (r == 0)
		r = find_family(look, host, provider, model);
	if (r == 0)
		r = find_key(look, host, provider);
	if (r != 0)
		arm_provider_look_done(look);
	return r;
}

void arm_provider_look_done(struct arm_provider_look *look)
{
	free(look->variable);
	free(look->endpoint);
	free(look->family);
	free(look->signed_out);
	free(look->warning);
	text_list_done(&look->hosts);
	*look = (struct arm_provider_look){0};
}
