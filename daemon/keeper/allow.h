/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which hosts a Trial may connect to, by name. Pure: nothing is looked up here.
 *
 * A rule is HOST, *.SUFFIX or an address, each with :PORT behind it; the port of names is 443 unless
 * said. What a Trial asks for is a host and a port, and is allowed when a rule is that host, or ends
 * it, and has that port.
 */

#define ALLOW_HOST_BYTES_MAX 253
#define ALLOW_RULES_MAX 512
#define ALLOW_PORT_DEFAULT 443
#define ALLOW_TEXT_BYTES (ALLOW_HOST_BYTES_MAX + sizeof("[]:65535"))

/* Lower case, no dot behind; an address as inet_ntop writes it, without brackets. */
struct allow_host {
	char name[ALLOW_HOST_BYTES_MAX + 1];
	uint16_t port;
	bool address;
};

/* name: of a suffix, what follows "*.". internal: set by who says so; here it only wins. */
struct allow_rule {
	char name[ALLOW_HOST_BYTES_MAX + 1];
	uint16_t port;
	bool suffix;
	bool address;
	bool internal;
};

/* -EINVAL: *ret_reason says why, in words that go on after a colon. */
int allow_rule_parse(const char *text, struct allow_rule *ret, const char **ret_reason);

/*
 * What a client named. The port is needed where default_port is 0. Addresses are taken in each
 * spelling that some client takes them in, and are then addresses and no names.
 */
int allow_host_parse(const char *bytes, size_t size, uint16_t default_port, struct allow_host *ret);

/* The rule that allows it; an internal one before any other, and its own name before a suffix. */
const struct allow_rule *allow_match(const struct allow_rule *rules, size_t count,
				     const struct allow_host *host);

/*
 * Whether it is of the loopback, by name or address: of each network namespace another, so that inside
 * it is the Trial's own.
 */
bool allow_is_loopback(const struct allow_rule *rule);

/* HOST:PORT, with the brackets of an IPv6 address: what allow_rule_parse takes as a rule for it. */
void allow_format(const char *name, uint16_t port, char ret[ALLOW_TEXT_BYTES]);
