/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/allow.h"
#include "stage.h"

/*
 * Hosts and rules. Lines of rules, and on the last line what is asked for: whatever is accepted is in
 * its one spelling and is read as the same again; no name is an address to the C library; what a rule
 * allows is its own host, or ends in its suffix behind a dot.
 */

#define RULES 16

static bool is_canonical(const char *name)
{
	size_t size = strlen(name);

	return size > 0 && size <= ALLOW_HOST_BYTES_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") == size &&
	       name[size - 1] != '.' && name[0] != '.' && !strstr(name, "..");
}

static void check_host(const struct allow_host *host)
{
	char text[ALLOW_TEXT_BYTES];
	struct allow_host again;
	struct in6_addr ipv6;
	struct in_addr ipv4;

	must(is_canonical(host->name) && host->port > 0);
	must(host->address ? inet_pton(AF_INET, host->name, &ipv4) == 1 ||
				     inet_pton(AF_INET6, host->name, &ipv6) == 1
			   : !inet_aton(host->name, &ipv4) && !strchr(host->name, ':'));
	allow_format(host->name, host->port, text);
	must(allow_host_parse(text, strlen(text), 0, &again) == 0);
	must(again.port == host->port && again.address == host->address &&
	     strcmp(again.name, host->name) == 0);
}

static void check_rule(const char *text, const struct allow_rule *rule)
{
	char again[ALLOW_TEXT_BYTES];
	size_t written;

	must(is_canonical(rule->name) && rule->port > 0 && !rule->internal);
	must(!rule->suffix || (strchr(rule->name, '.') && !rule->address));
	/* The text of a rule is that rule's only one, but for the port that goes without saying. */
	allow_format(rule->name, rule->port, again);
	text += rule->suffix ? 2 : 0;
	written = strlen(text);
	must(strncmp(again, text, written) == 0);
	must(again[written] == '\0' || (strcmp(again + written, ":443") == 0 && !rule->address));
}

static void check_match(const struct allow_rule *rules, size_t count, const struct allow_host *host)
{
	const struct allow_rule *rule = allow_match(rules, count, host);
	size_t name = strlen(host->name), suffix;

	if (!rule)
		return;
	suffix = strlen(rule->name);
	must(rule >= rules && rule < rules + count);
	must(rule->port == host->port && rule->address == host->address && name >= suffix);
	must(strcmp(host->name + name - suffix, rule->name) == 0);
	must(rule->suffix ? name > suffix + 1 && host->name[name - suffix - 1] == '.'
			  : name == suffix);
}

int fuzz_host(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size, *line, *reason;
	struct allow_rule rules[RULES];
	struct allow_host host;
	size_t count = 0;

	while (count < RULES && (line = memchr(at, '\n', (size_t)(end - at)))) {
		char *text = stage_text((const uint8_t *)at, (size_t)(line - at));
		int r = allow_rule_parse(text, &rules[count], &reason);

		must(r == 0 || (r == -EINVAL && stage_is_shown(reason, false)));
		must((r == 0) == !reason);
		if (r == 0)
			check_rule(text, &rules[count++]);
		free(text);
		at = line + 1;
	}
	for (int port = 0; port <= 443; port += 443)
		if (allow_host_parse(at, (size_t)(end - at), (uint16_t)port, &host) == 0) {
			check_host(&host);
			check_match(rules, count, &host);
		} else {
			must(host.name[0] == '\0' && host.port == 0 && !host.address);
		}
	return 0;
}
