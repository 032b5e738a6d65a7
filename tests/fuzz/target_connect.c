/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keeper/connect.h"
#include "stage.h"

/*
 * The head of a request to the proxy: whatever pieces it comes in, it is decided as the same, and what
 * follows a whole head changes nothing. What goes on to a server is a head again, in origin form, with
 * the host of the request line and one Host field.
 */

static bool same(const struct connect_head *a, const struct connect_head *b)
{
	return a->result == b->result && a->status == b->status && a->size == b->size &&
	       a->reason == b->reason && a->path == b->path && a->path_end == b->path_end &&
	       a->host.port == b->host.port && strcmp(a->host.name, b->host.name) == 0;
}

static void check_pieces(const char *bytes, size_t size, const struct connect_head *whole)
{
	size_t step = 1 + size / 64;
	struct connect_head head;

	for (size_t part = 0; part < size; part += step) {
		char *piece = malloc(part ? part : 1);

		must(piece);
		memcpy(piece, bytes, part);
		connect_parse(piece, part, &head);
		free(piece);
		must(head.result == CONNECT_MORE || same(&head, whole));
		must(head.result == CONNECT_MORE || head.result == CONNECT_BAD ||
		     part >= whole->size);
	}
}

static void check_plain(const char *bytes, const struct connect_head *head)
{
	static char origin[CONNECT_ORIGIN_BYTES_MAX + 1];
	char host[ALLOW_TEXT_BYTES];
	struct connect_head again;
	const char *line, *end;
	size_t size;

	must(head->path <= head->path_end && head->path_end < head->size);
	size = connect_origin(bytes, head, origin);
	must(size <= CONNECT_ORIGIN_BYTES_MAX && memcmp(origin + size - 4, "\r\n\r\n", 4) == 0);
	origin[size] = '\0';
	must(strlen(origin) == size);
	line = strstr(origin, "\r\n");
	allow_format(head->host.name, head->host.port, host);
	must(strncmp(line, "\r\nHost: ", 8) == 0 && strncmp(line + 8, host, strlen(host)) == 0);
	/* The first end of a head is its own; as a request to us it is one for the server itself. */
	end = strstr(origin, "\r\n\r\n");
	must(end == origin + size - 4);
	if (size > CONNECT_HEAD_BYTES_MAX)
		return;
	connect_parse(origin, size, &again);
	must(again.result == CONNECT_BAD && again.status == 405);
}

int fuzz_connect(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct connect_head head;

	connect_parse(bytes, size, &head);
	must((head.result == CONNECT_BAD) == (head.reason != NULL));
	must(head.status == 0 || head.status == 400 || head.status == 405 || head.status == 431);
	must((head.result == CONNECT_BAD) == (head.status != 0));
	must(head.size <= size && head.size <= CONNECT_HEAD_BYTES_MAX);
	if (head.result == CONNECT_TUNNEL || head.result == CONNECT_PLAIN) {
		must(head.host.name[0] && head.host.port);
		must(memcmp(bytes + head.size - 4, "\r\n\r\n", 4) == 0);
		must(!memchr(bytes, '\0', head.size));
	} else {
		must(!head.host.name[0] && head.size == 0);
	}
	if (head.result == CONNECT_PLAIN)
		check_plain(bytes, &head);
	check_pieces(bytes, size, &head);
	return 0;
}
