/* SPDX-License-Identifier: MIT */
#pragma once

#include "interleavings_grader.h"

/* What the clients of test_interleavings.c launch. */
#define REPOSITORIES 3 /* the last lies in the first */
#define REPOSITORY_BYTES 96
#define KEYS 6

struct made_request {
	struct launch_request request; /* points into the rest */
	struct bind_spec bind;
	const char *words[1];
	char key[32];
};

/* Of a key it is always the same, unless it is to differ. */
static inline int request_of_key(struct made_request *made, int number, bool differs,
				 uint64_t first_id)
{
	static const int repository[KEYS] = {-1, 0, 0, 1, -1, 1};
	struct launch_request *request = &made->request;

	snprintf(made->key, sizeof(made->key), "k%llu.%d", (unsigned long long)first_id % 100000,
		 number);
	request->has.key = true;
	request->key = made->key;
	request->priority = number % 3 + (differs ? 1 : 0);
	request->share_repository = number == 2;
	return repository[number];
}

static inline int request_of_chance(struct made_request *made,
				    const char (*repositories)[REPOSITORY_BYTES])
{
	struct launch_request *request = &made->request;
	int repository;

	request->priority = (int64_t)chance(3);
	repository = (int)chance(REPOSITORIES + 1) - 1;
	request->share_repository = chance(6) == 0;
	if (chance(4) == 0) {
		made->bind = (struct bind_spec){.has = {.mode = true}, .mode = MODE_rw};
		made->bind.source = repositories[chance(REPOSITORIES)];
		request->binds.items = &made->bind;
		request->binds.count = 1;
	}
	return repository;
}

/* key < 0: none. launches: how many there are with this one, the first of them being first_id. */
static inline void request_make(struct made_request *made, int key, bool differs, uint64_t first_id,
				size_t launches, const char (*repositories)[REPOSITORY_BYTES])
{
	struct launch_request *request = &made->request;
	int repository;

	*made = (struct made_request){.words = {"true"}};
	request->has.command = request->has.priority = true;
	request->command.count = 1;
	request->command.items = made->words;
	repository = key >= 0 ? request_of_key(made, key, differs, first_id)
			      : request_of_chance(made, repositories);
	request->has.share_repository = request->share_repository;
	if (key < 0 && launches > 1 && chance(4) == 0) {
		judge(request, first_id + chance(launches));
		repository = -1; /* it is that one's */
	}
	if (repository >= 0) {
		request->has.repository = true;
		request->repository = repositories[repository];
	}
}
