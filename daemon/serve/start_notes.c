/* SPDX-License-Identifier: MIT */
#include "serve/start_notes.h"

#include "base/descriptor_limit.h"
#include "base/log.h"
#include "base/no_sandbox.h"

void start_notes_tell(const struct config *config, const char *backend_reason)
{
	if (backend_reason)
		log_write(LOG_LEVEL_WARNING, LOG_ID_NO_BACKEND, 0,
			  "no scopes and no limits (%s): backend none is used", backend_reason);
	if (no_sandbox_wanted())
		log_write(
			LOG_LEVEL_WARNING, LOG_ID_NO_SANDBOX, 0,
			"TRIALS RUN WITHOUT A SANDBOX: trialsd was told so (" NO_SANDBOX_VARIABLE
			"=1 or --no-sandbox); they see and change all that you can, and reach the "
			"whole network");
	descriptor_limit_tell(config->max_running);
}
