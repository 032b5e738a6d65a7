/* SPDX-License-Identifier: MIT */

/*
 * No tunnel has a buffer. What one side sent is read into the one buffer that all share and given to the
 * other side, and what that did not take is put aside until it does. That is bounded for all tunnels
 * together, since a Trial can have hundreds whose one side does not read: while there is no room, what a
 * side sent is only looked at where the kernel keeps it (MSG_PEEK), given to the other, and as much as
 * that took is then taken out (MSG_TRUNC, which copies nothing). That costs a sixth more processor time
 * and no memory. Either way a side that reads slowly holds up its own sender, and nobody else.
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
#include <stdlib.h>
#include <string.h>
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

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		size -= (size_t)n;
	}
	return 0;
}

static void forget_stash(struct tunnel *tunnel, struct tunnel_end *end)
{
	tunnel->shared->stashed -= end->stash_size;
	free(end->stash);
	end->stash = NULL;
	end->stash_size = end->stash_at = 0;
}

static void close_end(struct tunnel *tunnel, struct tunnel_end *end)
{
	if (end->stash)
		forget_stash(tunnel, end);
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

/* How many of these bytes it took: 0 when blocked, or lost. */
static size_t put(struct tunnel *tunnel, struct tunnel_end *to, const char *bytes, size_t size)
{
	ssize_t n;

	do
		n = send(to->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		to->blocked = errno == EAGAIN;
		to->lost = !to->blocked;
		return 0;
	}
	if (other(tunnel, to)->bytes == 0)
		loop_stay_awake(tunnel->loop, TUNNEL_AWAKE_NANOSECONDS);
	other(tunnel, to)->bytes += (uint64_t)n;
	tunnel->shared->bytes += (uint64_t)n;
	to->blocked = (size_t)n < size;
	return (size_t)n;
}

/* Of what was read, and is nowhere else. */
static void put_aside(struct tunnel *tunnel, struct tunnel_end *to, const char *bytes, size_t size)
{
	to->stash = malloc(size);
	if (!to->stash) {
		/* A gap must not look like an end: both are reset. */
		to->lost = other(tunnel, to)->lost = true;
		return;
	}
	memcpy(to->stash, bytes, size);
	to->stash_size = size;
	to->stash_at = 0;
	tunnel->shared->stashed += size;
}

/* It takes bytes again: first those that were put aside. */
static void unblock(struct tunnel *tunnel, struct tunnel_end *to)
{
	to->blocked = false;
	if (!to->stash)
		return;
	to->stash_at += put(tunnel, to, to->stash + to->stash_at, to->stash_size - to->stash_at);
	if (!to->blocked || to->lost)
		forget_stash(tunnel, to);
}

/* The first bytes of the buffer: `peeked` when they are still in from's socket. False: not all went. */
static bool give(struct tunnel *tunnel, struct tunnel_end *from, struct tunnel_end *to, size_t size,
		 bool peeked)
{
	size_t n = put(tunnel, to, tunnel->shared->buffer, size);

	if (peeked && tunnel_consume(from->fd, n) < 0)
		to->lost = true;
	else if (!peeked && to->blocked)
		put_aside(tunnel, to, tunnel->shared->buffer + n, size - n);
	return !to->blocked && !to->lost;
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
	struct tunnel_shared *shared = tunnel->shared;

	for (int i = 0; i < ROUNDS && may_carry(from, to); i++) {
		bool peeks = shared->stashed + TUNNEL_BUFFER_BYTES > TUNNEL_STASHED_MAX;
		ssize_t n = recv(from->fd, shared->buffer, TUNNEL_BUFFER_BYTES,
				 MSG_DONTWAIT | (peeks ? MSG_PEEK : 0));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			from->lost = true;
		if (n <= 0) {
			carry_end(from, to);
			return;
		}
		/* Less than there was room for: that was all, most likely, and else it is told. */
		if (!give(tunnel, from, to, (size_t)n, peeks) || (size_t)n < TUNNEL_BUFFER_BYTES)
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
	if (client->lost && upstream->lost) {
		reset(client->fd);
		reset(upstream->fd);
		finish(tunnel);
		return;
	}
	if (client->ended && upstream->ended && !client->lost && !upstream->lost) {
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
		unblock(tunnel, end);
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
		give(tunnel, &tunnel->client, &tunnel->upstream, peeked, true);
	settle(tunnel);
}
