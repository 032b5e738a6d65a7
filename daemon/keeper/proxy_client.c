/* SPDX-License-Identifier: MIT */

/*
 * A connection's way from its first byte to its tunnel, or to a no; proxy.c has the policy.
 *
 * Until a tunnel is open nothing that the client sent is taken out of its socket but the head of a
 * CONNECT: head and hello are looked at where they are, and SO_RCVLOWAT says to wake up once there is
 * more than what was seen. So bytes that follow a head belong to the tunnel by themselves, and what goes
 * upstream first is the very buffer in which the hello was read. Urgent bytes stay in line: else one
 * could be taken out of a hello after it was looked at. What is behind one cannot be looked at before
 * what precedes it was taken: a head or hello with one inside is refused.
 */
#include "proxy_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "base/now.h"
#include "connect.h"
#include "hello.h"
#include "proxy_answer.h"

#define HEAD_SECONDS 10
#define HELLO_SECONDS 10
#define LINGER_SECONDS 2
/* Without news one that woke the proxy up is not heard for so long. */
#define PAUSE_NANOSECONDS 20000000
/* Refusals that are answered: a hundred at once after a second of silence, a hundred a second else. */
#define REFUSALS_A_SECOND 100
/* And so many wait for their turn. */
#define REFUSALS_WAITING_MAX 64

_Static_assert(HELLO_BYTES_MAX <= TUNNEL_BUFFER_BYTES &&
		       CONNECT_HEAD_BYTES_MAX + CONNECT_ORIGIN_BYTES_MAX <= TUNNEL_BUFFER_BYTES,
	       "what is looked at must have room in the buffer");

static int client_fd(const struct proxy_client *client)
{
	return client->tunnel.client.fd;
}

static void watch_client(struct proxy_client *client, uint32_t events)
{
	tunnel_watch(&client->tunnel, &client->tunnel.client, events);
}

/* Wakes up once so many bytes are there to be read. */
static void await_bytes(const struct proxy_client *client, size_t size)
{
	const int mark = (int)size;

	setsockopt(client_fd(client), SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark));
}

/* --- Looking at what it sent ---------------------------------------------------------------------- */

static void listen_to(struct proxy_client *client)
{
	watch_client(client, EPOLLIN | EPOLLRDHUP);
	proxy_client_set_deadline(client, client->give_up_at);
}

/* A head, or a hello, from its first byte. */
static void begin_looking(struct proxy_client *client, enum proxy_state state, int seconds)
{
	client->state = state;
	client->seen = 0;
	client->give_up_at = now_monotonic() + seconds * PROXY_SECOND;
	await_bytes(client, 1);
	listen_to(client);
}

/* As of recv. *ret_urgent: more is there, and an urgent byte is before it. */
static ssize_t look(const struct proxy_client *client, char *buffer, size_t size, bool *ret_urgent)
{
	int there = 0;
	ssize_t n;

	/* First: what comes in between can only make it more that is seen. */
	if (ioctl(client_fd(client), FIONREAD, &there) < 0)
		there = 0;
	n = recv(client_fd(client), buffer, size, MSG_PEEK | MSG_DONTWAIT);
	*ret_urgent = n > 0 && (size_t)n < size && n < there;
	return n;
}

/*
 * It has to be `wanted` bytes, and is `seen` so far. A kernel that is short of memory, or whose buffers
 * are smaller than the mark, tells of what is there all the time, whatever the mark is: then it is asked
 * again by the clock.
 */
static void look_again(struct proxy_client *client, size_t seen, size_t wanted)
{
	int64_t at = now_monotonic() + PAUSE_NANOSECONDS;

	if (seen > client->seen) {
		client->seen = seen;
		await_bytes(client, wanted);
		return;
	}
	watch_client(client, 0);
	proxy_client_set_deadline(client, at < client->give_up_at ? at : client->give_up_at);
}

/* --- Telling -------------------------------------------------------------------------------------- */

static struct egress_event event_of(const struct proxy_client *client, enum verdict verdict,
				    const char *detail)
{
	return (struct egress_event){
		.opened = true,
		.tunnel = client->number,
		.at = (int64_t)now_microseconds(),
		.host = client->host.name,
		.port = client->host.port,
		.verdict = verdict,
		.detail = detail,
	};
}

static void tell(struct proxy_client *client, const struct egress_event *event, bool also_told)
{
	struct proxy *proxy = client->proxy;

	client->egress = egress_count(&proxy->egress, event);
	client->counted = true;
	if (also_told && proxy->told)
		proxy->told(proxy, event);
	else
		proxy->egress.untold++;
}

static void tell_end(struct proxy_client *client)
{
	struct proxy *proxy = client->proxy;
	struct egress_event event = event_of(client, VERDICT_allowed, NULL);

	event.opened = false;
	event.sent_bytes = client->tunnel.client.bytes;
	event.received_bytes = client->tunnel.upstream.bytes;
	if (client->counted)
		egress_add_bytes(&proxy->egress, client->egress, event.sent_bytes,
				 event.received_bytes);
	if (client->opened && proxy->told)
		proxy->told(proxy, &event);
}

static size_t upstream_address(const struct proxy_client *client, struct sockaddr_storage *ret)
{
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_storage){0};
	return getpeername(client->tunnel.upstream.fd, (struct sockaddr *)ret, &size) == 0;
}

/* It is none of the tunnels any more, or was none. */
static void stop_tunneling(struct proxy_client *client)
{
	if (client->tunneling)
		client->proxy->tunnel_count--;
	client->tunneling = false;
}

/* --- Saying no ------------------------------------------------------------------------------------ */

/* When the next one has its turn; -1: so many wait already. */
static int64_t take_turn(int64_t *next, int64_t now, int64_t waiting)
{
	const int64_t step = PROXY_SECOND / REFUSALS_A_SECOND;
	int64_t at = *next;

	if (at < now - PROXY_SECOND + step)
		at = now - PROXY_SECOND + step;
	if (at > now + waiting * step)
		return -1;
	*next = at + step;
	return at > now ? at : now;
}

static int64_t turn_of_refusal(struct proxy *proxy, int64_t now)
{
	return take_turn(&proxy->refuse_at, now, REFUSALS_WAITING_MAX);
}

static void linger(struct proxy_client *client)
{
	client->state = PROXY_LINGERING;
	shutdown(client_fd(client), SHUT_WR);
	await_bytes(client, 1);
	watch_client(client, EPOLLIN);
	proxy_client_set_deadline(client, now_monotonic() + LINGER_SECONDS * PROXY_SECOND);
}

static bool send_all(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

static void send_refusal(struct proxy_client *client)
{
	const char *answer = client->answer;

	/* Nothing was sent to it before, so that there is room for it, or the client is gone. */
	if (!send_all(client_fd(client), answer, strlen(answer))) {
		proxy_client_free(client);
		return;
	}
	linger(client);
}

void proxy_client_refuse(struct proxy_client *client, const struct proxy_refusal *refusal)
{
	struct proxy *proxy = client->proxy;
	struct egress_event event = event_of(client, refusal->verdict, refusal->detail);
	char text[PROXY_TEXT_BYTES_MAX], answer[PROXY_ANSWER_BYTES_MAX];
	int64_t now = now_monotonic(), turn;

	event.addresses = refusal->addresses;
	event.address_count = refusal->address_count;
	stop_tunneling(client);
	turn = turn_of_refusal(proxy, now);
	tell(client, &event, turn >= 0);
	proxy_answer_text(refusal->verdict, client->host.port ? &client->host : NULL,
			  proxy->policy.refusal, refusal->detail, text);
	proxy_answer(refusal->verdict, refusal->status, text, answer);
	client->answer = turn < 0 ? NULL : strdup(answer);
	if (!client->answer) {
		proxy_client_free(client);
		return;
	}
	if (turn <= now) {
		send_refusal(client);
		return;
	}
	client->state = PROXY_REFUSED;
	watch_client(client, 0);
	proxy_client_set_deadline(client, turn);
}

/* What it still says is of no interest, until it has nothing more to say. */
static void hear_out(struct proxy_client *client)
{
	ssize_t n = recv(client_fd(client), NULL, TUNNEL_BUFFER_BYTES, MSG_TRUNC | MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		proxy_client_free(client);
}

/* --- An open tunnel ------------------------------------------------------------------------------- */

static void on_over(struct tunnel *tunnel)
{
	proxy_client_free(container_of(tunnel, struct proxy_client, tunnel));
}

static void on_later(struct tunnel *tunnel)
{
	proxy_client_set_deadline(container_of(tunnel, struct proxy_client, tunnel),
				  now_monotonic() + TUNNEL_DRAIN_NANOSECONDS);
}

static int64_t idle_nanoseconds(const struct proxy *proxy)
{
	const double seconds = proxy->policy.idle_seconds > 0 ? proxy->policy.idle_seconds
							      : PROXY_IDLE_SECONDS;

	return (int64_t)(seconds * 1e9);
}

/* The first bytes are those in the buffer, and still in the client's socket. */
static void open_tunnel(struct proxy_client *client, size_t peeked, const char *detail)
{
	struct proxy *proxy = client->proxy;
	struct tunnel *tunnel = &client->tunnel;
	struct egress_event event = event_of(client, VERDICT_allowed, detail);
	struct sockaddr_storage address;

	event.addresses = &address;
	event.address_count = upstream_address(client, &address);
	tell(client, &event, true);
	client->opened = true;
	client->state = PROXY_OPEN;
	race_keep(tunnel->upstream.fd);
	proxy_client_set_deadline(client, now_monotonic() + idle_nanoseconds(proxy));
	await_bytes(client, 1);
	tunnel->later = on_later;
	tunnel->over = on_over;
	tunnel_start(tunnel, peeked);
}

/* --- The hello ------------------------------------------------------------------------------------ */

/* A fatal alert, so that the client names the proxy's no and not a broken connection. */
static void send_alert(int fd)
{
	static const uint8_t access_denied[] = {21, 3, 1, 0, 2, 2, 49};

	send_all(fd, access_denied, sizeof(access_denied));
}

static void mismatch(struct proxy_client *client, bool tls, const char *detail)
{
	struct egress_event event = event_of(client, VERDICT_sni_mismatch, detail);
	bool told = turn_of_refusal(client->proxy, now_monotonic()) >= 0;
	struct sockaddr_storage address;

	event.addresses = &address;
	event.address_count = upstream_address(client, &address);
	client->tunnel.upstream.fd = fd_close(client->tunnel.upstream.fd);
	stop_tunneling(client);
	tell(client, &event, told);
	if (!told) {
		proxy_client_free(client);
		return;
	}
	if (tls)
		send_alert(client_fd(client));
	linger(client);
}

/* An address is named by nothing, or by itself. */
static bool name_fits(const struct proxy_client *client, enum hello_result result, const char *name)
{
	if (result == HELLO_NO_NAME)
		return client->host.address;
	return result == HELLO_NAME && strcmp(name, client->host.name) == 0;
}

static void judge_hello(struct proxy_client *client, enum hello_result result, const char *name,
			size_t peeked)
{
	char detail[ALLOW_HOST_BYTES_MAX + 64];

	if (name_fits(client, result, name)) {
		open_tunnel(client, peeked, NULL);
		return;
	}
	switch (result) {
	case HELLO_NAME:
		snprintf(detail, sizeof(detail), "the TLS hello asks for %s", name);
		break;
	case HELLO_NO_NAME:
		snprintf(detail, sizeof(detail), "the TLS hello names no server");
		break;
	case HELLO_TOO_LONG:
		snprintf(detail, sizeof(detail), "the TLS hello is too long");
		break;
	default:
		snprintf(detail, sizeof(detail), "what was sent is no TLS hello");
		break;
	}
	mismatch(client, result != HELLO_NOT_TLS, detail);
}

/* How much there will be once the record that is not whole yet is. */
static size_t hello_wanted(const uint8_t *bytes, size_t size)
{
	size_t end = 0;

	while (size - end >= 5) {
		end += 5 + ((size_t)bytes[end + 3] << 8) + bytes[end + 4];
		if (end > size)
			return end;
	}
	return size + 1;
}

static void read_hello(struct proxy_client *client, uint32_t events)
{
	char *buffer = client->proxy->shared.buffer, name[ALLOW_HOST_BYTES_MAX + 1];
	bool urgent;
	ssize_t n = look(client, buffer, HELLO_BYTES_MAX, &urgent);
	enum hello_result result;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		proxy_client_free(client);
		return;
	}
	result = hello_parse((const uint8_t *)buffer, (size_t)n, name);
	if (result != HELLO_MORE)
		judge_hello(client, result, name, (size_t)n);
	else if (urgent)
		mismatch(client, false, "an urgent byte is in the TLS hello");
	else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		mismatch(client, false, "the TLS hello was cut short");
	else
		look_again(client, (size_t)n, hello_wanted((const uint8_t *)buffer, (size_t)n));
}

/* --- Connected ------------------------------------------------------------------------------------ */

/* The head is read once more, as the server gets it; what follows it goes as it is. */
static bool send_origin(struct proxy_client *client)
{
	char *buffer = client->proxy->shared.buffer, *origin = buffer + CONNECT_HEAD_BYTES_MAX;
	ssize_t n = recv(client_fd(client), buffer, CONNECT_HEAD_BYTES_MAX,
			 MSG_PEEK | MSG_DONTWAIT);
	struct connect_head head;
	ssize_t sent;
	size_t size;

	if (n <= 0)
		return false;
	connect_parse(buffer, (size_t)n, &head);
	if (head.result != CONNECT_PLAIN || head.host.port != client->host.port ||
	    strcmp(head.host.name, client->host.name) != 0)
		return false;
	size = connect_origin(buffer, &head, origin);
	sent = send(client->tunnel.upstream.fd, origin, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent > 0) {
		client->tunnel.client.bytes += (uint64_t)sent;
		client->proxy->shared.bytes += (uint64_t)sent;
	}
	return sent == (ssize_t)size && tunnel_consume(client_fd(client), head.size) == 0;
}

static void refuse_origin(struct proxy_client *client)
{
	struct sockaddr_storage address;
	const struct proxy_refusal refusal = {
		.verdict = VERDICT_unreachable,
		.detail = "it did not take the request",
		.addresses = &address,
		.address_count = upstream_address(client, &address),
	};

	client->tunnel.upstream.fd = fd_close(client->tunnel.upstream.fd);
	proxy_client_refuse(client, &refusal);
}

void proxy_client_connected(struct proxy_client *client, int fd)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	client->tunnel.upstream.fd = fd;
	client->state = PROXY_HELLO;
	client->seen = 0;
	if (client->plain && !send_origin(client)) {
		refuse_origin(client);
		return;
	}
	if (!client->plain && !send_all(client_fd(client), established, sizeof(established) - 1)) {
		proxy_client_free(client);
		return;
	}
	loop_stay_awake(client->proxy->loop, TUNNEL_AWAKE_NANOSECONDS);
	if (client->internal) {
		open_tunnel(client, 0, client->plain ? "plain HTTP" : NULL);
		return;
	}
	begin_looking(client, PROXY_HELLO, HELLO_SECONDS);
}

/* --- The head ------------------------------------------------------------------------------------- */

static void refuse_head(struct proxy_client *client, enum verdict verdict, unsigned status,
			const char *detail)
{
	const struct proxy_refusal refusal = {
		.verdict = verdict,
		.status = status,
		.detail = detail,
	};

	proxy_client_refuse(client, &refusal);
}

/* Once it is allowed. */
static bool may_be_internal(const struct proxy_client *client)
{
	const struct proxy_policy *policy = &client->proxy->policy;

	return allow_match(policy->internals, policy->internal_count, &client->host) != NULL;
}

/* Decided by what was asked for, before any name is looked up. */
static void decide(struct proxy_client *client, const struct connect_head *head)
{
	struct proxy *proxy = client->proxy;
	const struct allow_rule *rule;

	client->host = head->host;
	client->plain = head->result == CONNECT_PLAIN;
	rule = allow_match(proxy->policy.rules, proxy->policy.rule_count, &client->host);
	/* Without TLS no rule would do but one for an internal host: that comes first. */
	if (client->plain && !(rule && rule->internal) && !may_be_internal(client)) {
		refuse_head(client, VERDICT_plain_http, 0, NULL);
	} else if (!rule) {
		refuse_head(client, VERDICT_not_allowed, 0, NULL);
	} else if (proxy->tunnel_count >= PROXY_TUNNELS_MAX) {
		char detail[64];

		snprintf(detail, sizeof(detail), "%d are open", PROXY_TUNNELS_MAX);
		refuse_head(client, VERDICT_too_many, 0, detail);
	} else {
		client->internal = rule->internal;
		client->exact = !rule->suffix;
		client->tunneling = true;
		proxy->tunnel_count++;
		watch_client(client, 0);
		proxy_client_reach(client);
	}
}

static void read_head(struct proxy_client *client, uint32_t events)
{
	char *buffer = client->proxy->shared.buffer;
	bool urgent;
	ssize_t n = look(client, buffer, CONNECT_HEAD_BYTES_MAX, &urgent);
	struct connect_head head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		proxy_client_free(client);
		return;
	}
	connect_parse(buffer, (size_t)n, &head);
	if (head.result == CONNECT_BAD) {
		refuse_head(client, VERDICT_bad_request, head.status, head.reason);
		return;
	}
	if (head.result == CONNECT_MORE && urgent) {
		refuse_head(client, VERDICT_bad_request, 0, "an urgent byte is in its head");
		return;
	}
	if (head.result == CONNECT_MORE && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
		look_again(client, (size_t)n, (size_t)n + 1);
		return;
	}
	/* It ends within its head, or cannot be read any more. */
	if (head.result == CONNECT_MORE ||
	    (head.result == CONNECT_TUNNEL && tunnel_consume(client_fd(client), head.size) < 0))
		proxy_client_free(client);
	else
		decide(client, &head);
}

/* --- Being told ----------------------------------------------------------------------------------- */

static void on_client(struct source *source, uint32_t events)
{
	struct proxy_client *client = container_of(source, struct proxy_client,
						   tunnel.client.source);

	switch (client->state) {
	case PROXY_HEAD:
		read_head(client, events);
		break;
	case PROXY_HELLO:
		read_hello(client, events);
		break;
	case PROXY_LINGERING:
		hear_out(client);
		break;
	default:
		/* Nothing was waited for: the client is gone, both ways. */
		if (events & (EPOLLHUP | EPOLLERR))
			proxy_client_free(client);
		break;
	}
}

int proxy_client_new(struct proxy *proxy, int fd)
{
	struct proxy_client *client = calloc(1, sizeof(*client));

	if (!client) {
		fd_close(fd);
		return -ENOMEM;
	}
	client->proxy = proxy;
	client->number = ++proxy->number;
	client->tunnel = TUNNEL_INIT;
	client->tunnel.loop = proxy->loop;
	client->tunnel.shared = &proxy->shared;
	client->tunnel.client.fd = fd;
	client->tunnel.client.source.callback = on_client;
	TAILQ_INSERT_TAIL(&proxy->clients, client, entry);
	proxy->client_count++;
	begin_looking(client, PROXY_HEAD, HEAD_SECONDS);
	/* It has come with its head, most likely. */
	read_head(client, 0);
	return 0;
}

/*
 * It ends, by itself or with the Trial, before it had a tunnel or a no: a name may have been looked up for
 * it, or a host connected to. One that has its row was told, and one without a host asked for nothing.
 */
static void tell_given_up(struct proxy_client *client)
{
	const bool stopping = client->proxy->stopping;
	struct sockaddr_storage addresses[RACE_ADDRESSES_MAX];
	struct egress_event event = event_of(client, VERDICT_unresolved, NULL);

	if (client->counted)
		return;
	switch (client->state) {
	case PROXY_LOOK_UP:
		if (client->queued)
			event.detail = stopping ? "the Trial ended before its turn"
						: "given up by the client before its turn";
		else
			event.detail =
				stopping ? "the Trial ended while its name was looked up"
					 : "given up by the client while its name was looked up";
		break;
	case PROXY_RACE:
		event.verdict = VERDICT_unreachable;
		event.detail = stopping ? "the Trial ended before any address answered"
					: "given up by the client before any address answered";
		event.address_count = proxy_client_tried(client, addresses);
		break;
	case PROXY_HELLO:
		/* Nothing at all: it was connected to in advance, most likely. */
		event.verdict = client->seen > 0 ? VERDICT_sni_mismatch : VERDICT_allowed;
		event.detail = client->seen > 0 ? "the TLS hello was cut short"
						: "closed before anything was sent";
		event.address_count = upstream_address(client, addresses);
		break;
	default:
		return;
	}
	event.addresses = addresses;
	tell(client, &event, take_turn(&client->proxy->give_up_at, now_monotonic(), 0) >= 0);
}

void proxy_client_free(struct proxy_client *client)
{
	struct proxy *proxy = client->proxy;

	tell_given_up(client);
	tell_end(client);
	proxy_client_stop_reaching(client);
	stop_tunneling(client);
	tunnel_done(&client->tunnel);
	TAILQ_REMOVE(&proxy->clients, client, entry);
	proxy->client_count--;
	free(client->answer);
	free(client);
	proxy_has_room(proxy);
}

static void look_at_idleness(struct proxy_client *client, int64_t now)
{
	struct tunnel *tunnel = &client->tunnel;
	int64_t until = tunnel->active_at + idle_nanoseconds(client->proxy);

	if (tunnel->draining) {
		tunnel_drain(tunnel);
		return;
	}
	if (until <= now)
		proxy_client_free(client);
	else
		proxy_client_set_deadline(client, until);
}

void proxy_client_late(struct proxy_client *client, int64_t now)
{
	switch (client->state) {
	case PROXY_HEAD:
		if (now < client->give_up_at)
			listen_to(client);
		else
			refuse_head(client, VERDICT_bad_request, 408, "its head took too long");
		break;
	case PROXY_LOOK_UP:
	case PROXY_RACE:
		proxy_client_reach_late(client, now);
		break;
	case PROXY_HELLO:
		if (now < client->give_up_at)
			listen_to(client);
		else
			mismatch(client, false, "no TLS hello came in time");
		break;
	case PROXY_OPEN:
		look_at_idleness(client, now);
		break;
	case PROXY_REFUSED:
		send_refusal(client);
		break;
	case PROXY_LINGERING:
		proxy_client_free(client);
		break;
	}
}
