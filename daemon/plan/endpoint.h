/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"
#include "plan/plan.h"

/*
 * Endpoints that are told by a variable: the URL that a Harness or an SDK goes to, in the place of the
 * hosts that are known of it. Found in the same way when an Arm is prepared, looked at again and launched.
 */

/* What a variable is set to, borrowed; NULL when it is not, or to nothing, or when there is no variable. */
const char *endpoint_value(const struct pair_list *environment, const char *variable);

/*
 * Adds the host of the URL endpoint, as HOST or HOST:PORT. field names it in a fault: it is no URL, or it
 * is to be spoken to without TLS and its host is not one of those that the configuration calls internal.
 * lenient: neither is a fault; what is no URL has no host.
 */
int endpoint_add_host(struct text_list *hosts, const struct plan_host *host, const char *field,
		      const char *endpoint, bool lenient, struct fault *ret_fault);
