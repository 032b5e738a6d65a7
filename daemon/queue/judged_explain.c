/* SPDX-License-Identifier: MIT */
#include "queue/grader.h"

/* A launch of nothing but the repository: what keeps that from being planned keeps any Grader away. */
int judged_explain(const struct plan_host *host, const struct launch_request *launch,
		   struct fault *fault)
{
	_cleanup_fault_ struct fault why = FAULT_INIT;
	const char *word = "true";
	const struct launch_request alone = {
		.has = {.command = true,
			.repository = true,
			.role = true,
			.of = true,
			.network = true},
		.command = {.items = &word, .count = 1},
		.repository = launch->repository,
		.role = ROLE_grader,
		.of = launch->of,
		.network = NETWORK_none,
	};
	int r;

	if (!launch_judges(launch) || !launch->repository || host->no_sandbox)
		return FAULT;
	r = plan_check(host, &alone, NULL, NULL, &why);
	if (r != FAULT)
		return r < 0 ? r : FAULT;
	fault_done(fault);
	fault_set(fault, ERROR_refused, "of: what Trial %llu left cannot be judged: %s",
		  (unsigned long long)launch->of, why.message);
	fault->cause = CAUSE_no_result;
	return fault_hint(fault, "%s",
			  why.hint ?: "mend it by hand, or take it for a failure of that Trial");
}
