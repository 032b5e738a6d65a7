/* SPDX-License-Identifier: MIT */
#pragma once

#include <nettle/sha2.h>

#include "proto/message.h"

/*
 * What a key stands for: the launch as it is stored, and the SHA-256 of its prompt (zeros: it has
 * none). A launch of the shipped default network is the same launch whether it says so or not: what is
 * stored says it, and what was stored before there was that default does not. Nor does that say that
 * there is a prompt. The body is to be freed.
 */
int key_body(const struct blob *spec, const uint8_t prompt[SHA256_DIGEST_SIZE],
	     struct blob *ret_body);

/*
 * The launch of it, without what does not count: 1; 0 when all of it does. It points into *ret_message. What
 * makes no sense is an empty one.
 */
int key_launch(const struct blob *spec, struct message **ret_message,
	       struct launch_request *ret_launch);
