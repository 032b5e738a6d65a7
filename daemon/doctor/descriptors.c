/* SPDX-License-Identifier: MIT */
#include "base/descriptor_limit.h"
#include "doctor/check.h"

/*
 * The limit is that of the process that asks: this one's parent is the daemon, or a shell. Only the
 * hard limit matters, since trialsd and its keepers raise the soft one.
 */
void check_descriptors(struct doctor *doctor)
{
	/* Of what is in a configuration that cannot be read nothing is known: one at least. */
	unsigned int most = doctor->options->config_lacking ? 1
							    : doctor->options->config->max_running;
	unsigned int limit = descriptor_limit_raise(), wanted = descriptor_limit_wanted(most);
	unsigned int running = descriptor_limit_running(limit, most);

	if (limit >= wanted) {
		found(doctor, CHECK_ok, "%u", limit);
		return;
	}
	if (limit < DESCRIPTORS_OF_SANDBOX && !doctor_trial(doctor)->delivered)
		found(doctor, CHECK_failed,
		      "at most %u files can be open (hard limit, RLIMIT_NOFILE), and a sandbox "
		      "takes up to %u",
		      limit, DESCRIPTORS_OF_SANDBOX);
	else
		found(doctor, CHECK_warning,
		      "at most %u files can be open (hard limit, RLIMIT_NOFILE), and MaxRunning=%u "
		      "wants %u: at most %u run at once",
		      limit, most, wanted, running);
	mend(doctor,
	     "systemctl --user edit trialsd, with [Service] and LimitNOFILE=%u; started by hand: "
	     "ulimit -Hn %u, as root",
	     wanted, wanted);
}
