/* SPDX-License-Identifier: MIT */

/*
 * No tunnel has a buffer. What one side sent is looked at where the kernel keeps it (MSG_PEEK), given
 * to the other side, and as much of it as that took is then taken out (MSG_TRUNC, which copies
 * nothing). So a side that reads slowly holds up its own sender, through the kernel's buffers, and
 * nothing else; and there is nothing to lose here when either side goes.
 *
 * The loop is level-triggered: a side is only waited for while something can be done about what it
 * would say. What cannot be masked is that a socket is over both ways (EPOLLHUP, EPOLLERR): such a one
 * is taken out of the loop for as long as nothing is wanted of it.
 *
 * A write that fails says that the other side is gone, not that it had sent nothing before: what it
 * sent is still read and delivered, and then the reset is passed on.
 */
#include "tunnel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/now.h"

/* Before the other tunnels have their turn. */
#define ROUNDS 4
/* A peer that is to be reset, and takes nothing of what was sent to it, is waited for so long. */
#define DRAIN_SECONDS 10

static struct tunnel_end *other(struct tunnel *tunnel, const struct tunnel_end *end)
{
	return end == &tunnel->client ? &tunnel->upstream : &tunnel->client;
}

void tunnel_watch(struct tunnel *tunnel, struct tunnel_end *end, uint32_t events)
{
	if (events == 0 && end->hung)
		loop_remove(tunnel->loop, &end->source);
	else if (end->source.fd < 0)
		loop_add(tunnel->loop, &end->source, end->fd, events);
	else if (events != end->events)
		loop_change(tunnel->loop, &end->source, events);
	end->events = events;
}

int tunnel_consume(int fd, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(fd, NULL, size, MSG_TRUNC | MSG_DONTWAIT);

		if (n <= 0)
			return n < 0 && errno == EINTR ? 0 : -EIO;
		size -= (size_t)n;
	}
	return 0;
}

static void close_end(struct tunnel *tunnel, struct tunnel_end *end)
{
	loop_remove(tunnel->loop, &end->source);
	end->fd = fd_close(end->fd);
}

void tunnel_done(struct tunnel *tunnel)
{
	close_end(tunnel, &tunnel->client);
	close_end(tunnel, &tunnel->upstream);
}

static void finish(struct tunnel *tunnel)
{
	tunnel_done(tunnel);
	tunnel->over(tunnel);
}

/* --- Carrying ------------------------------------------------------------------------------------- */

/* The first bytes of the buffer, which are also the first that `from` has. False: not all of them. */
static bool give(struct tunnel *tunnel, struct tunnel_end *from, struct tunnel_end *to, size_t size)
{
	ssize_t n;

	do
		n = send(to->fd, tunnel->buffer, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		to->blocked = true;
		return false;
	}
	if (n < 0 || tunnel_consume(from->fd, (size_t)n) < 0) {
		to->lost = true;
		return false;
	}
	from->bytes += (uint64_t)n;
	*tunnel->total += (uint64_t)n;
	to->blocked = (size_t)n < size;
	return !to->blocked;
}

static void carry_end(struct tunnel_end *from, struct tunnel_end *to)
{
	from->ended = true;
	if (from->lost)
		return;
	if (!to->lost && shutdown(to->fd, SHUT_WR) < 0)
		to->lost = true;
	to->shut = true;
}

static bool may_carry(const struct tunnel_end *from, const struct tunnel_end *to)
{
	return !from->ended && !to->blocked && !to->lost;
}

static void carry(struct tunnel *tunnel, struct tunnel_end *from, struct tunnel_end *to)
{
	for (int i = 0; i < ROUNDS && may_carry(from, to); i++) {
		ssize_t n = recv(from->fd, tunnel->buffer, TUNNEL_BUFFER_BYTES,
				 MSG_PEEK | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			from->lost = true;
		if (n <= 0) {
			carry_end(from, to);
			return;
		}
		/* Less than there was room for: that was all, most likely, and else it is told. */
		if (!give(tunnel, from, to, (size_t)n) || (size_t)n < TUNNEL_BUFFER_BYTES)
			return;
	}
}

/* --- Ending --------------------------------------------------------------------------------------- */

static void reset(int fd)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* The other side was reset: so is this one, once it has what was sent to it before. */
static void begin_drain(struct tunnel *tunnel, struct tunnel_end *end)
{
	close_end(tunnel, other(tunnel, end));
	loop_remove(tunnel->loop, &end->source);
	tunnel->draining = end;
	tunnel->active_at = now_monotonic();
	tunnel_drain(tunnel);
}

void tunnel_drain(struct tunnel *tunnel)
{
	const int64_t now = now_monotonic();
	int queued = 0;

	if (ioctl(tunnel->draining->fd, SIOCOUTQ, &queued) < 0)
		queued = 0;
	if (queued < tunnel->queued)
		tunnel->active_at = now;
	tunnel->queued = queued;
	if (queued > 0 && now - tunnel->active_at < DRAIN_SECONDS * (int64_t)1000000000) {
		tunnel->later(tunnel);
		return;
	}
	reset(tunnel->draining->fd);
	finish(tunnel);
}

static uint32_t wanted(const struct tunnel_end *end, const struct tunnel_end *to)
{
	return (may_carry(end, to) ? EPOLLIN : 0u) | (end->blocked ? EPOLLOUT : 0u);
}

/* What is to be waited for now, or the end. */
static void settle(struct tunnel *tunnel)
{
	struct tunnel_end *client = &tunnel->client, *upstream = &tunnel->upstream;
	struct tunnel_end *ends[2] = {client, upstream};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct tunnel_end *end = ends[i];

		/* Over both ways, though only it had ended: it was reset. */
		if (end->hung && end->ended && !end->shut)
			end->lost = true;
	}
	if ((client->ended && upstream->ended && !client->lost && !upstream->lost) ||
	    (client->lost && upstream->lost)) {
		finish(tunnel);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i]->lost && ends[i]->ended) {
			begin_drain(tunnel, other(tunnel, ends[i]));
			return;
		}
	tunnel_watch(tunnel, client, wanted(client, upstream));
	tunnel_watch(tunnel, upstream, wanted(upstream, client));
}

static void on_end(struct tunnel *tunnel, struct tunnel_end *end, uint32_t events)
{
	struct tunnel_end *to = other(tunnel, end);

	tunnel->active_at = now_monotonic();
	if (events & (EPOLLERR | EPOLLHUP))
		end->hung = true;
	if (end->blocked && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
		end->blocked = false;
		carry(tunnel, to, end);
	}
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		carry(tunnel, end, to);
	settle(tunnel);
}

static void on_client(struct source *source, uint32_t events)
{
	struct tunnel *tunnel = container_of(source, struct tunnel, client.source);

	on_end(tunnel, &tunnel->client, events);
}

static void on_upstream(struct source *source, uint32_t events)
{
	struct tunnel *tunnel = container_of(source, struct tunnel, upstream.source);

	on_end(tunnel, &tunnel->upstream, events);
}

void tunnel_start(struct tunnel *tunnel, size_t peeked)
{
	tunnel->client.source.callback = on_client;
	tunnel->upstream.source.callback = on_upstream;
	tunnel->active_at = now_monotonic();
	if (peeked > 0)
		give(tunnel, &tunnel->client, &tunnel->upstream, peeked);
	settle(tunnel);
}
