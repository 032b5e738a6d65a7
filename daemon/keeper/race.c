/* SPDX-License-Identifier: MIT */
#include "race.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"

/* A peer that is gone is noticed after two minutes. */
#define KEEPALIVE_IDLE_SECONDS 60
#define KEEPALIVE_INTERVAL_SECONDS 15
#define KEEPALIVE_COUNT 4

int race_socket_options(int fd)
{
	const int on = 1, idle = KEEPALIVE_IDLE_SECONDS, interval = KEEPALIVE_INTERVAL_SECONDS,
		  count = KEEPALIVE_COUNT;

	/* A kernel without one of them carries bytes all the same. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	return setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) < 0 ? -errno : 0;
}

static void reset_when_closed(int fd, bool yes)
{
	const struct linger linger = {.l_onoff = yes, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void race_keep(int fd)
{
	reset_when_closed(fd, false);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

static socklen_t size_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

/* The next one of that family, or of the others; count: none. */
static size_t next_of(const struct sockaddr_storage *addresses, size_t count, size_t from,
		      sa_family_t family, bool same)
{
	while (from < count && (addresses[from].ss_family == family) != same)
		from++;
	return from;
}

void race_init(struct race *race, struct loop *loop, const struct sockaddr_storage *addresses,
	       size_t count, uint16_t port)
{
	const sa_family_t family = addresses[0].ss_family;
	size_t at[2] = {next_of(addresses, count, 0, family, false), 0};
	bool same = true;

	*race = (struct race){.loop = loop};
	while (race->count < RACE_ADDRESSES_MAX && (at[0] < count || at[1] < count)) {
		struct race_attempt *attempt = &race->attempts[race->count];

		if (at[same] < count) {
			*attempt = (struct race_attempt){.source = SOURCE_INIT,
							 .race = race,
							 .address = addresses[at[same]],
							 .fd = -1};
			set_port(&attempt->address, port);
			race->count++;
			at[same] = next_of(addresses, count, at[same] + 1, family, same);
		}
		same = !same;
	}
}

static void drop(struct race_attempt *attempt)
{
	struct race *race = attempt->race;

	if (attempt->fd < 0)
		return;
	loop_remove(race->loop, &attempt->source);
	attempt->fd = fd_close(attempt->fd);
	race->open--;
}

static void win(struct race_attempt *attempt)
{
	struct race *race = attempt->race;
	int fd;

	loop_remove(race->loop, &attempt->source);
	fd = fd_steal(&attempt->fd);
	race->open--;
	race_done(race);
	race->done(race, fd);
}

static bool begin_more(struct race *race);

static void on_attempt(struct source *source, uint32_t events)
{
	struct race_attempt *attempt = container_of(source, struct race_attempt, source);
	struct race *race = attempt->race;
	socklen_t size = sizeof(attempt->error);

	(void)events;
	if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &attempt->error, &size) < 0)
		attempt->error = errno;
	if (attempt->error == 0) {
		win(attempt);
		return;
	}
	drop(attempt);
	/* No use in waiting for the turn of the next one. */
	begin_more(race);
}

/* 1: connected. 0: it will be told. -errno. */
static int begin(struct race_attempt *attempt)
{
	struct race *race = attempt->race;
	const struct sockaddr *address = (const struct sockaddr *)(const void *)&attempt->address;
	int r;

	attempt->fd = socket(attempt->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			     IPPROTO_TCP);
	if (attempt->fd < 0)
		return -errno;
	race->open++;
	r = race_socket_options(attempt->fd);
	if (r < 0)
		return r;
	reset_when_closed(attempt->fd, true);
	if (connect(attempt->fd, address, size_of(&attempt->address)) == 0)
		return 1;
	/* A peer on this machine has answered by now: a second call tells, and saves a turn of the loop. */
	if (errno == EINPROGRESS && connect(attempt->fd, address, size_of(&attempt->address)) == 0)
		return 1;
	if (errno != EINPROGRESS && errno != EALREADY)
		return -errno;
	attempt->source.callback = on_attempt;
	return loop_add(race->loop, &attempt->source, attempt->fd, EPOLLOUT);
}

/* The next one, and those behind it while they fail at once. False: the race is over. */
static bool begin_more(struct race *race)
{
	struct race_attempt *attempt;
	int r;

	while (race->begun < race->count && race->open < RACE_OPEN_MAX) {
		attempt = &race->attempts[race->begun++];
		r = begin(attempt);
		if (r == 1) {
			win(attempt);
			return false;
		}
		if (r == 0) {
			race->next_at = now_monotonic() + RACE_STAGGER_NANOSECONDS;
			return true;
		}
		attempt->error = -r;
		drop(attempt);
	}
	if (race->open > 0 || race->begun < race->count)
		return true;
	race->done(race, -race->attempts[race->count - 1].error);
	return false;
}

bool race_tick(struct race *race)
{
	return now_monotonic() < race->next_at || begin_more(race);
}

int64_t race_next(const struct race *race)
{
	if (race->begun == race->count)
		return INT64_MAX;
	return race->open < RACE_OPEN_MAX ? race->next_at
					  : now_monotonic() + RACE_STAGGER_NANOSECONDS;
}

void race_done(struct race *race)
{
	for (size_t i = 0; i < race->count; i++)
		drop(&race->attempts[i]);
}

void race_address_text(const struct sockaddr_storage *address, char *buffer, size_t size)
{
	const void *bytes =
		address->ss_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)(const void *)address)
				  ->sin6_addr
			: (const void *)&((const struct sockaddr_in *)(const void *)address)
				  ->sin_addr;

	if (!inet_ntop(address->ss_family, bytes, buffer, (socklen_t)size))
		snprintf(buffer, size, "?");
}

void race_text(const struct race *race, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < race->begun && used < size; i++) {
		const struct race_attempt *attempt = &race->attempts[i];
		char text[INET6_ADDRSTRLEN];
		int n;

		race_address_text(&attempt->address, text, sizeof(text));
		n = snprintf(buffer + used, size - used, "%s%s (%s)", used ? ", " : "", text,
			     attempt->error ? strerror(attempt->error) : "no answer");
		used += n > 0 ? (size_t)n : 0;
	}
}
