/* SPDX-License-Identifier: MIT */

/*
 * Read as strictly as RFC 9112 allows, since all that real clients send is plain: one blank between
 * the parts of a request line, HTTP/1.0 or 1.1, lines that end with CR LF, names right before their
 * colon, no folded lines, no control bytes, one Host at most. A head that two programs could read in
 * two ways is refused rather than read in ours.
 *
 * What is asked for is what the request line says. The Host of a CONNECT decides nothing, and nor do
 * fields that announce a body: a CONNECT has none, and what follows its head is the tunnel's.
 *
 * Each line is looked at as soon as it is there, so that bytes of another protocol are answered at
 * once and not when the time for a head is over.
 */
#include "connect.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define PORT_HTTP 80

/* One line, or a part of one. */
struct span {
	const char *at;
	size_t size;
};

static bool is_token(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z') || (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static size_t token_size(struct span line)
{
	size_t size = 0;

	while (size < line.size && is_token(line.at[size]))
		size++;
	return size;
}

static bool span_is(struct span span, const char *text)
{
	return span.size == strlen(text) && strncasecmp(span.at, text, span.size) == 0;
}

static void refuse(struct connect_head *head, unsigned status, const char *reason)
{
	*head = (struct connect_head){.result = CONNECT_BAD, .status = status, .reason = reason};
}

/* --- The request line ----------------------------------------------------------------------------- */

/* What may stand in one: its end may be missing yet. */
static bool request_bytes_valid(struct span line)
{
	for (size_t i = 0; i < line.size; i++)
		if (line.at[i] < ' ' || line.at[i] > '~')
			return false;
	return true;
}

/* target is what is between the blanks. */
static bool request_split(struct span line, struct span *ret_method, struct span *ret_target)
{
	static const size_t version = sizeof(" HTTP/1.x") - 1;
	size_t method = token_size(line);

	if (method == 0 || method + 1 + version >= line.size || line.at[method] != ' ')
		return false;
	*ret_method = (struct span){line.at, method};
	*ret_target = (struct span){line.at + method + 1, line.size - version - method - 1};
	if (memchr(ret_target->at, ' ', ret_target->size))
		return false;
	line.at += line.size - version;
	return memcmp(line.at, " HTTP/1.", version - 1) == 0 &&
	       (line.at[version - 1] == '0' || line.at[version - 1] == '1');
}

static void parse_absolute(const char *bytes, struct span target, struct connect_head *head)
{
	static const size_t scheme = sizeof("http://") - 1;
	size_t authority = 0;

	if (target.size < scheme || strncasecmp(target.at, "http://", scheme) != 0) {
		refuse(head, 405, "this is a proxy, which takes CONNECT");
		return;
	}
	target.at += scheme;
	target.size -= scheme;
	while (authority < target.size && !strchr("/?#", target.at[authority]))
		authority++;
	if (memchr(target.at, '#', target.size) ||
	    allow_host_parse(target.at, authority, PORT_HTTP, &head->host) < 0) {
		refuse(head, 400, "the URL names no host that can be one");
		return;
	}
	head->result = CONNECT_PLAIN;
	head->path = (size_t)(target.at - bytes) + authority;
	head->path_end = (size_t)(target.at - bytes) + target.size;
}

static void parse_request(const char *bytes, struct span line, struct connect_head *head)
{
	struct span method, target;

	if (!request_bytes_valid(line) || !request_split(line, &method, &target)) {
		refuse(head, 400, "this is no request line of HTTP/1");
	} else if (method.size != strlen("CONNECT") ||
		   memcmp(method.at, "CONNECT", method.size) != 0) {
		parse_absolute(bytes, target, head);
	} else if (allow_host_parse(target.at, target.size, 0, &head->host) < 0) {
		refuse(head, 400, "CONNECT takes HOST:PORT, and this is not one");
	} else {
		head->result = CONNECT_TUNNEL;
	}
}

/* --- Fields --------------------------------------------------------------------------------------- */

static const char *field_fault(struct span line, bool *host_seen)
{
	size_t name = token_size(line);

	if (is_blank(line.at[0]))
		return "a line of the head is folded";
	if (name == 0 || name == line.size || line.at[name] != ':')
		return "a line of the head is no field";
	for (size_t i = name; i < line.size; i++)
		if ((unsigned char)line.at[i] < ' ' ? line.at[i] != '\t' : line.at[i] == 0x7f)
			return "a field has a control byte";
	if (span_is((struct span){line.at, name}, "Host")) {
		if (*host_seen)
			return "there are two Host fields";
		*host_seen = true;
	}
	return NULL;
}

/* --- The head ------------------------------------------------------------------------------------- */

/* The next whole line, without its end. False: it is not whole, or (bad) does not end as it must. */
static bool next_line(const char *bytes, size_t size, size_t *at, struct span *ret, bool *bad)
{
	const char *end = memchr(bytes + *at, '\n', size - *at);

	*bad = false;
	*ret = (struct span){bytes + *at, end ? (size_t)(end - bytes) - *at : size - *at};
	if (!end)
		return false;
	*bad = ret->size == 0 || end[-1] != '\r';
	if (*bad)
		return false;
	ret->size--;
	*at = (size_t)(end - bytes) + 1;
	return true;
}

void connect_parse(const char *bytes, size_t size, struct connect_head *ret)
{
	size_t limit = size < CONNECT_HEAD_BYTES_MAX ? size : CONNECT_HEAD_BYTES_MAX, at = 0;
	bool host_seen = false, bad;
	const char *fault = NULL;
	struct span line;

	*ret = (struct connect_head){.result = CONNECT_MORE};
	if (next_line(bytes, limit, &at, &line, &bad)) {
		parse_request(bytes, line, ret);
		if (ret->result == CONNECT_BAD)
			return;
	} else {
		/* A CR may wait for its LF. */
		if (!bad && line.size > 0 && line.at[line.size - 1] == '\r')
			line.size--;
		bad = bad || !request_bytes_valid(line);
		fault = bad ? "this is no request line of HTTP/1" : NULL;
	}
	while (!fault && at > 0 && next_line(bytes, limit, &at, &line, &bad)) {
		if (line.size == 0) {
			ret->size = at;
			return;
		}
		fault = field_fault(line, &host_seen);
	}
	if (!fault && bad)
		fault = "a line does not end with CR LF";
	if (fault)
		refuse(ret, 400, fault);
	else if (limit == CONNECT_HEAD_BYTES_MAX)
		refuse(ret, 431, "the head is longer than 16 KiB");
	else
		*ret = (struct connect_head){.result = CONNECT_MORE};
}

/* --- On to the server ----------------------------------------------------------------------------- */

/* Between one program and the next, whatever Connection says (RFC 9110, 7.6.1). */
static bool is_ours(struct span name)
{
	static const char *const names[] = {
		"Connection",
		"Host",
		"Keep-Alive",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"Proxy-Connection",
		"TE",
		"Upgrade",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_is(name, names[i]))
			return true;
	return false;
}

/* How long the body is must stay said, whoever names it: the body goes on as it is. */
static bool frames_body(struct span name)
{
	return span_is(name, "Content-Length") || span_is(name, "Transfer-Encoding");
}

/* Whether a list of tokens, such as the value of Connection, has this one. */
static bool list_has(struct span list, struct span name)
{
	while (list.size > 0) {
		size_t token = token_size(list);

		if (token == name.size && strncasecmp(list.at, name.at, token) == 0)
			return true;
		token += token < list.size;
		list.at += token;
		list.size -= token;
	}
	return false;
}

/* Of a head that was accepted: where its fields are. False after the last one. */
static bool next_field(const char *bytes, size_t size, size_t *at, struct span *ret_line,
		       struct span *ret_name)
{
	bool bad;

	if (!next_line(bytes, size, at, ret_line, &bad) || ret_line->size == 0)
		return false;
	*ret_name = (struct span){ret_line->at, token_size(*ret_line)};
	return true;
}

static bool named_by_connection(const char *bytes, size_t size, size_t at, struct span name)
{
	struct span line, field;

	while (next_field(bytes, size, &at, &line, &field)) {
		if (!span_is(field, "Connection"))
			continue;
		line.at += field.size + 1;
		line.size -= field.size + 1;
		if (list_has(line, name))
			return true;
	}
	return false;
}

static size_t put(char *to, size_t at, const char *bytes, size_t size)
{
	memcpy(to + at, bytes, size);
	return at + size;
}

static size_t put_text(char *to, size_t at, const char *text)
{
	return put(to, at, text, strlen(text));
}

/* Method, path, version. */
static size_t put_request(char *to, const char *bytes, const struct connect_head *head,
			  struct span line)
{
	size_t method = token_size(line), path_end = head->path_end;
	size_t at = put(to, 0, bytes, method + 1);

	if (head->path == path_end && span_is((struct span){bytes, method}, "OPTIONS"))
		at = put_text(to, at, "*");
	else if (head->path == path_end || bytes[head->path] != '/')
		at = put_text(to, at, "/");
	return put(to, at, bytes + head->path, line.size + 2 - head->path);
}

size_t connect_origin(const char *bytes, const struct connect_head *head,
		      char ret[CONNECT_ORIGIN_BYTES_MAX])
{
	char host[ALLOW_TEXT_BYTES];
	struct span line, name;
	size_t from = 0, first, at;
	bool bad;

	next_line(bytes, head->size, &from, &line, &bad);
	at = put_request(ret, bytes, head, line);
	allow_format(head->host.name, head->host.port, host);
	at = put_text(ret, at, "Host: ");
	at = put_text(ret, at, host);
	at = put_text(ret, at, "\r\nConnection: close\r\n");
	first = from;
	while (next_field(bytes, head->size, &from, &line, &name))
		if (!is_ours(name) &&
		    (frames_body(name) || !named_by_connection(bytes, head->size, first, name)))
			at = put(ret, at, line.at, line.size + 2);
	return put_text(ret, at, "\r\n");
}
