/* SPDX-License-Identifier: MIT */

/*
 * One spelling for each host, so that comparing is strcmp:
 *
 * - Letters are made lower case, and one dot at the end goes. Labels are of letters, digits, - and _
 *   (which hosts have, whatever the RFCs say), and neither begin nor end with -.
 * - No byte above 0x7f: what clients send in a CONNECT is the encoded name (xn--...). Whoever sends
 *   the other spelling would have it encoded by us in one way and by the next program in another.
 * - A name whose last label is a number is an IPv4 address or nothing: so says the URL standard, and
 *   what inet_aton, and with it getaddrinfo, takes for an address is a part of that. So no name that
 *   gets past here becomes an address without a look-up.
 * - No user's name, no zone of an IPv6 address, no second spelling of a port.
 *
 * A rule has to be written in that one spelling, so that two rules are the same when their texts are.
 * A rule for an address is that address and that port alone. `*.SUFFIX` has at least one label in its
 * place and is never SUFFIX itself. A suffix of one label is refused: `*.com` is no host's family but
 * nearly everybody, and whoever wrote it meant something else. (What registries sell below two labels,
 * as under co.uk, only a list that changes every week knows.)
 */
#include "allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_BYTES_MAX 63
#define PORT_MAX 65535
#define DIGITS "0123456789"

static char lower(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		byte = (char)(byte - 'A' + 'a');
	return byte;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* --- Names ---------------------------------------------------------------------------------------- */

static bool label_valid(const char *label, size_t size)
{
	if (size == 0 || size > LABEL_BYTES_MAX || label[0] == '-' || label[size - 1] == '-')
		return false;
	for (size_t i = 0; i < size; i++)
		if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'z') &&
		    label[i] != '-' && label[i] != '_')
			return false;
	return true;
}

static int parse_name(const char *bytes, size_t size, char ret[ALLOW_HOST_BYTES_MAX + 1])
{
	size_t start = 0;

	if (size > 0 && bytes[size - 1] == '.')
		size--;
	if (size > ALLOW_HOST_BYTES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < size; i++)
		ret[i] = lower(bytes[i]);
	ret[size] = '\0';
	for (size_t i = 0; i <= size; i++) {
		if (i < size && ret[i] != '.')
			continue;
		if (!label_valid(ret + start, i - start))
			return -EINVAL;
		start = i + 1;
	}
	return 0;
}

/* --- Addresses ------------------------------------------------------------------------------------ */

/* Decimal, 0 octal or 0x hexadecimal; what is too large for an address stays so. */
static bool parse_number(const char *text, size_t size, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t value = 0;

	if (size >= 2 && text[0] == '0') {
		base = text[1] == 'x' ? 16 : 8;
		text += base == 16 ? 2 : 1;
		size -= base == 16 ? 2 : 1;
	} else if (size == 0) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		unsigned digit = is_digit(text[i])		    ? (unsigned)(text[i] - '0')
				 : text[i] >= 'a' && text[i] <= 'f' ? (unsigned)(text[i] - 'a') + 10
								    : 16;

		if (digit >= base)
			return false;
		value = value > UINT32_MAX ? value : value * base + digit;
	}
	*ret = value;
	return true;
}

static bool ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;
	uint64_t number;

	return last[strspn(last, DIGITS)] == '\0' || parse_number(last, strlen(last), &number);
}

/* Up to four numbers, the last of which fills the bytes that are left. */
static int parse_ipv4(const char *name, struct in_addr *ret)
{
	uint32_t address = 0;

	for (int part = 0; part < 4; part++) {
		size_t size = strcspn(name, ".");
		uint64_t number;

		if (!parse_number(name, size, &number))
			return -EINVAL;
		if (name[size] == '\0') {
			if (number > UINT32_MAX >> (8 * part))
				return -EINVAL;
			ret->s_addr = htonl(address | (uint32_t)number);
			return 0;
		}
		if (number > 255)
			return -EINVAL;
		address |= (uint32_t)number << (8 * (3 - part));
		name += size + 1;
	}
	return -EINVAL;
}

/* Without its brackets. */
static int parse_ipv6(const char *bytes, size_t size, struct in6_addr *ret)
{
	char text[INET6_ADDRSTRLEN];

	if (size >= sizeof(text) || memchr(bytes, '\0', size))
		return -EINVAL;
	memcpy(text, bytes, size);
	text[size] = '\0';
	return inet_pton(AF_INET6, text, ret) == 1 ? 0 : -EINVAL;
}

/* --- Authorities ---------------------------------------------------------------------------------- */

static int parse_port(const char *text, size_t size, uint16_t *ret)
{
	unsigned port = 0;

	if (size == 0 || size > 5 || text[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(text[i]))
			return -EINVAL;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	if (port > PORT_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

/* How much of it is the host, brackets and all. */
static size_t host_size(const char *bytes, size_t size)
{
	const char *end = memchr(bytes, bytes[0] == '[' ? ']' : ':', size);

	if (!end)
		return size;
	return (size_t)(end - bytes) + (*end == ']');
}

int allow_host_parse(const char *bytes, size_t size, uint16_t default_port, struct allow_host *ret)
{
	struct allow_host host = {.port = default_port};
	struct in6_addr ipv6;
	struct in_addr ipv4;
	size_t end;

	*ret = (struct allow_host){0};
	if (size == 0)
		return -EINVAL;
	end = host_size(bytes, size);
	if (end < size &&
	    (bytes[end] != ':' || parse_port(bytes + end + 1, size - end - 1, &host.port) < 0))
		return -EINVAL;
	if (host.port == 0)
		return -EINVAL;
	if (bytes[0] == '[') {
		if (bytes[end - 1] != ']' || parse_ipv6(bytes + 1, end - 2, &ipv6) < 0)
			return -EINVAL;
		host.address = inet_ntop(AF_INET6, &ipv6, host.name, sizeof(host.name)) != NULL;
	} else {
		if (parse_name(bytes, end, host.name) < 0)
			return -EINVAL;
		if (ends_in_number(host.name)) {
			if (parse_ipv4(host.name, &ipv4) < 0)
				return -EINVAL;
			host.address = inet_ntop(AF_INET, &ipv4, host.name, sizeof(host.name)) !=
				       NULL;
		}
	}
	*ret = host;
	return 0;
}

/* --- Rules ---------------------------------------------------------------------------------------- */

/* What is wrong with a text that is no host, or not in the one spelling. NULL: something else. */
static const char *text_fault(const char *text, size_t size)
{
	size_t colons = 0;

	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)text[i] > 0x7f)
			return "it has bytes beyond ASCII, where an encoded name (xn--...) is meant";
		if (lower(text[i]) != text[i])
			return "it has upper-case letters";
		colons += text[i] == ':';
	}
	if (strpbrk(text, "/?#"))
		return "it is a URL, where the host alone is meant";
	if (strchr(text, '@'))
		return "it has a user's name";
	if (strchr(text, '*'))
		return "a * stands for the first labels alone, as in *.example.com";
	if (strchr(text, '%'))
		return "it has a zone or an escape";
	if (colons > 1 && text[0] != '[')
		return "an IPv6 address is written in brackets, with its port behind it";
	return NULL;
}

static const char *address_fault(const char *text, size_t end, size_t size,
				 const struct allow_host *host)
{
	char canonical[ALLOW_TEXT_BYTES];
	struct in6_addr ipv6;

	if (end == size)
		return "an address needs its port";
	allow_format(host->name, host->port, canonical);
	if (strcmp(canonical, text) != 0)
		return "it is not how that address is written";
	if (inet_pton(AF_INET6, host->name, &ipv6) == 1 && IN6_IS_ADDR_V4MAPPED(&ipv6))
		return "an IPv4 address is written as one";
	return NULL;
}

static const char *rule_fault(const char *text, size_t size, bool suffix, struct allow_host *host)
{
	size_t end = size > 0 ? host_size(text, size) : 0;
	const char *fault = text_fault(text, size);

	if (fault)
		return fault;
	if (end < size && text[end] == ':' &&
	    parse_port(text + end + 1, size - end - 1, &host->port) < 0)
		return "its port is no number from 1 to 65535";
	if (allow_host_parse(text, size, ALLOW_PORT_DEFAULT, host) < 0)
		return "it is no name of a host and no address";
	if (host->address && suffix)
		return "nothing stands before an address";
	if (host->address)
		return address_fault(text, end, size, host);
	if (text[end - 1] == '.')
		return "it ends with a dot";
	if (suffix && !strchr(host->name, '.'))
		return "it would allow every host of a top-level domain";
	return NULL;
}

int allow_rule_parse(const char *text, struct allow_rule *ret, const char **ret_reason)
{
	bool suffix = strncmp(text, "*.", 2) == 0;
	struct allow_host host = {0};
	size_t size;

	*ret = (struct allow_rule){0};
	if (suffix)
		text += 2;
	size = strnlen(text, ALLOW_TEXT_BYTES);
	*ret_reason = size < ALLOW_TEXT_BYTES ? rule_fault(text, size, suffix, &host)
					      : "it is longer than a host's name can be";
	if (*ret_reason)
		return -EINVAL;
	memcpy(ret->name, host.name, sizeof(ret->name));
	ret->port = host.port;
	ret->suffix = suffix;
	ret->address = host.address;
	return 0;
}

void allow_format(const char *name, uint16_t port, char ret[ALLOW_TEXT_BYTES])
{
	bool ipv6 = strchr(name, ':') != NULL;

	snprintf(ret, ALLOW_TEXT_BYTES, "%s%.*s%s:%u", ipv6 ? "[" : "", ALLOW_HOST_BYTES_MAX, name,
		 ipv6 ? "]" : "", port);
}

bool allow_is_loopback(const struct allow_rule *rule)
{
	static const char localhost[] = "localhost", mapped[] = "::ffff:127.";
	size_t size = strlen(rule->name), suffix = sizeof(localhost) - 1;

	if (rule->address)
		return strncmp(rule->name, "127.", 4) == 0 || strcmp(rule->name, "::1") == 0 ||
		       strncmp(rule->name, mapped, sizeof(mapped) - 1) == 0;
	return size >= suffix && strcmp(rule->name + size - suffix, localhost) == 0 &&
	       (size == suffix || rule->name[size - suffix - 1] == '.');
}

/* --- Matching ------------------------------------------------------------------------------------- */

static bool rule_matches(const struct allow_rule *rule, const struct allow_host *host)
{
	size_t suffix, size;

	if (rule->port != host->port || rule->address != host->address)
		return false;
	if (!rule->suffix)
		return strcmp(rule->name, host->name) == 0;
	suffix = strlen(rule->name);
	size = strlen(host->name);
	return !host->address && suffix > 0 && size > suffix + 1 &&
	       host->name[size - suffix - 1] == '.' &&
	       strcmp(host->name + size - suffix, rule->name) == 0;
}

/* 0: it does not match. */
static int rank(const struct allow_rule *rule, const struct allow_host *host)
{
	if (!rule_matches(rule, host))
		return 0;
	return rule->internal ? 3 : rule->suffix ? 1 : 2;
}

const struct allow_rule *allow_match(const struct allow_rule *rules, size_t count,
				     const struct allow_host *host)
{
	const struct allow_rule *found = NULL;
	int best = 0, r;

	for (size_t i = 0; i < count && best < 3; i++) {
		r = rank(&rules[i], host);
		if (r <= best)
			continue;
		best = r;
		found = &rules[i];
	}
	return found;
}
