/* SPDX-License-Identifier: MIT */
/*
 * The reader of providers.conf. The two files are read one behind the other into one set, so that a
 * section of the person's own can take the place of one that came with trialsd.
 */
#include "provider.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/ini_text.h"
#include "base/words.h"
#include "keeper/allow.h"

#define MODELS "Models"
#define OF_MODEL "model"
#define ENDPOINT_BYTES_MAX 2048

struct reading {
	struct ini_text ini;
	struct provider_set *set;
	size_t first_pattern;	   /* where the next pattern of this file goes */
	struct text_list names;	   /* of its sections */
	struct provider *provider; /* whose section is read */
	bool models;
	struct text_list given; /* keys of the section */
};

bool provider_name_valid(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return length > 0 && length <= PROVIDER_NAME_BYTES_MAX && name[length] == '\0' &&
	       name[0] != '-' && name[0] != '_';
}

static bool family_valid(const char *name)
{
	return provider_name_valid(name) && strlen(name) <= FAMILY_BYTES_MAX;
}

static void provider_done(struct provider *provider)
{
	free(provider->name);
	free(provider->variable);
	free(provider->endpoint);
	free(provider->endpoint_variable);
	free(provider->credential);
	free(provider->family);
	text_list_done(&provider->hosts);
	text_list_done(&provider->aliases);
	*provider = (struct provider){0};
}

struct provider_set *provider_set_free(struct provider_set *set)
{
	if (!set)
		return NULL;
	for (size_t i = 0; i < set->count; i++)
		provider_done(&set->providers[i]);
	for (size_t i = 0; i < set->pattern_count; i++) {
		free(set->patterns[i].family);
		free(set->patterns[i].pattern);
	}
	free(set->providers);
	free(set->patterns);
	free(set);
	return NULL;
}

/* --- Endpoints ------------------------------------------------------------------------------------ */

static int endpoint_refuse(struct fault *fault, const char *endpoint, const char *what)
{
	_cleanup_free_ char *shown = display(endpoint);

	return fault_set(fault, ERROR_invalid, "endpoint: %s: %s", shown, what);
}

int provider_endpoint_host(const char *endpoint, bool plain, char **ret_host,
			   struct fault *ret_fault)
{
	char text[ALLOW_TEXT_BYTES];
	struct allow_host host;
	const char *rest;
	size_t length;

	if (strlen(endpoint) > ENDPOINT_BYTES_MAX)
		return endpoint_refuse(ret_fault, endpoint, "longer than 2048 bytes");
	if (strncmp(endpoint, "https://", 8) == 0)
		rest = endpoint + 8, plain = false;
	else if (plain && strncmp(endpoint, "http://", 7) == 0)
		rest = endpoint + 7;
	else
		return endpoint_refuse(ret_fault, endpoint,
				       plain ? "it must begin with https:// or http://"
					     : "it must begin with https://");
	for (const char *c = rest; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '\\')
			return endpoint_refuse(ret_fault, endpoint,
					       "it has a byte in it that no URL can have");
	length = strcspn(rest, "/?#");
	if (length == 0 || length >= sizeof(text))
		return endpoint_refuse(ret_fault, endpoint, "it names no host");
	memcpy(text, rest, length);
	text[length] = '\0';
	if (strchr(text, '@'))
		return endpoint_refuse(ret_fault, endpoint, "a name or password may not be in it");
	if (strchr(text, '*'))
		return endpoint_refuse(ret_fault, endpoint, "it names no host");
	if (allow_host_parse(text, length, plain ? 80 : ALLOW_PORT_DEFAULT, &host) < 0)
		return endpoint_refuse(ret_fault, endpoint, "it names no host");
	if (asprintf(ret_host, strchr(host.name, ':') ? "[%s]:%u" : "%s:%u", host.name, host.port) <
	    0) {
		*ret_host = NULL;
		return -ENOMEM;
	}
	/* As rules are spelled. */
	if (host.port == ALLOW_PORT_DEFAULT && !host.address)
		*strrchr(*ret_host, ':') = '\0';
	return 0;
}

/* --- Keys of a provider --------------------------------------------------------------------------- */

#define ALLOWED_VARIABLE "the name of a variable that a program may have"
#define ALLOWED_WORDS "names of 1 to 32 small letters, digits, - and _, separated by blanks"

static int set_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text ? 0 : -ENOMEM;
}

static int set_variable(struct provider *provider, const char *value)
{
	return variable_valid(value, strlen(value)) ? set_text(&provider->variable, value)
						    : -EINVAL;
}

static int set_endpoint_variable(struct provider *provider, const char *value)
{
	return variable_valid(value, strlen(value)) ? set_text(&provider->endpoint_variable, value)
						    : -EINVAL;
}

static int set_endpoint(struct provider *provider, const char *value)
{
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ char *host = NULL;
	int r = provider_endpoint_host(value, true, &host, &ignored);

	if (r != 0)
		return r == FAULT ? -EINVAL : r;
	return set_text(&provider->endpoint, value);
}

static int set_hosts(struct provider *provider, const char *value)
{
	struct text_list *hosts = &provider->hosts;
	size_t before = hosts->count;
	int r = words_split(hosts, value, PROVIDER_HOSTS_MAX);

	if (r == 0 && hosts->count == before)
		return -EINVAL;
	for (size_t i = before; r == 0 && i < hosts->count; i++) {
		struct allow_rule rule;
		const char *reason;

		if (allow_rule_parse(hosts->items[i], &rule, &reason) < 0)
			return -EINVAL;
	}
	return r;
}

static int set_credential(struct provider *provider, const char *value)
{
	const char *dot = strchr(value, '.');

	if (!dot || dot == value || strchr(dot + 1, '.') || strlen(value) > 128 ||
	    !plain_word_valid(value, 128) || !dot[1])
		return -EINVAL;
	return set_text(&provider->credential, value);
}

static int set_family(struct provider *provider, const char *value)
{
	if (strcmp(value, OF_MODEL) == 0)
		return 0;
	return family_valid(value) ? set_text(&provider->family, value) : -EINVAL;
}

static int set_aliases(struct provider *provider, const char *value)
{
	struct text_list *aliases = &provider->aliases;
	size_t before = aliases->count;
	int r = words_split(aliases, value, PROVIDER_ALIASES_MAX);

	if (r == 0 && aliases->count == before)
		return -EINVAL;
	for (size_t i = before; r == 0 && i < aliases->count; i++)
		if (!provider_name_valid(aliases->items[i]))
			return -EINVAL;
	return r;
}

static const struct {
	const char *name;
	int (*set)(struct provider *provider, const char *value);
	const char *allowed;
	bool many; /* may be given more than once */
} keys[] = {
	{"Variable", set_variable, ALLOWED_VARIABLE, false},
	{"Endpoint", set_endpoint, "a URL, https://HOST[:PORT][/PATH]", false},
	{"EndpointVariable", set_endpoint_variable, ALLOWED_VARIABLE, false},
	{"Hosts", set_hosts, "HOST[:PORT] or *.SUFFIX[:PORT], separated by blanks", true},
	{"Credential", set_credential, "TABLE.KEY of the credentials file", false},
	{"Family", set_family, "the family of its models, or model: that of each by its name",
	 false},
	{"Aliases", set_aliases, ALLOWED_WORDS, true},
};

static int refuse_key(struct reading *reading, const char *key)
{
	char text[256];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && used < sizeof(text); i++) {
		int n = snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
				 keys[i].name);

		used += n > 0 ? (size_t)n : 0;
	}
	return ini_refuse(&reading->ini, reading->ini.line, key,
			  "there is no such key; a provider has %s", text);
}

static int take_key(struct reading *reading, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int r;

		if (strcmp(keys[i].name, key) != 0)
			continue;
		if (!keys[i].many && words_have(&reading->given, key))
			return ini_refuse(&reading->ini, reading->ini.line, key, "given twice");
		r = text_list_add(&reading->given, key);
		if (r == 0)
			r = keys[i].set(reading->provider, value);
		if (r == -EINVAL || r == -E2BIG)
			return ini_refuse(&reading->ini, reading->ini.line, key, "%s%s",
					  r == -E2BIG ? "too many; " : "must be ", keys[i].allowed);
		return r;
	}
	return refuse_key(reading, key);
}

/* --- Models --------------------------------------------------------------------------------------- */

static bool pattern_valid(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.:*");

	return length > 0 && length <= 128 && text[length] == '\0' && strcmp(text, "*") != 0;
}

static int add_pattern(struct reading *reading, const char *family, const char *pattern)
{
	struct provider_set *set = reading->set;
	struct model_pattern *patterns, fresh = {strdup(family), strdup(pattern)};

	patterns = realloc(set->patterns, (set->pattern_count + 1) * sizeof(*patterns));
	if (patterns)
		set->patterns = patterns;
	if (!patterns || !fresh.family || !fresh.pattern) {
		free(fresh.family);
		free(fresh.pattern);
		return -ENOMEM;
	}
	memmove(patterns + reading->first_pattern + 1, patterns + reading->first_pattern,
		(set->pattern_count - reading->first_pattern) * sizeof(*patterns));
	patterns[reading->first_pattern++] = fresh;
	set->pattern_count++;
	return 0;
}

static int take_patterns(struct reading *reading, const char *family, const char *value)
{
	_cleanup_(text_list_done) struct text_list words = {0};
	struct ini_text *ini = &reading->ini;
	int r;

	if (!family_valid(family))
		return ini_refuse(ini, ini->line, family,
				  "the name of a family must be " ALLOWED_WORDS);
	r = words_split(&words, value, MODEL_PATTERNS_MAX - reading->set->pattern_count);
	if (r == -E2BIG)
		return ini_refuse(ini, ini->line, family, "too many patterns: at most %d",
				  MODEL_PATTERNS_MAX);
	if (r == -EINVAL || (r == 0 && words.count == 0))
		return ini_refuse(ini, ini->line, family, "must be patterns, separated by blanks");
	for (size_t i = 0; r == 0 && i < words.count; i++) {
		_cleanup_free_ char *shown = display(words.items[i]);

		if (!pattern_valid(words.items[i]))
			return ini_refuse(ini, ini->line, family,
					  "%s: a pattern has small letters, digits, - _ . : and *, "
					  "and not only that",
					  shown);
		r = add_pattern(reading, family, words.items[i]);
	}
	return r;
}

/* --- Sections ------------------------------------------------------------------------------------- */

/* What can be told only at the end of a section. */
static int leave_section(struct reading *reading)
{
	struct provider *provider = reading->provider;
	struct ini_text *ini = &reading->ini;
	_cleanup_fault_ struct fault ignored = FAULT_INIT;
	_cleanup_free_ char *host = NULL;
	int r = 0;

	text_list_done(&reading->given);
	reading->provider = NULL;
	reading->models = false;
	if (!provider)
		return 0;
	if (!provider->variable)
		return ini_refuse(ini, provider->line, NULL,
				  "[%s] has no Variable=", provider->name);
	if (!provider->endpoint && provider->hosts.count == 0)
		return ini_refuse(ini, provider->line, NULL,
				  "[%s] has no Endpoint= and no Hosts=", provider->name);
	if (provider->hosts.count == 0)
		r = provider_endpoint_host(provider->endpoint, true, &host, &ignored);
	if (r == 0 && host)
		r = text_list_add(&provider->hosts, host);
	if (r == 0 && !provider->credential &&
	    asprintf(&provider->credential, "providers.%s", provider->name) < 0) {
		provider->credential = NULL;
		r = -ENOMEM;
	}
	return r == FAULT ? -EINVAL : r;
}

/* A new one, or that of the name, emptied. */
static struct provider *provider_for(struct provider_set *set, const char *name)
{
	struct provider *providers;

	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->providers[i].name, name) == 0) {
			provider_done(&set->providers[i]);
			return &set->providers[i];
		}
	providers = realloc(set->providers, (set->count + 1) * sizeof(*providers));
	if (!providers)
		return NULL;
	set->providers = providers;
	providers[set->count] = (struct provider){0};
	return &providers[set->count++];
}

static int enter_provider(struct reading *reading, const char *name)
{
	struct provider *provider;

	if (reading->set->count >= PROVIDERS_MAX)
		return ini_refuse(&reading->ini, reading->ini.line, NULL,
				  "too many providers: at most %d", PROVIDERS_MAX);
	provider = provider_for(reading->set, name);
	if (!provider)
		return -ENOMEM;
	provider->line = reading->ini.line;
	provider->name = strdup(name);
	if (!provider->name) {
		/* One without a name is not to be found. */
		reading->set->count -= provider ==
				       &reading->set->providers[reading->set->count - 1];
		return -ENOMEM;
	}
	reading->provider = provider;
	return 0;
}

static int take_section(struct ini_text *ini, const char *name)
{
	struct reading *reading = container_of(ini, struct reading, ini);
	_cleanup_free_ char *shown = display(name);
	int r = leave_section(reading);

	if (r != 0)
		return r;
	if (words_have(&reading->names, name))
		return ini_refuse(ini, ini->line, NULL, "[%s] stands twice", shown);
	reading->models = strcmp(name, MODELS) == 0;
	if (!reading->models && !provider_name_valid(name))
		return ini_refuse(ini, ini->line, NULL,
				  "[%s]: a section is [" MODELS "] or the name of a provider, of 1 "
				  "to %d small letters, digits, - and _",
				  shown, PROVIDER_NAME_BYTES_MAX);
	r = text_list_add(&reading->names, name);
	return r == 0 && !reading->models ? enter_provider(reading, name) : r;
}

static int take_value(struct ini_text *ini, const char *key, const char *value)
{
	struct reading *reading = container_of(ini, struct reading, ini);

	if (reading->models)
		return take_patterns(reading, key, value);
	if (!reading->provider)
		return ini_refuse(ini, ini->line, key, "stands before the first section");
	return take_key(reading, key, value);
}

/* --- Both files ----------------------------------------------------------------------------------- */

static const struct provider *find_other(const struct provider_set *set,
					 const struct provider *except, const char *name)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct provider *provider = &set->providers[i];

		if (provider != except &&
		    (strcmp(provider->name, name) == 0 || words_have(&provider->aliases, name)))
			return provider;
	}
	return NULL;
}

const struct provider *provider_find(const struct provider_set *set, const char *name)
{
	return set ? find_other(set, NULL, name) : NULL;
}

/* No two are called the same. */
static int check_names(struct reading *reading)
{
	const struct provider_set *set = reading->set;

	for (size_t i = 0; i < set->count; i++) {
		const struct provider *provider = &set->providers[i], *other;

		for (size_t k = 0; k < provider->aliases.count; k++) {
			other = find_other(set, provider, provider->aliases.items[k]);
			if (other || strcmp(provider->aliases.items[k], provider->name) == 0)
				return ini_refuse(&reading->ini, provider->line, "Aliases",
						  "[%s]: %s is what [%s] is called", provider->name,
						  provider->aliases.items[k],
						  other ? other->name : provider->name);
		}
	}
	return 0;
}

static int read_one(struct provider_set *set, const char *path, char *text, size_t size,
		    struct fault *fault)
{
	_cleanup_free_ char *shown = display(path);
	struct reading reading = {.set = set};
	int r;

	reading.ini = (struct ini_text){.path = shown,
					.manual = "trialsd.providers(5)",
					.fault = fault,
					.take_section = take_section,
					.take_value = take_value};
	r = ini_text_read(&reading.ini, text, size);
	if (r == 0)
		r = leave_section(&reading);
	if (r == 0)
		r = check_names(&reading);
	text_list_done(&reading.given);
	text_list_done(&reading.names);
	return r;
}

static void free_pointer(struct provider_set **set)
{
	provider_set_free(*set);
}

static int read_file(struct provider_set *set, const char *path, bool optional, struct fault *fault)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = ini_file_read(path, &text, &size, fault);

	if (r == -ENOENT && optional)
		return 0;
	return r == 0 ? read_one(set, path, text, size, fault) : r;
}

int provider_set_load(struct provider_set **ret_set, const char *shipped, const char *own,
		      struct fault *ret_fault)
{
	_cleanup_(free_pointer) struct provider_set *set = calloc(1, sizeof(*set));
	int r = set ? read_file(set, shipped, false, ret_fault) : -ENOMEM;

	if (r == 0 && own)
		r = read_file(set, own, true, ret_fault);
	if (r == 0)
		*ret_set = steal(&set);
	return r;
}

int provider_set_parse(struct provider_set **ret_set, char *shipped, char *own,
		       struct fault *ret_fault)
{
	_cleanup_(free_pointer) struct provider_set *set = calloc(1, sizeof(*set));
	int r;

	if (!set)
		return -ENOMEM;
	r = read_one(set, "providers.conf", shipped, strlen(shipped), ret_fault);
	if (r == 0 && own)
		r = read_one(set, "own providers.conf", own, strlen(own), ret_fault);
	if (r == 0)
		*ret_set = steal(&set);
	return r;
}

/* --- Families ------------------------------------------------------------------------------------- */

/* NULL: no pattern fits. */
static const char *family_of_model(const struct provider_set *set, const char *model)
{
	const char *slash = strrchr(model, '/'), *last = slash ? slash + 1 : model;
	char name[257];
	size_t i;

	for (i = 0; last[i] && i < sizeof(name) - 1; i++)
		name[i] = (char)(last[i] >= 'A' && last[i] <= 'Z' ? last[i] - 'A' + 'a' : last[i]);
	name[i] = '\0';
	for (i = 0; set && i < set->pattern_count; i++)
		if (fnmatch(set->patterns[i].pattern, name, FNM_NOESCAPE) == 0)
			return set->patterns[i].family;
	return NULL;
}

static void tell(const char *family, bool known, char ret_family[FAMILY_BYTES_MAX + 1],
		 bool *ret_known)
{
	snprintf(ret_family, FAMILY_BYTES_MAX + 1, "%s", family);
	*ret_known = known;
}

void provider_family(const struct provider_set *set, const struct provider *provider,
		     const char *model, char ret_family[FAMILY_BYTES_MAX + 1], bool *ret_known)
{
	const char *family = provider->family;

	if (!family && model)
		family = family_of_model(set, model);
	tell(family ?: provider->name, family != NULL, ret_family, ret_known);
}

/* Of PROVIDER/MODEL. */
static const struct provider *provider_of_model(const struct provider_set *set, const char *model)
{
	char name[PROVIDER_NAME_BYTES_MAX + 1];
	size_t length = model ? strcspn(model, "/") : 0;

	if (length == 0 || length >= sizeof(name) || model[length] != '/')
		return NULL;
	memcpy(name, model, length);
	name[length] = '\0';
	return provider_find(set, name);
}

void harness_family(const struct provider_set *set, const struct harness *harness,
		    const char *model, const char *provider, char ret_family[FAMILY_BYTES_MAX + 1],
		    bool *ret_known)
{
	const struct provider *found = provider ? provider_find(set, provider)
						: provider_of_model(set, model);
	const char *family;

	if (found) {
		provider_family(set, found, model, ret_family, ret_known);
		return;
	}
	if (provider) {
		tell(provider, false, ret_family, ret_known);
		return;
	}
	family = model ? family_of_model(set, model) : NULL;
	if (!family)
		family = harness->program.family;
	tell(family ?: harness->name, family != NULL, ret_family, ret_known);
}
