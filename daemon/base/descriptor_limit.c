/* SPDX-License-Identifier: MIT */
#include "base/descriptor_limit.h"

#include <limits.h>
#include <sys/resource.h>

unsigned int descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > UINT_MAX)
		return UINT_MAX;
	return (unsigned int)limit.rlim_cur;
}

unsigned int descriptor_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return descriptor_limit();
}

unsigned int descriptor_limit_running(unsigned int limit, unsigned int most)
{
	unsigned int others = DESCRIPTORS_OF_DAEMON + DESCRIPTORS_OF_CLIENTS;
	unsigned int running = limit > others ? (limit - others) / DESCRIPTORS_OF_TRIAL : 0;

	if (running > most)
		running = most;
	return running > 0 ? running : 1;
}

unsigned int descriptor_limit_wanted(unsigned int running)
{
	unsigned int wanted = DESCRIPTORS_OF_DAEMON + DESCRIPTORS_OF_CLIENTS +
			      running * DESCRIPTORS_OF_TRIAL;

	return wanted > DESCRIPTORS_OF_SANDBOX ? wanted : DESCRIPTORS_OF_SANDBOX;
}
