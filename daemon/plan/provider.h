/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"
#include "harness.h"

/*
 * Providers of models, as providers.conf says, and the family that a model is of: who made what is
 * behind it, whatever name it is reached by. trialsd.providers(5) explains each key.
 *
 * A Custom runner that declares a provider has its Trials-only key, in the variable that the
 * provider's SDK reads, and may reach its hosts.
 */
#define PROVIDERS_MAX 128
#define PROVIDER_ALIASES_MAX 16
#define PROVIDER_HOSTS_MAX 32
#define MODEL_PATTERNS_MAX 512

struct provider {
	char *name;
	char *variable;		 /* of its key */
	char *endpoint;		 /* URL, or NULL */
	char *endpoint_variable; /* that its SDK takes an endpoint from, or NULL */
	char *credential;	 /* TABLE.KEY of the credentials file */
	char *family;		 /* NULL: that of the model */
	struct text_list hosts;	 /* HOST or HOST:PORT; at least one */
	struct text_list aliases;
	unsigned int line; /* of its heading */
};

/* A model whose name fits is of that family. */
struct model_pattern {
	char *family;
	char *pattern; /* in small letters; * stands for any bytes */
};

struct provider_set {
	struct provider *providers;
	size_t count;
	struct model_pattern *patterns; /* the first that fits counts */
	size_t pattern_count;
};

/*
 * From the file that came with trialsd and the person's own (need not be there; NULL: none), of
 * which a section replaces the shipped one of its name and the patterns come first. FAULT: "PATH:LINE:
 * KEY: …", one of them is not as it must be; then there is no set.
 */
int provider_set_load(struct provider_set **ret_set, const char *shipped, const char *own,
		      struct fault *ret_fault);
/* From texts, for tests; own may be NULL. Both are changed, and end with a NUL. */
int provider_set_parse(struct provider_set **ret_set, char *shipped, char *own,
		       struct fault *ret_fault);
struct provider_set *provider_set_free(struct provider_set *set);

/* By its name or an alias; NULL: there is none. The set's own. */
const struct provider *provider_find(const struct provider_set *set, const char *name);

bool provider_name_valid(const char *name);

/*
 * The family of a model of a provider; model NULL: not known. Where nobody knows, the provider's own
 * name stands for it and *ret_known is false: it is never silently somebody's.
 */
void provider_family(const struct provider_set *set, const struct provider *provider,
		     const char *model, char ret_family[FAMILY_BYTES_MAX + 1], bool *ret_known);
/*
 * That of a Harness's model: by the provider (by name; NULL: its own), else by a model
 * PROVIDER/MODEL, else by the model's name, else what its file says; else the Harness's own name, and
 * not known.
 */
void harness_family(const struct provider_set *set, const struct harness *harness,
		    const char *model, const char *provider, char ret_family[FAMILY_BYTES_MAX + 1],
		    bool *ret_known);

/*
 * The host of an endpoint, as allow.h reads rules: HOST, or HOST:PORT where that is not 443; to be
 * freed. Refused: what is no https://HOST[:PORT][/PATH], or has a name or password in it. plain: http
 * will do, which only an internal host may speak; its port is 80 unless said.
 */
int provider_endpoint_host(const char *endpoint, bool plain, char **ret_host,
			   struct fault *ret_fault);
