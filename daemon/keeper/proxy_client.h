/* SPDX-License-Identifier: MIT */
#pragma once

#include "proxy.h"
#include "race.h"
#include "tunnel.h"

#define PROXY_SECOND ((int64_t)1000000000) /* of deadlines */

/* One connection that came from the sandbox; shared by proxy.c, proxy_client.c and proxy_reach.c only. */
enum proxy_state {
	PROXY_HEAD,	 /* what it wants is being read */
	PROXY_LOOK_UP,	 /* its turn has to come, or the name is looked up */
	PROXY_RACE,	 /* an address is being connected to */
	PROXY_HELLO,	 /* it was told 200; its first TLS record is awaited */
	PROXY_OPEN,	 /* bytes go */
	PROXY_REFUSED,	 /* waits for its turn to be told no */
	PROXY_LINGERING, /* was told, and is heard out so that it gets to read it */
};

struct proxy_client;

struct proxy_race {
	struct race race;
	struct proxy_client *client;
};

struct proxy_client {
	struct proxy *proxy;
	TAILQ_ENTRY(proxy_client) entry;
	TAILQ_ENTRY(proxy_client) turn; /* while queued */
	enum proxy_state state;
	bool tunneling; /* one of the tunnels that are counted */
	bool plain;	/* absolute form, and not CONNECT */
	bool internal;
	bool exact;   /* allowed by its name, and not by a suffix */
	bool queued;  /* waits for its turn */
	bool counted; /* it has its row, which is one */
	bool opened;  /* it was told that it is allowed: its end will be too */
	struct allow_host host;
	uint64_t number;
	int64_t deadline;
	int64_t give_up_at; /* while read or racing, beside a nearer deadline */
	size_t seen;	    /* of head or hello, when it was last looked at */
	struct resolve_wait wait;
	struct proxy_race *race; /* while racing */
	char *answer;		 /* while refused */
	size_t egress;		 /* its entry */
	struct tunnel tunnel;
};

/* proxy_client.c: one more that was accepted. Its descriptor is closed when it fails. */
int proxy_client_new(struct proxy *proxy, int fd);
/* Closes it and forgets it. */
void proxy_client_free(struct proxy_client *client);
/* Its deadline has come. May free it. */
void proxy_client_late(struct proxy_client *client, int64_t now);

struct proxy_refusal {
	enum verdict verdict;
	unsigned status;    /* 0: the verdict's own */
	const char *detail; /* what it comes from, or NULL */
	const struct sockaddr_storage *addresses;
	size_t address_count;
};

/* Counts it, tells it and answers, now or in its turn. May free it. */
void proxy_client_refuse(struct proxy_client *client, const struct proxy_refusal *refusal);
/* There is a socket for it, connected. May free it. */
void proxy_client_connected(struct proxy_client *client, int fd);

/* proxy_reach.c: what it wants is allowed. Leads to one of the two above. */
void proxy_client_reach(struct proxy_client *client);
void proxy_client_reach_late(struct proxy_client *client, int64_t now);
void proxy_client_stop_reaching(struct proxy_client *client);
/* Begins with those whose turn it is; when the next one's will be, or INT64_MAX. May free some. */
int64_t proxy_give_turns(struct proxy *proxy, int64_t now);
/* Those that it began to connect to. */
size_t proxy_client_tried(const struct proxy_client *client,
			  struct sockaddr_storage ret[RACE_ADDRESSES_MAX]);

/* proxy.c */
void proxy_client_set_deadline(struct proxy_client *client, int64_t at);
/* The timer comes then, or before. */
void proxy_set_due(struct proxy *proxy, int64_t at);
/* One has ended: the next may be accepted. */
void proxy_has_room(struct proxy *proxy);
