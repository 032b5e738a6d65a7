/* SPDX-License-Identifier: MIT */

/*
 * A connection's way from its first byte to its tunnel, or to a no; proxy.c has the policy.
 *
 * Until a tunnel is open nothing that the client sent is taken out of its socket but the head of a
 * CONNECT: head and hello are looked at where they are, and SO_RCVLOWAT says to wake up once there is
 * more than what was seen. So bytes that follow a head belong to the tunnel by themselves, and what goes
 * upstream first is the very buffer in which the hello was read. Urgent bytes stay in line: else one
 * could be taken out of a hello after it was looked at.
 */
#include "proxy_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"
#include "connect.h"
#include "hello.h"
#include "proxy_answer.h"

#define HEAD_SECONDS 10
#define HELLO_SECONDS 10
#define LINGER_SECONDS 2
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
	if (also_told && proxy->told)
		proxy->told(proxy, event);
	else
		proxy->egress.untold++;
}

static void tell_end(struct proxy_client *client)
{
	struct proxy *proxy = client->proxy;
	struct egress_event event = event_of(client, VERDICT_allowed, NULL);

	if (!client->opened)
		return;
	event.opened = false;
	event.sent_bytes = client->tunnel.client.bytes;
	event.received_bytes = client->tunnel.upstream.bytes;
	egress_add_bytes(&proxy->egress, client->egress, event.sent_bytes, event.received_bytes);
	if (proxy->told)
		proxy->told(proxy, &event);
}

/* It is none of the tunnels any more, or was none. */
static void stop_tunneling(struct proxy_client *client)
{
	if (client->tunneling)
		client->proxy->tunnel_count--;
	client->tunneling = false;
}

/* --- Saying no ------------------------------------------------------------------------------------ */

/* When the next one may be answered; -1: too many wait already. */
static int64_t turn_of_refusal(struct proxy *proxy, int64_t now)
{
	const int64_t step = PROXY_SECOND / REFUSALS_A_SECOND;
	int64_t at = proxy->refuse_at;

	if (at < now - PROXY_SECOND + step)
		at = now - PROXY_SECOND + step;
	if (at > now + REFUSALS_WAITING_MAX * step)
		return -1;
	proxy->refuse_at = at + step;
	return at > now ? at : now;
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
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	if (getpeername(tunnel->upstream.fd, (struct sockaddr *)&address, &size) == 0) {
		event.addresses = &address;
		event.address_count = 1;
	}
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
	ssize_t n = recv(client_fd(client), buffer, HELLO_BYTES_MAX, MSG_PEEK | MSG_DONTWAIT);
	enum hello_result result;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* It did not want the connection after all, as those that connect in advance. */
		struct egress_event event = event_of(client, VERDICT_allowed,
						     "closed before anything was sent");

		tell(client, &event, true);
		proxy_client_free(client);
		return;
	}
	result = hello_parse((const uint8_t *)buffer, (size_t)n, name);
	if (result != HELLO_MORE)
		judge_hello(client, result, name, (size_t)n);
	else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		mismatch(client, false, "the TLS hello was cut short");
	else
		await_bytes(client, hello_wanted((const uint8_t *)buffer, (size_t)n));
}

/* --- Connected ------------------------------------------------------------------------------------ */

/* The head is read once more, as the server gets it; what follows it goes as it is. */
static bool send_origin(struct proxy_client *client)
{
	char *buffer = client->proxy->shared.buffer, *origin = buffer + CONNECT_HEAD_BYTES_MAX;
	ssize_t n = recv(client_fd(client), buffer, CONNECT_HEAD_BYTES_MAX,
			 MSG_PEEK | MSG_DONTWAIT);
	struct connect_head head;
	size_t size;

	if (n <= 0)
		return false;
	connect_parse(buffer, (size_t)n, &head);
	if (head.result != CONNECT_PLAIN || head.host.port != client->host.port ||
	    strcmp(head.host.name, client->host.name) != 0)
		return false;
	size = connect_origin(buffer, &head, origin);
	if (!send_all(client->tunnel.upstream.fd, origin, size))
		return false;
	client->tunnel.client.bytes += size;
	client->proxy->shared.bytes += size;
	return tunnel_consume(client_fd(client), head.size) == 0;
}

void proxy_client_connected(struct proxy_client *client, int fd)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	client->tunnel.upstream.fd = fd;
	if (client->plain ? !send_origin(client)
			  : !send_all(client_fd(client), established, sizeof(established) - 1)) {
		proxy_client_free(client);
		return;
	}
	if (client->internal) {
		open_tunnel(client, 0, client->plain ? "plain HTTP" : NULL);
		return;
	}
	client->state = PROXY_HELLO;
	proxy_client_set_deadline(client, now_monotonic() + HELLO_SECONDS * PROXY_SECOND);
	watch_client(client, EPOLLIN | EPOLLRDHUP);
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
	ssize_t n = recv(client_fd(client), buffer, CONNECT_HEAD_BYTES_MAX,
			 MSG_PEEK | MSG_DONTWAIT);
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
	if (head.result == CONNECT_MORE && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
		await_bytes(client, (size_t)n + 1);
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
	watch_client(client, EPOLLIN | EPOLLRDHUP);
	proxy_client_set_deadline(client, now_monotonic() + HEAD_SECONDS * PROXY_SECOND);
	return 0;
}

void proxy_client_free(struct proxy_client *client)
{
	struct proxy *proxy = client->proxy;

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
		refuse_head(client, VERDICT_bad_request, 408, "its head took too long");
		break;
	case PROXY_LOOK_UP:
	case PROXY_RACE:
		proxy_client_reach_late(client, now);
		break;
	case PROXY_HELLO:
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
