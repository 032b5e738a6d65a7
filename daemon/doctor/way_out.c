/* SPDX-License-Identifier: MIT */
#include "doctor/way_out.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-id128.h>

#include "doctor/check.h"
#include "init/control.h"

static void on_somebody(uv_poll_t *poll, int status, int events)
{
	struct way_out_place *place = container_of(poll, struct way_out_place, poll);
	_cleanup_close_ int fd = -1;

	(void)events;
	if (status < 0)
		return;
	fd = accept4(place->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	place->came++;
	/* So few bytes always have room in a new socket. */
	if (send(fd, place->word, strlen(place->word), MSG_NOSIGNAL) < 0)
		place->came--;
}

static int place_open(struct way_out_place *place, const char *word, uv_loop_t *loop)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int r;

	place->word = word;
	place->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (place->fd < 0 || bind(place->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(place->fd, 8) < 0 ||
	    getsockname(place->fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	place->port = ntohs(address.sin_port);
	snprintf(place->text, sizeof(place->text), "localhost:%u", place->port);
	r = uv_poll_init(loop, &place->poll, place->fd);
	if (r < 0)
		return r;
	place->polled = true;
	return uv_poll_start(&place->poll, UV_READABLE, on_somebody);
}

void way_out_open(struct way_out *way_out, uv_loop_t *loop)
{
	sd_id128_t id;

	*way_out = (struct way_out){.allowed.fd = -1, .denied.fd = -1};
	way_out->error = sd_id128_randomize(&id);
	if (way_out->error < 0)
		return;
	sd_id128_to_string(id, way_out->word);
	way_out->error = place_open(&way_out->allowed, way_out->word, loop);
	if (way_out->error == 0)
		way_out->error = place_open(&way_out->denied, way_out->word, loop);
}

void way_out_close(struct way_out *way_out)
{
	struct way_out_place *const places[] = {&way_out->allowed, &way_out->denied};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i]->polled)
			uv_close((uv_handle_t *)&places[i]->poll, NULL);
}

void way_out_done(struct way_out *way_out)
{
	way_out->allowed.fd = fd_close(way_out->allowed.fd);
	way_out->denied.fd = fd_close(way_out->denied.fd);
}

enum verdict way_out_verdict(const struct way_out *way_out, int folder_fd)
{
	enum verdict verdict = VERDICT_COUNT;
	struct message *message = NULL;
	struct outcome_record record;

	if (record_read_whole(folder_fd, &message, &record) < 0)
		return verdict;
	for (size_t i = 0; i < record.connections.count; i++)
		if (record.connections.items[i].port == way_out->allowed.port)
			verdict = record.connections.items[i].verdict;
	message_free(message);
	return verdict;
}

static void found_not_passed(struct doctor *doctor, const struct way_out_found *way)
{
	const char *verdict = verdict_name((int)way->verdict);

	found(doctor, CHECK_failed,
	      "what a Trial may reach (a listener on localhost) did not pass its proxy: %s",
	      verdict ? verdict : "nothing is recorded of it");
	if (way->verdict == VERDICT_unresolved)
		mend(doctor, "echo '127.0.0.1 localhost' | sudo tee -a /etc/hosts");
	else if (way->verdict == VERDICT_unreachable)
		mend(doctor, "sudo ip link set lo up");
}

void check_proxy(struct doctor *doctor)
{
	const struct trial *trial = doctor_trial(doctor);
	const struct way_out_found *way = &trial->way_out;

	if (!trial->delivered || !way->tried) {
		found(doctor, CHECK_not_applicable, "not tried: it takes a sandbox");
	} else if (way->error < 0) {
		found(doctor, CHECK_failed,
		      "it cannot be tried: nothing can listen on 127.0.0.1 of this host: %s",
		      strerror(-way->error));
		mend(doctor, "sudo ip link set lo up");
	} else if (way->denied_came || way->answer == CONTROL_ANSWER_NOT_REFUSED) {
		found(doctor, CHECK_failed,
		      "what a Trial may not reach (a listener on localhost) passed its proxy");
	} else if (way->answer == CONTROL_ANSWER_NO_PROXY) {
		found(doctor, CHECK_failed, "nothing answers inside a sandbox on 127.0.0.1 port %d",
		      CONTROL_PROXY_PORT);
	} else if (way->answer != CONTROL_ANSWER_RIGHT || way->verdict != VERDICT_allowed) {
		found_not_passed(doctor, way);
	} else {
		found(doctor, CHECK_ok,
		      "from inside, one listener of this host was reached, another refused");
	}
}
