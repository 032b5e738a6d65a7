/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "allow.h"
#include "base/loop.h"
#include "egress.h"
#include "resolve.h"
#include "tunnel.h"

/* A Trial's way out: a proxy on a listening socket of the sandbox's own network. proxy.c has the policy. */
#define PROXY_TUNNELS_MAX 512
/* With those that have not said yet what they want, and those that are told no. */
#define PROXY_CLIENTS_MAX (PROXY_TUNNELS_MAX + 64)
/* Open files of that: two for a tunnel, a few more for each that is being connected. */
#define PROXY_DESCRIPTORS (2 * PROXY_CLIENTS_MAX + 128)
#define PROXY_IDLE_SECONDS (30 * 60.0)
/* Connections to hosts that are begun: so many a second, and so many at once after silence. */
#define PROXY_TURNS_A_SECOND 64
#define PROXY_TURNS_AT_ONCE 256

/* Borrowed for as long as the proxy runs. */
struct proxy_policy {
	const struct allow_rule *rules;
	size_t rule_count;
	/* What would be internal if it were allowed: such a refusal is for that alone. */
	const struct allow_rule *internals;
	size_t internal_count;
	/* What a refusal says, one line, in which HOST:PORT stands for what was asked for; NULL: the usual. */
	const char *refusal;
	double idle_seconds; /* a tunnel that nothing goes through ends; 0: the usual */
};

struct proxy_client;

struct proxy {
	struct loop *loop; /* NULL: not started */
	struct proxy_policy policy;
	void (*told)(struct proxy *proxy, const struct egress_event *event);
	struct source listener_source;
	int listener;
	bool paused; /* the listener is not in the loop */
	bool stopping;
	int64_t accept_at; /* monotonic, nanoseconds, as all below; INT64_MAX: once a connection ends */
	struct timer timer; /* the one for all, set to `due` */
	int64_t due;
	int64_t refuse_at;  /* when the next refusal may be answered */
	int64_t give_up_at; /* when the next one that was given up may be told */
	struct resolver resolver;
	TAILQ_HEAD(, proxy_client) clients;
	TAILQ_HEAD(, proxy_client) turns; /* those that wait for theirs to be connected */
	int64_t turn_at;		  /* when the next one may be, if none was for long */
	size_t client_count;
	size_t tunnel_count;
	uint64_t number; /* of the last tunnel */
	struct tunnel_shared shared;
	struct egress egress;
};

/*
 * Takes the listener over, also when it fails; it must be listening. told is called from the loop for
 * each event, and must not stop the proxy. -errno.
 */
int proxy_start(struct proxy *proxy, struct loop *loop, int *listener,
		const struct proxy_policy *policy,
		void (*told)(struct proxy *proxy, const struct egress_event *event));
/*
 * Closes the listener and all tunnels, and tells their end. The egress stays. Safe for one that is all
 * zero, and twice. Before the keeper clones a child: see resolve.c.
 */
void proxy_stop(struct proxy *proxy);
/* And forgets the egress. */
void proxy_done(struct proxy *proxy);

/* Of all tunnels, both ways, so far. */
uint64_t proxy_bytes(const struct proxy *proxy);
const struct egress *proxy_egress(const struct proxy *proxy);
