/* SPDX-License-Identifier: MIT */

/*
 * A Trial's only way out of its network, and the policy of it:
 *
 * - What a connection may go to is decided on the authority of its CONNECT alone: lower-cased, without
 *   the dot behind, as ASCII as it came (no IDNA is applied), no userinfo; an address in any spelling
 *   is an address and must be allowed as such. A host and port that no rule names is refused, and no
 *   name is looked up for it. A head has 16 KiB and 10 seconds, in any pieces; bytes behind it belong
 *   to the tunnel.
 * - Of allowed connections 64 a second are begun, and 256 at once after silence: names are looked up at
 *   that rate at most, and the host's ports are used at that rate. The next one is not refused but waits
 *   for its turn, in the order in which they came, for 8 seconds at most.
 * - An allowed name is looked up once, on the host (10 seconds; answers are kept for 30 seconds,
 *   failures for 5), as it is: no search domain of resolv.conf is tried. A name that nobody waits for
 *   any more is not looked up. Names that a rule spells out go before those of a suffix, which have six
 *   of the eight look-ups.
 * - Each address is judged, and those that passed are what is connected to. Loopback, private, shared,
 *   link-local, multicast, unspecified, unique local, mapped, translated, metadata and reserved addresses
 *   do not pass, unless a rule says that exactly this host and port is internal. Both families are tried
 *   in turns, 250 ms apart, for 10 seconds; who is refused is told what was tried.
 * - Then 200 is said, and the first TLS records are read: 64 KiB, 10 seconds. Their server name must be
 *   the host of the CONNECT; where that is an address, there is no name, or it is that address. No TLS,
 *   no name or another name: the tunnel is closed, and none of it has gone upstream (there was only the
 *   connection itself, to a host that is allowed, which is reset). An internal host and port may speak
 *   what it likes.
 * - Plain HTTP (absolute form) is refused, but to an internal host and port: as plain HTTP, whether or
 *   not the host is allowed, since to allow it would not help.
 * - An end of one side is carried to the other as an end of that direction, a reset as a reset; no byte
 *   that one side sent and the other takes is lost. A tunnel through which nothing went for the idle
 *   time is closed. Both legs have TCP keepalive.
 * - A refusal is a 403 with a line that an agent can read; what could not be done is told as 502, 503 or
 *   504 and why. At most a hundred of them are answered in a second: up to 64 more wait for their turn,
 *   and the rest are closed and only counted. There are at most 512 tunnels; the next one is told 503.
 * - An urgent byte (MSG_OOB) is a byte like others; where one keeps a head or a hello from being read, that
 *   is refused at once.
 * - Whatever was decided is one row's count in the egress, also where the client, or the Trial, ended before
 *   there was a tunnel, and is told as it happens; of what was given up, only a hundred in a second. Of the
 *   1,000 rows at most 500 are of what was refused on its request alone, and at most 750 of all that was not
 *   allowed in the end: a Trial that asks for many names hides none that it reached.
 *
 * Nothing that is not understood is passed on, and nothing can be asked of the proxy but this.
 *
 * What cannot be seen: what is asked for inside the tunnel, such as another host of the same server,
 * and a name that the hello holds encrypted, of which only the outer one is compared.
 *
 * The proxy is in the keeper's own loop and has one timer for all its deadlines. One buffer serves all
 * connections (tunnel.c).
 */
#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/now.h"
#include "proxy_client.h"

#define ACCEPTED_PER_WAKE_UP 16
/* What was lacking for one more connection may be there after that. */
#define ACCEPT_PAUSE_NANOSECONDS 100000000

/* --- Deadlines ------------------------------------------------------------------------------------ */

void proxy_set_due(struct proxy *proxy, int64_t at)
{
	if (at >= proxy->due)
		return;
	proxy->due = at;
	timer_set(&proxy->timer, (double)(at - now_monotonic()) / 1e9);
}

void proxy_client_set_deadline(struct proxy_client *client, int64_t at)
{
	client->deadline = at;
	proxy_set_due(client->proxy, at);
}

static void accept_again(struct proxy *proxy);

static void on_timer(struct timer *timer)
{
	struct proxy *proxy = container_of(timer, struct proxy, timer);
	const int64_t now = now_monotonic();
	struct proxy_client *client, *next;
	int64_t due;

	proxy->due = INT64_MAX;
	/* One that is late may go, others do not go with it. */
	for (client = TAILQ_FIRST(&proxy->clients); client; client = next) {
		next = TAILQ_NEXT(client, entry);
		if (client->deadline <= now)
			proxy_client_late(client, now);
	}
	due = proxy_give_turns(proxy, now);
	TAILQ_FOREACH(client, &proxy->clients, entry)
	if (client->deadline < due)
		due = client->deadline;
	if (proxy->accept_at <= now)
		accept_again(proxy);
	if (proxy->accept_at < due)
		due = proxy->accept_at;
	proxy_set_due(proxy, due);
}

/* --- Accepting ------------------------------------------------------------------------------------ */

/* Until a connection ends, or a moment has passed. */
static void pause_accepting(struct proxy *proxy, int64_t until)
{
	loop_remove(proxy->loop, &proxy->listener_source);
	proxy->paused = true;
	proxy->accept_at = until;
	proxy_set_due(proxy, until);
}

static void accept_again(struct proxy *proxy)
{
	proxy->accept_at = INT64_MAX;
	if (!proxy->paused || proxy->listener < 0 || proxy->client_count >= PROXY_CLIENTS_MAX)
		return;
	if (loop_add(proxy->loop, &proxy->listener_source, proxy->listener, EPOLLIN) == 0)
		proxy->paused = false;
	else
		pause_accepting(proxy, now_monotonic() + ACCEPT_PAUSE_NANOSECONDS);
}

void proxy_has_room(struct proxy *proxy)
{
	/* While it waits for a descriptor it goes by the clock, so that each end is not one try more. */
	if (proxy->paused && proxy->accept_at == INT64_MAX)
		accept_again(proxy);
}

/* 1: one more. 0: none for now. -errno. */
static int accept_one(struct proxy *proxy)
{
	int fd = accept4(proxy->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		int r = proxy_client_new(proxy, fd);

		return r < 0 ? r : 1;
	}
	switch (errno) {
	case EAGAIN:
		return 0;
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
		return 1;
	default:
		return -errno;
	}
}

static void on_listener(struct source *source, uint32_t events)
{
	struct proxy *proxy = container_of(source, struct proxy, listener_source);
	int r = 1;

	(void)events;
	for (int i = 0; i < ACCEPTED_PER_WAKE_UP && r == 1; i++) {
		if (proxy->client_count >= PROXY_CLIENTS_MAX) {
			pause_accepting(proxy, INT64_MAX);
			return;
		}
		r = accept_one(proxy);
	}
	/* Out of descriptors or memory, most likely: the loop would tell of it again and again. */
	if (r < 0)
		pause_accepting(proxy, now_monotonic() + ACCEPT_PAUSE_NANOSECONDS);
}

/* --- Starting and stopping ------------------------------------------------------------------------ */

/* What accepted sockets have from it. */
static int set_listener(int fd)
{
	const int silent_seconds = 1;
	int flags = fcntl(fd, F_GETFL);

	/*
	 * A client speaks first: one that has not yet spoken wakes nobody up, or only after a while. Without
	 * that it is accepted at once, which is as good.
	 */
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_seconds, sizeof(silent_seconds));
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return race_socket_options(fd);
}

int proxy_start(struct proxy *proxy, struct loop *loop, int *listener,
		const struct proxy_policy *policy,
		void (*told)(struct proxy *proxy, const struct egress_event *event))
{
	int r;

	*proxy = (struct proxy){
		.loop = loop,
		.policy = *policy,
		.told = told,
		.listener_source = {.fd = -1, .callback = on_listener},
		.listener = fd_steal(listener),
		.accept_at = INT64_MAX,
		.timer = TIMER_INIT,
		.due = INT64_MAX,
		.egress = EGRESS_INIT,
	};
	TAILQ_INIT(&proxy->clients);
	TAILQ_INIT(&proxy->turns);
	resolver_init(&proxy->resolver, loop);
	/* Pages that nobody writes to cost nothing. */
	proxy->shared.buffer = malloc(TUNNEL_BUFFER_BYTES);
	r = proxy->shared.buffer ? set_listener(proxy->listener) : -ENOMEM;
	if (r == 0)
		r = timer_init(&proxy->timer, loop, on_timer);
	if (r == 0)
		r = loop_add(loop, &proxy->listener_source, proxy->listener, EPOLLIN);
	if (r < 0)
		proxy_stop(proxy);
	return r;
}

void proxy_stop(struct proxy *proxy)
{
	struct proxy_client *client;

	if (!proxy->loop)
		return;
	loop_remove(proxy->loop, &proxy->listener_source);
	proxy->listener = fd_close(proxy->listener);
	proxy->stopping = true;
	while ((client = TAILQ_FIRST(&proxy->clients)))
		proxy_client_free(client);
	if (proxy->timer.source.fd >= 0)
		timer_done(&proxy->timer, proxy->loop);
	resolver_done(&proxy->resolver);
	free(proxy->shared.buffer);
	proxy->shared.buffer = NULL;
	proxy->loop = NULL;
}

void proxy_done(struct proxy *proxy)
{
	proxy_stop(proxy);
	egress_done(&proxy->egress);
}

uint64_t proxy_bytes(const struct proxy *proxy)
{
	return proxy->shared.bytes;
}

const struct egress *proxy_egress(const struct proxy *proxy)
{
	return &proxy->egress;
}
