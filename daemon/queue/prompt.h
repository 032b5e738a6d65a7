/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/session_plan.h"

/*
 * The prompt that is kept in a Trial's folder, as a session's plan wants it: open, with its size,
 * and its bytes where they may become an argument.
 */
struct kept_prompt {
	struct session_prompt prompt; /* points to what is below */
	int fd;
	char *data;
};

#define KEPT_PROMPT_INIT ((struct kept_prompt){.fd = -1, .prompt = {.fd = -1}})

/* A folder, or a file in it, that is not there is one without a prompt. 0 or -errno. */
int kept_prompt_open(struct kept_prompt *ret, int trials_fd, uint64_t id);
void kept_prompt_done(struct kept_prompt *kept);
