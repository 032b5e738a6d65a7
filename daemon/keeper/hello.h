/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "allow.h"

/*
 * The name of the server that a TLS client asks for, from its first records. Pure: it is given all
 * bytes so far, which its caller holds, and says the same whatever pieces they came in; what is
 * decided, more bytes do not change.
 */

/* Of what the client sent, the records' own headers with it, until its hello is whole. */
#define HELLO_BYTES_MAX (64 * 1024)
/* Real clients need one, or few: this bounds what pieces of one byte cost. */
#define HELLO_RECORDS_MAX 256

enum hello_result {
	HELLO_MORE,
	HELLO_NAME,
	HELLO_NO_NAME, /* a whole hello that names no server */
	HELLO_NOT_TLS, /* or one that is not as it must be, such as with two names */
	HELLO_TOO_LONG,
};

/* Of NAME: lower case, no dot behind; a host or an address of IPv4 as it was spelled. Else empty. */
enum hello_result hello_parse(const uint8_t *bytes, size_t size,
			      char ret_name[ALLOW_HOST_BYTES_MAX + 1]);
