/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"
#include "plan/harness.h"

/*
 * Providers of models, and whose models they are: trialsd.providers(5) explains each key. Nothing
 * here is code for one provider; a file of them comes with trialsd, and of a section that the
 * person's own file has too, only that one counts.
 *
 * A family is who made a model, whoever runs it: what a provider of many makers' models runs is told
 * by the model's name alone. What no line knows is never taken for somebody's.
 */
#define PROVIDERS_MAX 128	/* of one file */
#define PROVIDER_ENTRIES_MAX 64 /* of one list */
#define PROVIDER_URL_BYTES_MAX 2048

struct provider {
	char *name;
	char *variable;		 /* that its SDK reads its key from */
	char *endpoint;		 /* URL, or NULL */
	char *endpoint_variable; /* that its SDK reads another URL from, or NULL */
	char *family;		 /* NULL: that of the model */
	char *credential;	 /* TABLE.KEY */
	struct text_list hosts;	 /* as of the keeper's rules; never empty */
	struct text_list aliases;
};

/* A line of [Models]. */
struct provider_models {
	char *family;
	struct text_list patterns; /* of the last part of a model's name; * is any bytes */
};

struct provider_set {
	struct provider *items; /* the person's own first */
	size_t count;
	struct provider_models *models; /* likewise; the first that matches counts */
	size_t model_count;
};

/* own_file (or NULL) need not be there. FAULT: "PATH:LINE: KEY: …". */
int provider_set_load(struct provider_set **ret_set, const char *shipped_file, const char *own_file,
		      struct fault *ret_fault);
struct provider_set *provider_set_free(struct provider_set *set);

/* By its name, else by an alias; NULL when there is none (or no set). */
const struct provider *provider_find(const struct provider_set *set, const char *name_or_alias);
/* Whether some provider or line of [Models] has this family. */
bool provider_has_family(const struct provider_set *set, const char *family);

/* *ret_known false: no line knows the model, and the family is the provider's own name. */
int provider_family(const struct provider_set *set, const struct provider *provider,
		    const char *model, char ret_family[FAMILY_BYTES_MAX + 1], bool *ret_known);
/*
 * Of what a Harness runs with this model and this provider (each may be NULL): the provider decides,
 * or the one that "PROVIDER/MODEL" names; then the model, where a line knows it; then the Harness's
 * own Family=. *ret_known false: none of them, and it is the provider's or the Harness's name.
 */
int harness_family(const struct provider_set *set, const struct harness *harness, const char *model,
		   const char *provider, char ret_family[FAMILY_BYTES_MAX + 1], bool *ret_known);

/*
 * The keeper's rule, HOST[:PORT], for the URL of an endpoint. Only https, but http too for a host and
 * port that internal (the Internal= of trialsd.conf, or NULL) names. Strict: no user, query, fragment
 * or byte that a shell or JSON might take for its own.
 */
int provider_endpoint_host(const char *endpoint, const struct text_list *internal, char **ret_rule,
			   struct fault *ret_fault);

/*
 * The value of a Harness's [Providers] Variable= with these providers' keys in their variables; the
 * Harness has such a section.
 */
int harness_providers_text(const struct harness *harness, const struct provider *const *providers,
			   size_t count, char **ret_text);
