/* SPDX-License-Identifier: MIT */
#include "serve/start_notes.h"

#include "base/descriptor_limit.h"
#include "base/log.h"
#include "base/no_sandbox.h"

static void tell_descriptors(const struct config *config)
{
	unsigned int limit = descriptor_limit(), most = config->max_running;

	if (limit < descriptor_limit_wanted(most))
		log_warning("at most %u files can be open (hard limit, RLIMIT_NOFILE), and "
			    "MaxRunning=%u wants %u: at most %u Trials run at once; to mend it: "
			    "LimitNOFILE= in trialsd.service, see trialctl doctor",
			    limit, most, descriptor_limit_wanted(most),
			    descriptor_limit_running(limit, most));
}

void start_notes_tell(const struct config *config)
{
	if (no_sandbox_wanted())
		log_write(
			LOG_LEVEL_WARNING, LOG_ID_NO_SANDBOX, 0,
			"TRIALS RUN WITHOUT A SANDBOX: trialsd was told so (" NO_SANDBOX_VARIABLE
			"=1 or --no-sandbox); they see and change all that you can, and reach the "
			"whole network");
	tell_descriptors(config);
}
