/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "keeper/record.h"

/*
 * Two listeners on this host's loopback, for the launch that doctor judges by: it may reach one of them
 * through its proxy, and not the other. What really came here counts, and not only what was said inside.
 */
struct way_out_place {
	char text[32]; /* localhost:PORT */
	uint16_t port;
	int fd;
	uv_poll_t poll;
	bool polled;
	unsigned int came;
	const char *word; /* said to whoever comes */
};

struct way_out {
	int error; /* -errno: there are none */
	char word[33];
	struct way_out_place allowed;
	struct way_out_place denied;
};

/* What became of it. */
struct way_out_found {
	bool tried;
	int error;  /* -errno: it could not be */
	int answer; /* enum control_answer */
	bool denied_came;
	enum verdict
		verdict; /* of the allowed one, by the record; VERDICT_COUNT when it has none */
};

void way_out_open(struct way_out *way_out, uv_loop_t *loop);
/* Before the loop ends; then way_out_done. */
void way_out_close(struct way_out *way_out);
void way_out_done(struct way_out *way_out);
/* What the record of the Trial tells of the allowed one. */
enum verdict way_out_verdict(const struct way_out *way_out, int folder_fd);
