/* SPDX-License-Identifier: MIT */
#pragma once

#include "allow.h"

/*
 * The head of a request to the proxy. Pure: it is given all bytes so far, which its caller holds, and
 * says the same whatever pieces they came in; what is decided, more bytes do not change.
 */

#define CONNECT_HEAD_BYTES_MAX (16 * 1024)
/* The head that goes on to a server: the same, with a Host and a Connection of ours. */
#define CONNECT_ORIGIN_BYTES_MAX (CONNECT_HEAD_BYTES_MAX + 512)

enum connect_result {
	CONNECT_MORE,
	CONNECT_TUNNEL, /* CONNECT */
	CONNECT_PLAIN,	/* METHOD http://HOST... */
	CONNECT_BAD,
};

struct connect_head {
	enum connect_result result;
	struct allow_host host;
	size_t size; /* of TUNNEL and PLAIN; what follows is the tunnel's, or the request's body */
	unsigned status;    /* of BAD: 400, 405 or 431 */
	const char *reason; /* of BAD, in words that go on after a colon */
	/* Of PLAIN, as offsets: the path (or query, or nothing) behind the authority, and its end. */
	size_t path, path_end;
};

/* Of more than CONNECT_HEAD_BYTES_MAX only so many are looked at. */
void connect_parse(const char *bytes, size_t size, struct connect_head *ret);

/*
 * The head of a PLAIN request as the server itself gets it: path alone, Host of what the request line
 * names, nothing that is between client and proxy, and no further request on this connection.
 */
size_t connect_origin(const char *bytes, const struct connect_head *head,
		      char ret[CONNECT_ORIGIN_BYTES_MAX]);
