/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/config.h"

/* What the journal is told once, at the start: that there is no sandbox, and what there is too little of. */
void start_notes_tell(const struct config *config, const char *backend_reason);
