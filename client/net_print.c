/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "net_print.h"
#include "neutralise.h"
#include "print.h"
#include "proto/protocol.h"
#include "proto/quantity.h"

static bool is_address(const char *host)
{
	return strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
}

/* HOST:PORT, neutralised; without a usual port if one may be left out. The caller's to free(). */
static char *place_text(const json_t *connection, bool short_form)
{
	char *host = json_display(json_object_get(connection, "host"));
	int64_t port = json_whole(connection, "port", 0);
	bool brackets = strchr(host, ':') != NULL;
	char *text = NULL;

	if (short_form && port == 443 && !is_address(host))
		return host;
	if (asprintf(&text, "%s%s%s:%lld", brackets ? "[" : "", host, brackets ? "]" : "",
		     (long long)port) < 0)
		text = NULL;
	free(host);
	return need_memory(text);
}

static bool has_verdict(const json_t *connection, const char *verdict)
{
	const char *word = json_text(connection, "verdict");

	return word && strcmp(word, verdict) == 0;
}

static enum tone tone_of_verdict(const json_t *connection)
{
	if (has_verdict(connection, "allowed"))
		return TONE_GOOD;
	return has_verdict(connection, "unresolved") || has_verdict(connection, "unreachable")
		       ? TONE_ODD
		       : TONE_BAD;
}

static void size_text(const json_t *object, const char *key, char *buffer, size_t size)
{
	int64_t bytes = json_whole(object, key, 0);

	quantity_format_size(bytes > 0 ? (uint64_t)bytes : 0, buffer, size);
}

/* The addresses of a row, behind one another. The caller's to free(). */
static char *addresses_text(const json_t *connection)
{
	const json_t *addresses = json_object_get(connection, "addresses");
	char *text = need_memory(strdup(""));
	json_t *address;
	size_t i;

	json_array_foreach(addresses, i, address)
	{
		char *one = json_display(address), *longer = NULL;

		if (asprintf(&longer, "%s%s%s", text, i ? " " : "", one) < 0)
			longer = NULL;
		free(one);
		free(text);
		text = need_memory(longer);
	}
	return text;
}

static void add_row(struct table *table, const json_t *connection)
{
	const enum tone tones[] = {TONE_PLAIN, tone_of_verdict(connection),
				   TONE_PLAIN, TONE_PLAIN,
				   TONE_PLAIN, TONE_FAINT};
	char *place = place_text(connection, false);
	char *verdict = json_display(json_object_get(connection, "verdict"));
	char *count = json_display(json_object_get(connection, "count"));
	char *addresses = addresses_text(connection);
	char sent[64], received[64];

	size_text(connection, "sent_bytes", sent, sizeof(sent));
	size_text(connection, "received_bytes", received, sizeof(received));
	table_add(table, (const char *const[]){place, verdict, count, sent, received, addresses},
		  tones);
	free(place);
	free(verdict);
	free(count);
	free(addresses);
}

/* Only what would help: of whatever else was refused there is nothing to say. */
static const struct remedy {
	const char *verdict;
	const char *title;
	const char
		*of_arm; /* of a Trial of an Arm, beside which no launch names hosts; NULL: title */
	bool host;	 /* --host */
	bool internal;	 /* Internal= */
} remedies[] = {
	{"not_allowed", "what was not allowed, and what would allow it:",
	 "what was not allowed. An Arm has the hosts of its Harnesses and providers, and a launch adds none:\n"
	 "what one of them needs is to be in its Hosts=, in its .harness file or in providers.conf. After a\n"
	 "reload the Arm is to be prepared again:",
	 true, false},
	{"plain_http",
	 "HTTP without TLS is refused, https is not. A server of your own machine or network may speak\n"
	 "it, by its launch and by [Network] of trialsd.conf:",
	 "HTTP without TLS is refused, https is not. A server of your own machine or network may speak\n"
	 "it, as the endpoint of one of the Arm's providers or Harnesses and by [Network] of trialsd.conf:",
	 true, true},
	{"address_refused",
	 "what leads to no public address is refused. A server of your own machine or network may be\n"
	 "reached, by [Network] of trialsd.conf:",
	 NULL, false, true},
};

static void print_remedy(const struct remedy *remedy, bool of_arm, const json_t *connection)
{
	char *place = place_text(connection, false), *host = place_text(connection, true);
	bool named = remedy->host && (!of_arm || !remedy->internal);

	printf("%s%s%s%s%s\n", remedy->host && !of_arm ? "  --host " : "  ",
	       !named		  ? ""
	       : remedy->internal ? place
				  : host,
	       named && remedy->internal ? "  " : "", remedy->internal ? "Internal=" : "",
	       remedy->internal ? place : "");
	free(place);
	free(host);
}

static void print_remedies(const json_t *trial)
{
	const json_t *connections = json_object_get(trial, "connections");
	bool of_arm = json_object_get(trial, "arm") != NULL;
	json_t *connection;
	size_t at;

	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		const struct remedy *remedy = &remedies[i];
		bool any = false;

		json_array_foreach(connections, at, connection)
		{
			if (!has_verdict(connection, remedy->verdict))
				continue;
			if (!any)
				printf("\n%s\n",
				       of_arm && remedy->of_arm ? remedy->of_arm : remedy->title);
			print_remedy(remedy, of_arm, connection);
			any = true;
		}
	}
}

void net_print(const struct context *context, const json_t *trial)
{
	static const char *const titles[] = {"connection", "verdict",  "count",
					     "sent",	   "received", "addresses"};
	const json_t *connections = json_object_get(trial, "connections");
	const json_t *more = json_object_get(trial, "connections_more");
	struct table *table;
	json_t *connection;
	size_t i;

	if (json_flag(trial, "no_network_used"))
		puts("\nNo connection was made at all, though its Harness needs some.\n" NET_PROXY_HEEDED);
	if (json_array_size(connections)) {
		table = table_new(titles, 6);
		json_array_foreach(connections, i, connection) add_row(table, connection);
		putchar('\n');
		table_print(table, stdout, context->colours, 0);
		table_free(table);
	}
	if (json_whole(more, "count", 0) > 0) {
		char sent[64], received[64];

		size_text(more, "sent_bytes", sent, sizeof(sent));
		size_text(more, "received_bytes", received, sizeof(received));
		printf("and %lld more, %s sent, %s received\n",
		       (long long)json_whole(more, "count", 0), sent, received);
	}
	print_remedies(trial);
}

void net_print_event(const struct context *context, const json_t *event)
{
	bool ended = json_text(event, "event") && strcmp(json_text(event, "event"), "ended") == 0;
	char *place = place_text(event, false), *addresses = addresses_text(event);
	char *detail = json_display(json_object_get(event, "detail"));
	char *verdict = json_display(json_object_get(event, "verdict"));
	char sent[64], received[64], at[64];

	printf("%s  %s  ", format_time(json_whole(event, "at", 0), at, sizeof(at)), place);
	if (ended) {
		size_text(event, "sent_bytes", sent, sizeof(sent));
		size_text(event, "received_bytes", received, sizeof(received));
		printf("ended, %s sent, %s received", sent, received);
	} else {
		print_toned(stdout, context->colours, tone_of_verdict(event), verdict);
	}
	printf("%s%s%s%s\n", *detail ? ": " : "", detail, *addresses ? "  " : "", addresses);
	fflush(stdout);
	free(place);
	free(addresses);
	free(detail);
	free(verdict);
}
