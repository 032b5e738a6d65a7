/* SPDX-License-Identifier: MIT */
#include "plan/endpoint.h"

#include <string.h>

#include "base/words.h"
#include "plan/provider.h"

const char *endpoint_value(const struct pair_list *environment, const char *variable)
{
	const char *value = variable ? pair_list_get(environment, variable) : NULL;

	return value && value[0] ? value : NULL;
}

/* Only such a host may be spoken to without TLS. */
static bool is_internal(const struct plan_host *host, const char *rule)
{
	return words_have(&host->config->internal, rule);
}

int endpoint_add_host(struct text_list *hosts, const struct plan_host *host, const char *field,
		      const char *endpoint, bool lenient, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault why = FAULT_INIT;
	_cleanup_free_ char *rule = NULL;
	int r = provider_endpoint_host(endpoint, true, &rule, &why);

	if (r == FAULT && lenient)
		return 0;
	if (r == FAULT)
		return fault_set(ret_fault, ERROR_invalid, "%s: %s", field, why.message);
	if (r == 0 && !lenient && strncmp(endpoint, "http://", 7) == 0 &&
	    !is_internal(host, rule)) {
		fault_set(ret_fault, ERROR_refused,
			  "%s: endpoint: %s is not named as internal, and only such a host may be "
			  "spoken to without TLS",
			  field, rule);
		return fault_hint(ret_fault, "Internal=%s in the section Network of trialsd.conf",
				  rule);
	}
	return r == 0 && !words_have(hosts, rule) ? text_list_add(hosts, rule) : r;
}
