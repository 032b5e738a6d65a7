/* SPDX-License-Identifier: MIT */
#include "base/fault_point.h"

#ifdef TRIALSD_FAULT_POINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *armed;

void fault_points_arm(void)
{
	armed = getenv("TRIALS_FAULT_POINT");
}

void fault_point(const char *name)
{
	static unsigned long reached;
	const char *wanted = armed;
	size_t length = strlen(name);

	if (!wanted || strncmp(wanted, name, length) != 0 ||
	    (wanted[length] != '\0' && wanted[length] != ':'))
		return;
	reached++;
	if (reached >= (wanted[length] == ':' ? strtoul(wanted + length + 1, NULL, 10) : 1))
		kill(getpid(), SIGKILL);
}
#endif
