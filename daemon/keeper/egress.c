/* SPDX-License-Identifier: MIT */
#include "egress.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 8

/* FNV-1a. Who chooses names so that all are one hash only makes his own proxy compare them. */
static uint32_t hash_of(const struct egress_event *event)
{
	uint32_t hash = 2166136261u;

	for (const char *at = event->host; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619u;
	hash = (hash ^ event->port) * 16777619u;
	return (hash ^ (uint32_t)event->verdict) * 16777619u;
}

static struct egress_entry *find(struct egress *egress, const struct egress_event *event,
				 uint32_t hash)
{
	for (size_t i = 0; i < egress->count; i++) {
		struct egress_entry *entry = &egress->entries[i];

		if (entry->hash == hash && entry->port == event->port &&
		    entry->verdict == event->verdict && strcmp(entry->host, event->host) == 0)
			return entry;
	}
	return NULL;
}

static bool grow(struct egress *egress)
{
	size_t capacity = egress->capacity ? egress->capacity * 2 : FIRST_CAPACITY;
	struct egress_entry *entries;

	if (egress->count < egress->capacity)
		return true;
	if (capacity > EGRESS_ENTRIES_MAX)
		capacity = EGRESS_ENTRIES_MAX;
	entries = reallocarray(egress->entries, capacity, sizeof(*entries));
	if (!entries)
		return false;
	egress->entries = entries;
	egress->capacity = capacity;
	return true;
}

/* Nothing was done for it: neither was a name looked up nor a connection begun. */
static bool is_refused(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_not_allowed:
	case VERDICT_plain_http:
	case VERDICT_bad_request:
	case VERDICT_too_many:
		return true;
	default:
		return false;
	}
}

static bool has_room(const struct egress *egress, enum verdict verdict)
{
	if (is_refused(verdict) && egress->refused_count == EGRESS_REFUSED_MAX)
		return false;
	if (verdict != VERDICT_allowed && egress->not_allowed_count == EGRESS_NOT_ALLOWED_MAX)
		return false;
	return egress->count < EGRESS_ENTRIES_MAX;
}

static struct egress_entry *add(struct egress *egress, const struct egress_event *event,
				uint32_t hash)
{
	struct egress_entry *entry;
	char *host;

	if (!has_room(egress, event->verdict) || !grow(egress))
		return NULL;
	host = strdup(event->host);
	if (!host)
		return NULL;
	entry = &egress->entries[egress->count++];
	egress->refused_count += is_refused(event->verdict);
	egress->not_allowed_count += event->verdict != VERDICT_allowed;
	*entry = (struct egress_entry){
		.host = host,
		.port = event->port,
		.verdict = event->verdict,
		.first_at = event->at,
		.hash = hash,
	};
	return entry;
}

static bool address_from(const struct sockaddr_storage *from, struct egress_address *ret)
{
	*ret = (struct egress_address){.family = from->ss_family};
	if (from->ss_family == AF_INET)
		ret->v4 = ((const struct sockaddr_in *)(const void *)from)->sin_addr;
	else if (from->ss_family == AF_INET6)
		ret->v6 = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	else
		return false;
	return true;
}

static bool same_address(const struct egress_address *a, const struct egress_address *b)
{
	if (a->family != b->family)
		return false;
	return a->family == AF_INET ? a->v4.s_addr == b->v4.s_addr
				    : IN6_ARE_ADDR_EQUAL(&a->v6, &b->v6);
}

static void add_address(struct egress_entry *entry, const struct sockaddr_storage *from)
{
	struct egress_address address;

	if (entry->address_count == EGRESS_ADDRESSES_MAX || !address_from(from, &address))
		return;
	for (size_t i = 0; i < entry->address_count; i++)
		if (same_address(&entry->addresses[i], &address))
			return;
	entry->addresses[entry->address_count++] = address;
}

size_t egress_count(struct egress *egress, const struct egress_event *event)
{
	uint32_t hash = hash_of(event);
	struct egress_entry *entry = find(egress, event, hash);

	if (!entry)
		entry = add(egress, event, hash);
	if (!entry) {
		egress->more_count++;
		return EGRESS_MORE;
	}
	entry->count++;
	for (size_t i = 0; i < event->address_count; i++)
		add_address(entry, &event->addresses[i]);
	return (size_t)(entry - egress->entries);
}

void egress_add_bytes(struct egress *egress, size_t entry, uint64_t sent, uint64_t received)
{
	if (entry < egress->count) {
		egress->entries[entry].sent_bytes += sent;
		egress->entries[entry].received_bytes += received;
	} else {
		egress->more_sent_bytes += sent;
		egress->more_received_bytes += received;
	}
}

void egress_done(struct egress *egress)
{
	for (size_t i = 0; i < egress->count; i++)
		free(egress->entries[i].host);
	free(egress->entries);
	*egress = EGRESS_INIT;
}

void egress_address_text(const struct egress_address *address, char text[INET6_ADDRSTRLEN])
{
	text[0] = '\0';
	inet_ntop(address->family, &address->v4, text, INET6_ADDRSTRLEN);
}
