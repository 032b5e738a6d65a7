/* SPDX-License-Identifier: MIT */
#include "proxy_answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PLACE "HOST:PORT"
#define PHRASE_BYTES_MAX 400

static const struct {
	unsigned status;
	const char *phrase;
	const char *error; /* RFC 9209 */
} answers[VERDICT_COUNT] = {
	[VERDICT_not_allowed] = {403, "Forbidden", "http_request_denied"},
	[VERDICT_plain_http] = {403, "Forbidden", "http_request_denied"},
	[VERDICT_address_refused] = {403, "Forbidden", "destination_ip_prohibited"},
	[VERDICT_sni_mismatch] = {403, "Forbidden", "http_request_denied"},
	[VERDICT_unresolved] = {502, "Bad Gateway", "dns_error"},
	[VERDICT_unreachable] = {502, "Bad Gateway", "destination_unavailable"},
	[VERDICT_bad_request] = {400, "Bad Request", "http_request_error"},
	[VERDICT_too_many] = {503, "Service Unavailable", "connection_limit_reached"},
};

/* The refusal with what was asked for in its place. */
static void fill_refusal(const char *refusal, const char *asked, char text[PROXY_TEXT_BYTES_MAX])
{
	const char *place = strstr(refusal, PLACE);

	if (place)
		snprintf(text, PROXY_TEXT_BYTES_MAX, "%.*s%s%s", (int)(place - refusal), refusal,
			 asked, place + strlen(PLACE));
	else
		snprintf(text, PROXY_TEXT_BYTES_MAX, "%s", refusal);
}

void proxy_answer_text(enum verdict verdict, const struct allow_host *host, const char *refusal,
		       const char *detail, char text[PROXY_TEXT_BYTES_MAX])
{
	char name[ALLOW_TEXT_BYTES] = "?", asked[ALLOW_TEXT_BYTES + 256];

	if (host)
		allow_format(host->name, host->port, name);
	snprintf(asked, sizeof(asked), "%s", name);
	switch (verdict) {
	case VERDICT_plain_http:
		snprintf(asked, sizeof(asked), "HTTP without TLS to %s", name);
		break;
	case VERDICT_address_refused:
		snprintf(asked, sizeof(asked), "%s at %s", name, detail ? detail : "its address");
		break;
	case VERDICT_unresolved:
		snprintf(text, PROXY_TEXT_BYTES_MAX, "%s cannot be resolved: %s", name, detail);
		return;
	case VERDICT_unreachable:
		snprintf(text, PROXY_TEXT_BYTES_MAX, "%s cannot be reached: %s", name, detail);
		return;
	case VERDICT_bad_request:
		snprintf(text, PROXY_TEXT_BYTES_MAX, "not a request for a proxy: %s", detail);
		return;
	case VERDICT_too_many:
		snprintf(text, PROXY_TEXT_BYTES_MAX, "too many connections at once: %s", detail);
		return;
	default:
		break;
	}
	fill_refusal(refusal ? refusal : PROXY_REFUSAL, asked, text);
}

/* Whether it can stand in a status line that old clients read. */
static bool is_phrase(const char *text)
{
	size_t size = 0;

	for (; text[size]; size++)
		if (text[size] < ' ' || text[size] > '~')
			return false;
	return size > 0 && size <= PHRASE_BYTES_MAX;
}

size_t proxy_answer(enum verdict verdict, unsigned status, const char *text,
		    char answer[PROXY_ANSWER_BYTES_MAX])
{
	int n = snprintf(answer, PROXY_ANSWER_BYTES_MAX,
			 "HTTP/1.1 %u %s\r\n"
			 "Content-Type: text/plain; charset=utf-8\r\n"
			 "Content-Length: %zu\r\n"
			 "Proxy-Status: trialsd; error=%s\r\n"
			 "%s"
			 "Connection: close\r\n\r\n"
			 "%s\n",
			 status ? status : answers[verdict].status,
			 is_phrase(text) ? text : answers[verdict].phrase, strlen(text) + 1,
			 answers[verdict].error,
			 verdict == VERDICT_too_many ? "Retry-After: 1\r\n" : "", text);

	return n < PROXY_ANSWER_BYTES_MAX ? (size_t)n : PROXY_ANSWER_BYTES_MAX - 1;
}
