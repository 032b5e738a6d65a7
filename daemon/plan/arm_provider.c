/* SPDX-License-Identifier: MIT */
#include "plan/arm_provider.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/reload.h"
#include "base/words.h"
#include "plan/credentials.h"
#include "plan/endpoint.h"
#include "plan/provider.h"
#include "plan/session_login.h"

int arm_provider_unknown(const struct plan_host *host, const char *field, const char *name,
			 struct fault *fault)
{
	_cleanup_free_ char *shown = display(name), *names = NULL;
	char command[RELOAD_COMMAND_BYTES];
	size_t size = 0;
	FILE *file;

	if (!host->providers)
		return fault_set(fault, ERROR_unavailable,
				 "%s: no providers could be read; the daemon's log says why",
				 field);
	file = open_memstream(&names, &size);
	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < host->providers->count; i++)
		fprintf(file, "%s%s", i ? ", " : "", host->providers->providers[i].name);
	if (fclose(file) != 0)
		return -ENOMEM;
	fault_set(fault, ERROR_invalid, "%s: there is no provider %s; there are %s", field, shown,
		  names);
	if (host->providers_fault)
		return fault_hint(fault, "mend providers.conf, then have it read (%s): %s",
				  reload_command(getpid(), command), host->providers_fault);
	return fault_hint(fault,
			  "a section of ~/.config/trialsd/providers.conf adds one, which a reload "
			  "takes up (%s): trialsd.providers(5)",
			  reload_command(getpid(), command));
}

/* --- Keys ----------------------------------------------------------------------------------------- */

static void free_credentials(struct credentials **credentials)
{
	credentials_free(*credentials);
}

int arm_key_look(const struct plan_host *host, const char *credential, char **ret_reason)
{
	_cleanup_(free_credentials) struct credentials *credentials = NULL;
	_cleanup_free_ char *path = session_login_path(host, "~/" CREDENTIALS_FILE);
	_cleanup_fault_ struct fault why = FAULT_INIT;
	const char *value = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = credentials_read(&credentials, path, &why);
	if (r == 0)
		r = credentials_get(credentials, credential, &value, &why);
	if (r == 0 && value)
		return 1;
	if (r == FAULT)
		*ret_reason = strdup(why.message);
	else if (r == 0)
		*ret_reason = credentials_absent(credential);
	return r < 0 ? r : *ret_reason ? 0 : -ENOMEM;
}

/* --- A provider whose SDK is used ----------------------------------------------------------------- */

static int settle_family(struct arm_provider_look *look, const struct plan_host *host,
			 const struct provider *provider)
{
	bool known;

	provider_family(host->providers, provider, look->asked->model, look->family, &known);
	if (known)
		return 0;
	if (asprintf(
		    &look->warning,
		    look->asked->model
			    ? "provider %s: whose model %s is, is not known: its family is called "
			      "%s; [Models] of ~/.config/trialsd/providers.conf can say"
			    : "provider %s%s: has models of several makers, and none was named: its "
			      "family is called %s; {\"name\": …, \"model\": …} names one",
		    look->asked->name, look->asked->model ?: "", look->family) < 0) {
		look->warning = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int look_at(struct arm_provider_look *look, const struct plan_host *host, const char *field,
		   const struct provider *provider, const struct pair_list *environment, bool again,
		   struct fault *fault)
{
	const char *told = endpoint_value(environment, provider->endpoint_variable);
	const char *endpoint = told ?: provider->endpoint;
	_cleanup_free_ char *reason = NULL;
	int r;

	look->there = true;
	look->variable = strdup(provider->variable);
	look->endpoint = endpoint ? strdup(endpoint) : NULL;
	look->endpoint_variable = provider->endpoint_variable ? strdup(provider->endpoint_variable)
							      : NULL;
	if (!look->variable || (endpoint && !look->endpoint) ||
	    (provider->endpoint_variable && !look->endpoint_variable))
		return -ENOMEM;
	r = told ? endpoint_add_host(&look->hosts, host, field, told, again, fault)
		 : text_list_merge(&look->hosts, &provider->hosts);
	if (r == 0)
		r = settle_family(look, host, provider);
	if (r != 0)
		return r;
	r = arm_key_look(host, provider->credential, &reason);
	if (r != 0)
		return r == 1 ? 0 : r;
	if (asprintf(&look->signed_out, "provider %s: %s", look->asked->name, reason) < 0) {
		look->signed_out = NULL;
		return -ENOMEM;
	}
	return 0;
}

int arm_provider_look(struct arm_provider_look *ret_look, const struct plan_host *host,
		      const char *field, const struct arm_provider *asked,
		      const struct pair_list *environment, bool again, struct fault *ret_fault)
{
	const struct provider *provider = provider_find(host->providers, asked->name);

	*ret_look = (struct arm_provider_look){.asked = asked};
	if (!provider)
		return again ? 0 : arm_provider_unknown(host, field, asked->name, ret_fault);
	return look_at(ret_look, host, field, provider, environment, again, ret_fault);
}

void arm_provider_tell(const struct arm_provider_look *look, struct arm_provider *ret_provider)
{
	*ret_provider = (struct arm_provider){
		.name = look->asked->name,
		.model = look->asked->model,
		.variable = look->variable,
		.endpoint = look->endpoint,
		.hosts = look->hosts,
		.family = look->there ? look->family : NULL,
		.endpoint_variable = look->endpoint_variable,
	};
}

void arm_provider_look_done(struct arm_provider_look *look)
{
	free(look->variable);
	free(look->endpoint);
	free(look->endpoint_variable);
	text_list_done(&look->hosts);
	free(look->signed_out);
	free(look->warning);
	*look = (struct arm_provider_look){0};
}

/* --- A Harness that is signed in by a provider's key ---------------------------------------------- */

static const struct provider *provider_of_credential(const struct plan_host *host,
						     const char *credential)
{
	for (size_t i = 0; host->providers && credential && i < host->providers->count; i++)
		if (strcmp(host->providers->providers[i].credential, credential) == 0)
			return &host->providers->providers[i];
	return NULL;
}

static int refuse_way(struct fault *fault, const char *field, const char *harness, const char *why)
{
	return fault_set(fault, ERROR_invalid, "%s: %s cannot be signed in by a provider: %s",
			 field, harness, why);
}

static int set_text(char **text, const char *value)
{
	*text = value ? strdup(value) : NULL;
	return value && !*text ? -ENOMEM : 0;
}

/* Which provider it is, if any. */
static int settle_provider(struct arm_sign_in *result, const struct plan_host *host,
			   const char *field, const struct harness *harness,
			   const struct arm_harness *asked, const struct harness_login *way,
			   const struct pair_list *environment, bool again,
			   const struct provider **ret_provider, struct fault *fault)
{
	const struct provider *own = way ? provider_of_credential(host, way->credential) : NULL;
	bool told = way && (endpoint_value(environment, way->model_variable) ||
			    endpoint_value(environment, way->endpoint_variable));

	*ret_provider = asked->provider ? provider_find(host->providers, asked->provider)
			: told		? own
					: NULL;
	if (!asked->provider)
		return *ret_provider ? set_text(&result->provider, own->name) : 0;
	if (!*ret_provider && !again)
		return arm_provider_unknown(host, field, asked->provider, fault);
	if (!way && !again)
		return refuse_way(fault, field, harness->name,
				  "its .harness file has no [Login env]");
	if (way && *ret_provider && *ret_provider != own && !way->endpoint_variable &&
	    !harness->providers.variable && !again)
		return refuse_way(fault, field, harness->name,
				  "its .harness file does not say how it is told another "
				  "provider's endpoint");
	return set_text(&result->provider, asked->provider);
}

/* Its own provider's hosts are what its file says; any other's, and an endpoint's, go by that. */
static int settle_endpoint(struct arm_sign_in *result, const struct plan_host *host,
			   const char *field, const struct harness_login *way,
			   const struct provider *provider, const struct pair_list *environment,
			   bool again, struct fault *fault)
{
	const char *told = endpoint_value(environment, way->endpoint_variable);
	bool own = provider == provider_of_credential(host, way->credential);
	const char *endpoint = told				? told
			       : !own && way->endpoint_variable ? provider->endpoint
								: NULL;
	int r = set_text(&result->endpoint, endpoint);

	if (r < 0)
		return r;
	if (endpoint)
		return endpoint_add_host(&result->hosts, host, field, endpoint, again, fault);
	return text_list_merge(&result->hosts, own ? &way->hosts : &provider->hosts);
}

int arm_sign_in_find(struct arm_sign_in *ret, const struct plan_host *host, const char *field,
		     const struct harness *harness, const struct arm_harness *asked,
		     const struct pair_list *environment, bool again, struct fault *ret_fault)
{
	const struct harness_login *way = harness_login_of(harness, HARNESS_LOGIN_env);
	const struct provider *provider = NULL;
	const char *model = asked->model;
	int r;

	*ret = (struct arm_sign_in){0};
	r = settle_provider(ret, host, field, harness, asked, way, environment, again, &provider,
			    ret_fault);
	if (r == 0 && provider && way && !model)
		model = endpoint_value(environment, way->model_variable);
	if (r == 0)
		r = set_text(&ret->model, model);
	if (r == 0 && provider && way)
		r = settle_endpoint(ret, host, field, way, provider, environment, again, ret_fault);
	if (r == 0 && provider && way && way->model_variable && !model && !again) {
		fault_set(ret_fault, ERROR_invalid,
			  "%s: with a provider's key %s has to be told a model", field,
			  harness->name);
		r = fault_hint(ret_fault, "{\"name\": \"%s\", \"provider\": \"%s\", \"model\": …}",
			       harness->name, provider->name);
	}
	if (r != 0)
		arm_sign_in_done(ret);
	return r;
}

void arm_sign_in_done(struct arm_sign_in *sign_in)
{
	free(sign_in->provider);
	free(sign_in->model);
	free(sign_in->endpoint);
	text_list_done(&sign_in->hosts);
	*sign_in = (struct arm_sign_in){0};
}
