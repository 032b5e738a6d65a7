/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <time.h>

/*
 * What plans of one host have in common. The guarded places are made sure of for each launch that
 * binds something (guarded.c). The system's own part is only what a distribution's upgrade
 * changes, so it is looked at again at most ten times a second, and read again when something is
 * not as it was.
 */

int plan_cache_new(struct plan_cache **ret_cache)
{
	*ret_cache = calloc(1, sizeof(**ret_cache));
	return *ret_cache ? 0 : -ENOMEM;
}

static void facts_forget(struct plan_cache *cache)
{
	system_facts_done(&cache->facts);
	stamps_done(&cache->facts_stamps);
	cache->facts_valid = false;
}

struct plan_cache *plan_cache_free(struct plan_cache *cache)
{
	if (!cache)
		return NULL;
	guards_done(&cache->guards);
	facts_forget(cache);
	free(cache);
	return NULL;
}

int plan_cache_facts(struct plan_cache *cache, struct system_facts **ret_facts)
{
	struct timespec time;
	long long now;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (long long)time.tv_sec * 1000000000 + time.tv_nsec;
	if (!cache->facts_valid || now - cache->facts_looked >= FACTS_MILLISECONDS * 1000000ll) {
		if (!cache->facts_valid || !stamps_hold(&cache->facts_stamps)) {
			facts_forget(cache);
			r = system_facts_read(&cache->facts, &cache->facts_stamps);
		}
		if (r < 0) {
			facts_forget(cache);
			return r;
		}
		cache->facts_valid = true;
		cache->facts_looked = now;
	}
	*ret_facts = &cache->facts;
	return 0;
}

void plan_learn_program(const struct plan_host *host, const struct program_known *program)
{
	programs_learn(&host->cache->programs, program);
}
