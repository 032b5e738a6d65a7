/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/loop.h"
#include "capture.h"
#include "channel.h"
#include "proxy.h"

/*
 * The network of one Trial, when that is allowlist: its rules, the proxy on the listener that came
 * out of the sandbox, and what is told of each connection: a line in the stream `network` while it
 * happens, and the record's `connections` at the end.
 */
struct trial_network {
	struct proxy proxy;
	bool runs;
	struct allow_rule *rules;
	size_t rule_count;
	struct allow_rule *internals;
	size_t internal_count;
	struct proxy_policy policy;
	struct capture *log;		      /* borrowed; its files are the stream's */
	struct trial_connection *connections; /* of the record */
	char (*addresses)[INET6_ADDRSTRLEN];
	const char **address_texts;
};

/* Reads the rules of the plan, which is borrowed. FAULT: void sandbox_unavailable. */
int network_init(struct trial_network *network, const struct keeper_plan *plan, struct capture *log,
		 struct fault *ret_fault);
/* Takes the listener over. FAULT as before. */
int network_start(struct trial_network *network, struct loop *loop, int *listener,
		  struct fault *ret_fault);
/* Bytes through the proxy so far. */
uint64_t network_bytes(const struct trial_network *network);
/* No connection is left; the record then borrows what is here. */
void network_finish(struct trial_network *network, const struct keeper_plan *plan,
		    struct outcome_record *record);
/* Sums a record's connections, as if there were too many to tell one by one. */
void network_sum(struct outcome_record *record);
void network_done(struct trial_network *network);

/* The line of an event, with its end of line: JSON, in ASCII whatever the names hold. */
#define NETWORK_LINE_BYTES 4096
size_t network_line(const struct egress_event *event, char line[NETWORK_LINE_BYTES]);
