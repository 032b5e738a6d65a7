/* SPDX-License-Identifier: MIT */

/*
 * From a host that is allowed to a connected socket, or to why there is none; proxy.c has the policy.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "base/mem.h"
#include "base/now.h"
#include "proxy_answer.h"
#include "proxy_client.h"

#define LOOK_UP_SECONDS 10
#define CONNECT_SECONDS 10

static void forget_race(struct proxy_client *client)
{
	if (client->race)
		race_done(&client->race->race);
	free(client->race);
	client->race = NULL;
}

size_t proxy_client_tried(const struct proxy_client *client,
			  struct sockaddr_storage ret[RACE_ADDRESSES_MAX])
{
	const struct race *race = client->race ? &client->race->race : NULL;
	size_t count = 0;

	for (; race && count < race->begun; count++)
		ret[count] = race->attempts[count].address;
	return count;
}

static void unreachable(struct proxy_client *client, bool late)
{
	struct sockaddr_storage tried[RACE_ADDRESSES_MAX];
	struct proxy_refusal refusal = {.verdict = VERDICT_unreachable, .addresses = tried};
	char text[PROXY_TEXT_BYTES_MAX / 2];

	race_text(&client->race->race, text, sizeof(text));
	refusal.detail = text;
	refusal.status = late ? 504 : 0;
	refusal.address_count = proxy_client_tried(client, tried);
	forget_race(client);
	proxy_client_refuse(client, &refusal);
}

static void on_race(struct race *race, int fd)
{
	struct proxy_client *client = container_of(race, struct proxy_race, race)->client;

	if (fd < 0) {
		unreachable(client, false);
		return;
	}
	forget_race(client);
	proxy_client_connected(client, fd);
}

static void go_on_racing(struct proxy_client *client)
{
	struct race *race = &client->race->race;
	int64_t next;

	if (!race_tick(race))
		return;
	next = race_next(race);
	proxy_client_set_deadline(client, next < client->give_up_at ? next : client->give_up_at);
}

static void begin_race(struct proxy_client *client, const struct sockaddr_storage *addresses,
		       size_t count)
{
	struct proxy_race *race = malloc(sizeof(*race));

	if (!race) {
		const struct proxy_refusal refusal = {
			.verdict = VERDICT_unreachable,
			.status = 503,
			.detail = strerror(ENOMEM),
		};

		proxy_client_refuse(client, &refusal);
		return;
	}
	race->client = client;
	race_init(&race->race, client->proxy->loop, addresses, count, client->host.port);
	race->race.done = on_race;
	client->race = race;
	client->state = PROXY_RACE;
	client->give_up_at = now_monotonic() + CONNECT_SECONDS * PROXY_SECOND;
	go_on_racing(client);
}

/* --- Addresses ------------------------------------------------------------------------------------ */

static bool is_allowed(const struct proxy_client *client, const struct sockaddr_storage *address)
{
	return client->internal ||
	       address_classify((const struct sockaddr *)(const void *)address) == ADDRESS_PUBLIC;
}

static void refuse_addresses(struct proxy_client *client, const struct sockaddr_storage *addresses,
			     size_t count)
{
	char text[PROXY_TEXT_BYTES_MAX / 2];
	const struct proxy_refusal refusal = {
		.verdict = VERDICT_address_refused,
		.detail = text,
		.addresses = addresses,
		.address_count = count,
	};
	const size_t size = sizeof(text);
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && used < size; i++) {
		const struct sockaddr *address =
			(const struct sockaddr *)(const void *)&addresses[i];
		char name[INET6_ADDRSTRLEN];
		int n;

		race_address_text(&addresses[i], name, sizeof(name));
		n = snprintf(text + used, size - used, "%s%s (%s)", used ? ", " : "", name,
			     address_kind_text(address_classify(address)));
		used += n > 0 ? (size_t)n : 0;
	}
	proxy_client_refuse(client, &refusal);
}

/* Each address is judged, and those that pass are what is connected to: there is no second look-up. */
static void judge_addresses(struct proxy_client *client, const struct sockaddr_storage *addresses,
			    size_t count)
{
	struct sockaddr_storage allowed[RESOLVE_ADDRESSES_MAX];
	size_t allowed_count = 0;

	for (size_t i = 0; i < count; i++)
		if (is_allowed(client, &addresses[i]))
			allowed[allowed_count++] = addresses[i];
	if (allowed_count > 0)
		begin_race(client, allowed, allowed_count);
	else
		refuse_addresses(client, addresses, count);
}

static void unresolved(struct proxy_client *client, unsigned status, const char *reason)
{
	const struct proxy_refusal refusal = {
		.verdict = VERDICT_unresolved,
		.status = status,
		.detail = reason,
	};

	proxy_client_refuse(client, &refusal);
}

static void on_answer(struct resolve_wait *wait, const struct resolve_answer *answer)
{
	struct proxy_client *client = container_of(wait, struct proxy_client, wait);

	if (answer->error == EAI_SYSTEM)
		unresolved(client, 0, strerror(answer->system_error));
	else if (answer->error)
		unresolved(client, 0, gai_strerror(answer->error));
	else
		judge_addresses(client, answer->addresses, answer->count);
}

static bool parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret;

	*ret = (struct sockaddr_storage){.ss_family = AF_INET};
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return true;
	ret->ss_family = AF_INET6;
	return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

static void reach(struct proxy_client *client)
{
	struct sockaddr_storage address;
	int r;

	if (client->host.address) {
		if (parse_address(client->host.name, &address))
			judge_addresses(client, &address, 1);
		else
			unresolved(client, 0, "not an address");
		return;
	}
	proxy_client_set_deadline(client, now_monotonic() + LOOK_UP_SECONDS * PROXY_SECOND);
	client->wait.done = on_answer;
	r = resolve(&client->proxy->resolver, client->host.name, client->exact, &client->wait);
	if (r < 0)
		unresolved(client, 0, strerror(-r));
}

/* --- Turns ---------------------------------------------------------------------------------------- */

/* Whether it is somebody's turn; proxy->turn_at says when it will be, else. */
static bool take_turn(struct proxy *proxy, int64_t now)
{
	const int64_t step = PROXY_SECOND / PROXY_TURNS_A_SECOND;
	const int64_t earliest = now - (PROXY_TURNS_AT_ONCE - 1) * step;

	if (proxy->turn_at > now)
		return false;
	proxy->turn_at = (proxy->turn_at < earliest ? earliest : proxy->turn_at) + step;
	return true;
}

static void leave_turns(struct proxy_client *client)
{
	if (client->queued)
		TAILQ_REMOVE(&client->proxy->turns, client, turn);
	client->queued = false;
}

int64_t proxy_give_turns(struct proxy *proxy, int64_t now)
{
	struct proxy_client *client;

	while ((client = TAILQ_FIRST(&proxy->turns)) && take_turn(proxy, now)) {
		leave_turns(client);
		reach(client);
	}
	return client ? proxy->turn_at : INT64_MAX;
}

/*
 * The turn is taken before the name is looked up, so that names are not asked for at any rate either. It
 * is taken when it comes, and not in advance: who left has taken nobody's. It comes within eight seconds,
 * since there are no more tunnels.
 */
void proxy_client_reach(struct proxy_client *client)
{
	struct proxy *proxy = client->proxy;

	client->state = PROXY_LOOK_UP;
	if (TAILQ_EMPTY(&proxy->turns) && take_turn(proxy, now_monotonic())) {
		reach(client);
		return;
	}
	client->deadline = INT64_MAX;
	client->queued = true;
	TAILQ_INSERT_TAIL(&proxy->turns, client, turn);
	proxy_set_due(proxy, proxy->turn_at);
}

void proxy_client_stop_reaching(struct proxy_client *client)
{
	leave_turns(client);
	resolve_cancel(&client->wait);
	forget_race(client);
}

void proxy_client_reach_late(struct proxy_client *client, int64_t now)
{
	if (client->state == PROXY_LOOK_UP) {
		resolve_cancel(&client->wait);
		unresolved(client, 504, "no answer in time");
	} else if (now >= client->give_up_at) {
		unreachable(client, true);
	} else {
		go_on_racing(client);
	}
}
