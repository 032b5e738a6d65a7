/* SPDX-License-Identifier: MIT */
#include "base/descriptor_limit.h"

#include "base/log.h"

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

void descriptor_limit_tell(unsigned int most)
{
	unsigned int limit = descriptor_limit();

	if (limit < descriptor_limit_wanted(most))
		log_warning("at most %u files can be open (hard limit, RLIMIT_NOFILE), and "
			    "MaxRunning=%u wants %u: at most %u Trials run at once; to mend it: "
			    "LimitNOFILE= in trialsd.service, see trialctl doctor",
			    limit, most, descriptor_limit_wanted(most),
			    descriptor_limit_running(limit, most));
}
