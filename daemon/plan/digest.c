/* SPDX-License-Identifier: MIT */
#include "build.h"

#include "harness_words.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

/*
 * What makes two plans equal. The arguments name destinations and descriptor numbers only, so the
 * operations' sources and the files' contents (as their own digests) go in as well. Every part is
 * preceded by its length: no two lists give the same bytes.
 */

static void add_bytes(struct sha256_ctx *hash, const void *bytes, size_t size)
{
	uint8_t length[8];

	for (size_t i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)((uint64_t)size >> (8 * i));
	sha256_update(hash, sizeof(length), length);
	sha256_update(hash, size, bytes);
}

static void add_text(struct sha256_ctx *hash, const char *text)
{
	add_bytes(hash, text ? text : "", text ? strlen(text) : 0);
}

static void add_number(struct sha256_ctx *hash, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s=%.17g", name, value);
	add_text(hash, text);
}

static void add_list(struct sha256_ctx *hash, const struct text_list *list)
{
	add_number(hash, "count", (double)list->count);
	for (size_t i = 0; i < list->count; i++)
		add_text(hash, list->items[i]);
}

#define DIGEST_LIMIT_(name, type, presence, limit, doc)                                            \
	if (plan->limits.has.name)                                                                 \
		add_number(&hash, #name, (double)plan->limits.name);

int plan_digest(const struct plan *plan, const struct text_list *arguments, char ret_digest[65])
{
	struct sha256_ctx hash;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&hash);
	add_list(&hash, arguments);
	for (size_t i = 0; i < plan->operation_count; i++) {
		const struct plan_operation *operation = &plan->operations[i];

		add_text(&hash, operation->source);
		add_bytes(&hash, operation->file ? (const void *)operation->file->digest : "",
			  operation->file ? sizeof(operation->file->digest) : 0);
	}
	add_list(&hash, &plan->command);
	add_text(&hash, plan->cwd);
	add_number(&hash, "variables", (double)plan->environment.count);
	for (size_t i = 0; i < plan->environment.count; i++) {
		const struct pair *pair = &plan->environment.items[i];

		add_text(&hash, pair->name);
		/* A digest of a secret would let others try whether they have it. */
		add_text(&hash, words_have(&plan->secrets, pair->name) ? NULL : pair->value);
	}
	LIMITS_FIELDS(DIGEST_LIMIT_)
	if (plan->network == NETWORK_allowlist) {
		add_list(&hash, &plan->hosts);
		add_list(&hash, &plan->internal);
		add_number(&hash, "idle", plan->idle_seconds);
	}
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_digest, sizeof(digest), digest);
	ret_digest[64] = '\0';
	return 0;
}
