/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "build.h"

#include "harness_words.h"
#include "keeper/allow.h"
#include "runner_plan.h"

#include <string.h>
#include <unistd.h>

/*
 * The network of a Trial: which one, and of allowlist the hosts that it may reach. They are what the
 * launch names, what its Harness's file says that it needs, and what the configuration adds for
 * all; the keeper's proxy enforces them (keeper/proxy.c states the policy). What the configuration
 * calls internal allows nobody anything: it says of a host that is allowed what else it may be.
 */

static int network_check(const struct plan *plan, const struct plan_host *host,
			 const struct launch_request *launch, struct fault *fault)
{
	if (plan->network == NETWORK_host && !host->config->host_network)
		return fault_set(fault, ERROR_refused,
				 "network: host is ruled out here by HostNetwork=no in [Network] "
				 "of trialsd.conf"),
		       fault_hint(fault,
				  "name the hosts it is to reach instead: --host NAME[:PORT]");
	if (launch->hosts.count > 0 && plan->network != NETWORK_allowlist)
		return fault_set(
			       fault, ERROR_invalid,
			       "hosts: only network allowlist has hosts to allow, and this launch "
			       "has network %s%s",
			       network_name((int)plan->network),
			       plan->network == host->config->network
				       ? ", which Default= in [Network] of trialsd.conf is"
				       : ""),
		       fault_hint(fault, "ask for it: --network allowlist");
	return 0;
}

static int rule_check(const char *what, const char *text, struct allow_rule *ret_rule,
		      struct fault *fault)
{
	_cleanup_free_ char *shown = NULL;
	const char *reason = NULL;

	if (allow_rule_parse(text, ret_rule, &reason) == 0)
		return 0;
	shown = display(text);
	return fault_set(fault, ERROR_invalid, "%s: \"%s\" is no host to allow: %s", what, shown,
			 reason);
}

/*
 * What a server of this machine is to be called: its own name, which no program takes for the loopback
 * that the Trial has of its own.
 */
static void name_of_machine(uint16_t port, char ret[ALLOW_TEXT_BYTES])
{
	char name[ALLOW_HOST_BYTES_MAX + 1] = "";
	const char *reason;
	struct allow_rule rule;

	if (gethostname(name, sizeof(name) - 1) < 0 || allow_rule_parse(name, &rule, &reason) < 0 ||
	    rule.suffix || rule.address || allow_is_loopback(&rule))
		snprintf(rule.name, sizeof(rule.name), "NAME");
	allow_format(rule.name, port, ret);
}

#define ENDPOINT_OF_ARM "in the endpoint of another Arm"

/* where: what is to name it otherwise. */
static int warn_of_loopback(struct plan *plan, const char *what, const char *where,
			    const char *text, const struct allow_rule *rule)
{
	char name[ALLOW_TEXT_BYTES];

	if (plan->own_no_proxy || !allow_is_loopback(rule))
		return 0;
	name_of_machine(rule->port, name);
	return plan_warn(
		plan,
		"%s: %s is the Trial's own inside, and programs do not ask the proxy for it "
		"(NO_PROXY); a server of this machine is reached by another name, as %s, %s "
		"and in Internal= in [Network] of trialsd.conf",
		what, text, name, where);
}

static int add_host(struct plan *plan, const char *what, const char *where, const char *text,
		    struct fault *fault)
{
	struct allow_rule rule;
	int r = rule_check(what, text, &rule, fault);

	if (r != 0 || words_have(&plan->hosts, text))
		return r;
	if (plan->hosts.count == HOSTS_MAX)
		return fault_set(fault, ERROR_invalid,
				 "hosts: a Trial may reach at most %d, those of its Harness and of "
				 "trialsd.conf included",
				 HOSTS_MAX);
	r = text_list_add(&plan->hosts, text);
	return r == 0 ? warn_of_loopback(plan, what, where, text, &rule) : r;
}

static int add_hosts(struct plan *plan, const char *what, const char *where,
		     const struct text_list *hosts, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < hosts->count; i++)
		r = add_host(plan, what, where, hosts->items[i], fault);
	return r;
}

int network_settle(struct plan *plan, const struct plan_host *host,
		   const struct launch_request *launch, struct fault *ret_fault)
{
	const struct config *config = host->config;
	int r;

	/* One that was accepted before there was another default than none says nothing. */
	plan->network = launch->has.network ? launch->network : NETWORK_none;
	r = network_check(plan, host, launch, ret_fault);
	if (r != 0 || plan->network != NETWORK_allowlist)
		return r;
	for (size_t i = 0; i < launch->environment.count; i++)
		if (strcasecmp(launch->environment.items[i].name, "NO_PROXY") == 0)
			plan->own_no_proxy = true;
	r = add_hosts(plan, "hosts", "here", &launch->hosts, ret_fault);
	/* Of an Arm the hosts are frozen: what is configured today is none of it. */
	if (r == 0 && !launch->arm)
		r = add_hosts(plan, "Hosts= in [Network] of trialsd.conf", "here", &config->hosts,
			      ret_fault);
	for (size_t i = 0; r == 0 && i < config->internal.count; i++)
		r = text_list_add(&plan->internal, config->internal.items[i]);
	if (r == 0 && config->refusal && !(plan->refusal = strdup(config->refusal)))
		r = -ENOMEM;
	plan->idle_seconds = config->idle_seconds;
	return r;
}

int network_session(struct plan *plan, const struct session_plan *session, struct fault *ret_fault)
{
	if (plan->network != NETWORK_allowlist)
		return 0;
	plan->expects_network = session->session.hosts.count > 0;
	return add_hosts(plan, "Hosts= of the .harness file", "here", &session->session.hosts,
			 ret_fault);
}

int network_runner(struct plan *plan, const struct runner_plan *runner, struct fault *ret_fault)
{
	const struct arm *arm = runner->arm;
	int r = 0;

	if (plan->network != NETWORK_allowlist)
		return 0;
	for (size_t i = 0; r == 0 && i < arm->harnesses.count; i++)
		r = add_hosts(plan, "harnesses of the Arm", ENDPOINT_OF_ARM,
			      &arm->harnesses.items[i].hosts, ret_fault);
	for (size_t i = 0; r == 0 && i < arm->providers.count; i++)
		r = add_hosts(plan, "providers of the Arm", ENDPOINT_OF_ARM,
			      &arm->providers.items[i].hosts, ret_fault);
	plan->expects_network = plan->hosts.count > 0;
	return r;
}

/* An internal host is one host and one port: whatever may be in its place is not meant. */
static int internal_check(const char *text, struct fault *fault)
{
	const char *reason = NULL, *colon = strrchr(text, ':');
	struct allow_rule rule;

	if (allow_rule_parse(text, &rule, &reason) == 0)
		reason = rule.suffix			? "one host is wanted, no *.SUFFIX"
			 : !colon || strchr(colon, ']') ? "its port is wanted: HOST:PORT"
							: NULL;
	if (!reason)
		return 0;
	return fault_set(fault, ERROR_invalid, "[Network] Internal=: \"%s\": %s", text, reason);
}

static int config_loopback(const char *key, const struct text_list *hosts, char **ret_warning)
{
	char name[ALLOW_TEXT_BYTES];
	const char *reason;
	struct allow_rule rule;

	for (size_t i = 0; i < hosts->count; i++) {
		if (allow_rule_parse(hosts->items[i], &rule, &reason) < 0 ||
		    !allow_is_loopback(&rule))
			continue;
		name_of_machine(rule.port, name);
		return asprintf(
			       ret_warning,
			       "[Network] %s=%s is a Trial's own inside, and programs do not ask the "
			       "proxy for it; a server of this machine is reached by another name, as "
			       "%s",
			       key, hosts->items[i], name) < 0
			       ? -ENOMEM
			       : 1;
	}
	return 0;
}

static int arm_loopback(const char *what, const char *name, const struct text_list *hosts,
			struct text_list *warnings)
{
	char other[ALLOW_TEXT_BYTES];
	const char *reason;
	struct allow_rule rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < hosts->count; i++) {
		_cleanup_free_ char *text = NULL;

		if (allow_rule_parse(hosts->items[i], &rule, &reason) < 0 ||
		    !allow_is_loopback(&rule))
			continue;
		name_of_machine(rule.port, other);
		text = text_format(
			"%s %s: %s is the Trial's own inside, and programs do not ask the "
			"proxy for it (NO_PROXY); a server of this machine is reached by "
			"another name, as %s, in its endpoint and in Internal= in "
			"[Network] of trialsd.conf; the Arm is then to be prepared again",
			what, name, hosts->items[i], other);
		r = text ? text_list_add(warnings, text) : -ENOMEM;
	}
	return r;
}

/* As of a launch: whoever says something of NO_PROXY knows of it. */
static bool arm_knows_no_proxy(const struct arm *arm)
{
	for (size_t i = 0; i < arm->environment.count; i++)
		if (strcasecmp(arm->environment.items[i].name, "NO_PROXY") == 0)
			return true;
	for (size_t i = 0; i < arm->variables.count; i++)
		if (strcasecmp(arm->variables.items[i], "NO_PROXY") == 0)
			return true;
	return false;
}

static int arm_providers_fault(const struct plan_host *host, const struct arm *arm,
			       struct text_list *warnings)
{
	bool uses = arm->providers.count > 0;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < arm->harnesses.count; i++)
		uses = uses || arm->harnesses.items[i].provider;
	if (!uses || !host->providers_fault)
		return 0;
	text = text_format("%s; the providers are as they were read before", host->providers_fault);
	return text ? text_list_add(warnings, text) : -ENOMEM;
}

int plan_arm_warnings(const struct plan_host *host, const struct arm *arm,
		      struct text_list *warnings)
{
	int r = arm_providers_fault(host, arm, warnings);

	return r == 0 ? plan_arm_loopback(arm, warnings) : r;
}

int plan_arm_loopback(const struct arm *arm, struct text_list *warnings)
{
	int r = 0;

	if (arm_knows_no_proxy(arm))
		return 0;
	for (size_t i = 0; r == 0 && i < arm->harnesses.count; i++)
		r = arm_loopback("harness", arm->harnesses.items[i].name,
				 &arm->harnesses.items[i].hosts, warnings);
	for (size_t i = 0; r == 0 && i < arm->providers.count; i++)
		r = arm_loopback("provider", arm->providers.items[i].name,
				 &arm->providers.items[i].hosts, warnings);
	return r;
}

int plan_config_warning(const struct config *config, char **ret_warning)
{
	int r = config_loopback("Internal", &config->internal, ret_warning);

	return r == 0 ? config_loopback("Hosts", &config->hosts, ret_warning) : r;
}

int plan_config_check(const struct config *config, struct fault *ret_fault)
{
	struct allow_rule rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < config->hosts.count; i++)
		r = rule_check("[Network] Hosts=", config->hosts.items[i], &rule, ret_fault);
	for (size_t i = 0; r == 0 && i < config->internal.count; i++)
		r = internal_check(config->internal.items[i], ret_fault);
	if (r == 0 && config->network == NETWORK_host && !config->host_network)
		return fault_set(
			ret_fault, ERROR_invalid,
			"[Network] Default=host and HostNetwork=no: one rules the other out");
	return r;
}

int network_environment(struct plan *plan)
{
	static const char *const proxies[] = {"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY",
					      "https_proxy", "http_proxy", "all_proxy"};
	static const struct pair others[] = {
		{"NO_PROXY", "localhost,127.0.0.1,::1"},
		{"no_proxy", "localhost,127.0.0.1,::1"},
		{"NODE_USE_ENV_PROXY", "1"},
	};
	int r = 0;

	if (plan->network != NETWORK_allowlist)
		return 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(proxies); i++)
		r = pair_list_set(&plan->environment, proxies[i], PLAN_PROXY_URL);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(others); i++)
		r = pair_list_set(&plan->environment, others[i].name, others[i].value);
	return r;
}
