/* SPDX-License-Identifier: MIT */
#include "network.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* The line. */

struct line {
	char *bytes;
	size_t size;
	size_t room;
};

static void put(struct line *line, const char *format, ...) _printf_(2, 3);

static void put(struct line *line, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line->bytes + line->size, line->room - line->size, format, arguments);
	va_end(arguments);
	if (n > 0)
		line->size += (size_t)n < line->room - line->size ? (size_t)n
								  : line->room - line->size - 1;
}

/* Names come from a Trial: all that is not printable ASCII is escaped, byte by byte. */
static void put_text(struct line *line, const char *text, size_t most)
{
	put(line, "\"");
	for (size_t i = 0; text[i] && i < most; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			put(line, "\\u%04x", byte);
		else
			put(line, "%c", byte);
	}
	put(line, "\"");
}

static void put_address(struct line *line, const struct sockaddr_storage *address)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (address->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
			  text, sizeof(text));
	else if (address->ss_family == AF_INET6)
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text,
			  sizeof(text));
	put(line, "\"%s\"", text);
}

/* Of the longest name, escaped, and this much of the rest a line has room. */
#define DETAIL_BYTES_MAX 200
#define ADDRESSES_MAX 8

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written by way of the structure. */
size_t network_line(const struct egress_event *event, char line[NETWORK_LINE_BYTES])
{
	struct line out = {.bytes = line, .room = NETWORK_LINE_BYTES};
	size_t count = event->address_count < ADDRESSES_MAX ? event->address_count : ADDRESSES_MAX;

	put(&out, "{\"event\":\"%s\",\"at\":%" PRId64, event->opened ? "opened" : "ended",
	    event->at);
	if (event->tunnel)
		put(&out, ",\"tunnel\":%" PRIu64, event->tunnel);
	put(&out, ",\"host\":");
	put_text(&out, event->host ? event->host : "", HOST_BYTES_MAX);
	put(&out, ",\"port\":%u,\"verdict\":\"%s\"", event->port,
	    verdict_name((int)event->verdict));
	if (event->detail) {
		put(&out, ",\"detail\":");
		put_text(&out, event->detail, DETAIL_BYTES_MAX);
	}
	if (count > 0) {
		put(&out, ",\"addresses\":[");
		for (size_t i = 0; i < count; i++) {
			put(&out, "%s", i ? "," : "");
			put_address(&out, &event->addresses[i]);
		}
		put(&out, "]");
	}
	if (!event->opened)
		put(&out, ",\"sent_bytes\":%" PRIu64 ",\"received_bytes\":%" PRIu64,
		    event->sent_bytes, event->received_bytes);
	put(&out, "}\n");
	return out.size;
}

static void on_told(struct proxy *proxy, const struct egress_event *event)
{
	struct trial_network *network = container_of(proxy, struct trial_network, proxy);
	char line[NETWORK_LINE_BYTES];

	capture_store(network->log, line, network_line(event, line));
}

/* The rules. */

static int refuse(struct fault *fault, const char *text, const char *reason)
{
	return fault_void(fault, CAUSE_sandbox_unavailable,
			  "the keeper cannot read a host of its plan: %s: %s", text, reason);
}

/* One that may be internal is one that is allowed: name and port are both the same. */
static int mark_internal(struct trial_network *network, const char *text, struct fault *fault)
{
	const char *reason = "";
	struct allow_rule internal;

	if (allow_rule_parse(text, &internal, &reason) < 0 || internal.suffix)
		return refuse(fault, text, reason);
	network->internals[network->internal_count++] = internal;
	for (size_t i = 0; i < network->rule_count; i++) {
		struct allow_rule *rule = &network->rules[i];

		if (!rule->suffix && rule->port == internal.port &&
		    strcmp(rule->name, internal.name) == 0)
			rule->internal = true;
	}
	return 0;
}

int network_init(struct trial_network *network, const struct keeper_plan *plan, struct capture *log,
		 struct fault *ret_fault)
{
	const char *reason = "";
	int r = 0;

	network->log = log;
	network->rules = calloc(plan->hosts.count + 1, sizeof(*network->rules));
	network->internals = calloc(plan->internal.count + 1, sizeof(*network->internals));
	if (!network->rules || !network->internals)
		return -ENOMEM;
	for (; network->rule_count < plan->hosts.count; network->rule_count++) {
		const char *text = plan->hosts.items[network->rule_count];

		if (allow_rule_parse(text, &network->rules[network->rule_count], &reason) < 0)
			return refuse(ret_fault, text, reason);
	}
	for (size_t i = 0; r == 0 && i < plan->internal.count; i++)
		r = mark_internal(network, plan->internal.items[i], ret_fault);
	network->policy = (struct proxy_policy){
		.rules = network->rules,
		.rule_count = network->rule_count,
		.internals = network->internals,
		.internal_count = network->internal_count,
		.refusal = plan->refusal,
		.idle_seconds = plan->idle_seconds,
	};
	return r;
}

int network_start(struct trial_network *network, struct loop *loop, int *listener,
		  struct fault *ret_fault)
{
	int r = proxy_start(&network->proxy, loop, listener, &network->policy, on_told);

	network->runs = r == 0;
	return r == 0 ? 0
		      : fault_void(ret_fault, CAUSE_sandbox_unavailable,
				   "the sandbox's proxy cannot be started: %s", strerror(-r));
}

uint64_t network_bytes(const struct trial_network *network)
{
	return network->runs ? proxy_bytes(&network->proxy) : 0;
}

/* The end. */

static void fill_connection(const struct trial_network *network, const struct egress_entry *entry,
			    size_t index)
{
	size_t first = index * CONNECTION_ADDRESSES_MAX;
	size_t count = entry->address_count < CONNECTION_ADDRESSES_MAX ? entry->address_count
								       : CONNECTION_ADDRESSES_MAX;

	for (size_t i = 0; i < count; i++) {
		egress_address_text(&entry->addresses[i], network->addresses[first + i]);
		network->address_texts[first + i] = network->addresses[first + i];
	}
	network->connections[index] = (struct trial_connection){
		.has = {.host = true,
			.port = true,
			.verdict = true,
			.count = true,
			.first_at = true,
			.sent_bytes = true,
			.received_bytes = true},
		.host = entry->host,
		.port = entry->port,
		.verdict = entry->verdict,
		.count = entry->count,
		.first_at = (uint64_t)entry->first_at,
		.sent_bytes = entry->sent_bytes,
		.received_bytes = entry->received_bytes,
		.addresses = {.count = count, .items = network->address_texts + first},
	};
}

static void fill_more(const struct egress *egress, struct outcome_record *record)
{
	if (egress->more_count == 0)
		return;
	record->has.connections_more = true;
	record->connections_more = (struct connection_sum){
		.has = {.count = true, .sent_bytes = true, .received_bytes = true},
		.count = egress->more_count,
		.sent_bytes = egress->more_sent_bytes,
		.received_bytes = egress->more_received_bytes,
	};
}

void network_finish(struct trial_network *network, const struct keeper_plan *plan,
		    struct outcome_record *record)
{
	const struct egress *egress;
	size_t count;

	if (!network->runs)
		return;
	proxy_stop(&network->proxy);
	egress = proxy_egress(&network->proxy);
	count = egress->count < CONNECTIONS_MAX ? egress->count : CONNECTIONS_MAX;
	network->connections = calloc(count + 1, sizeof(*network->connections));
	network->addresses = calloc(count * CONNECTION_ADDRESSES_MAX + 1,
				    sizeof(*network->addresses));
	network->address_texts = calloc(count * CONNECTION_ADDRESSES_MAX + 1,
					sizeof(*network->address_texts));
	record->has.no_network_used = plan->expects_network;
	record->no_network_used = egress->count == 0 && egress->more_count == 0;
	fill_more(egress, record);
	/* Without memory for it the record is told without it, rather than not at all. */
	if (!network->connections || !network->addresses || !network->address_texts)
		return;
	for (size_t i = 0; i < count; i++)
		fill_connection(network, &egress->entries[i], i);
	record->connections.count = count;
	record->connections.items = network->connections;
}

void network_sum(struct outcome_record *record)
{
	connection_sum_add(&record->connections_more, &record->connections);
	record->has.connections_more = true;
	record->has.connections = false;
	record->connections.count = 0;
}

void network_done(struct trial_network *network)
{
	if (network->runs)
		proxy_done(&network->proxy);
	free(network->rules);
	free(network->internals);
	free(network->connections);
	free(network->addresses);
	free(network->address_texts);
}
