/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "allow.h"
#include "proto/message.h"

/* What the proxy says to a client that it does not serve. Pure. */
#define PROXY_ANSWER_BYTES_MAX 4096
#define PROXY_TEXT_BYTES_MAX 1024
#define PROXY_REFUSAL "blocked by policy: HOST:PORT is not allowed; do not retry or work around"

/*
 * The line that a person or an agent reads. host: NULL where it was not understood. refusal: as of
 * proxy_policy. detail: what the verdict came from, or NULL.
 */
void proxy_answer_text(enum verdict verdict, const struct allow_host *host, const char *refusal,
		       const char *detail, char text[PROXY_TEXT_BYTES_MAX]);
/*
 * A whole response. The text is its body and, where it can be, also its reason phrase, which is all
 * that many clients show of a CONNECT that failed; Proxy-Status (RFC 9209) is for those that read it.
 */
size_t proxy_answer(enum verdict verdict, unsigned status, const char *text,
		    char answer[PROXY_ANSWER_BYTES_MAX]);
